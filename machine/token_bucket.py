"""Rate limits for each key, such as an address: a burst, then a steady rate."""

from __future__ import annotations

from collections.abc import Hashable

MAX_KEYS = 10_000
"""Maximum number of keys of a `TokenBucket`. Beyond that, the least recently used keys are forgotten."""


class TokenBucket:
    """Rate limits by key. Each key has up to `burst` tokens to take, and gains `per_second` tokens per second."""

    def __init__(self, burst: float, per_second: float) -> None:
        self._burst = burst
        self._per_second = per_second
        self._full_at: dict[Hashable, float] = {}

    def seconds_until_token(self, key: Hashable, now: float) -> float:
        """Return the seconds until the key has a token; 0 if it has one."""
        return max(0.0, self._full_at.get(key, now) - now - (self._burst - 1) / self._per_second)

    def take(self, key: Hashable, now: float) -> float:
        """Take a token of the key and return 0. If there is no token, return the seconds until there is one."""
        wait = self.seconds_until_token(key, now)
        full_at = max(self._full_at.pop(key, now), now)
        self._full_at[key] = full_at if wait > 0 else full_at + 1 / self._per_second
        if len(self._full_at) > MAX_KEYS:
            del self._full_at[next(iter(self._full_at))]
        return wait

    def give_back(self, key: Hashable) -> None:
        """Give back a token that was taken for a key and not used."""
        if key in self._full_at:
            self._full_at[key] -= 1 / self._per_second
