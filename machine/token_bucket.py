"""How often something may happen for each key, as for an address: so often at once, and then steadily."""

from __future__ import annotations

from collections.abc import Hashable

MOST_KEYS = 10_000
"""Beyond so many, those that have waited the longest are forgotten."""


class TokenBucket:
    """A bucket of `burst` for each key, which fills again at `per_second`. Time comes in as `now`, in seconds."""

    def __init__(self, burst: float, per_second: float) -> None:
        self._burst = burst
        self._per_second = per_second
        self._full_at: dict[Hashable, float] = {}

    def wait(self, key: Hashable, now: float) -> float:
        """Seconds until there is one to take; 0 now."""
        return max(0.0, self._full_at.get(key, now) - now - (self._burst - 1) / self._per_second)

    def take(self, key: Hashable, now: float) -> float:
        """Take one: 0. If there is none, nothing is taken: the seconds until there is."""
        wait = self.wait(key, now)
        full_at = max(self._full_at.pop(key, now), now)
        self._full_at[key] = full_at if wait > 0 else full_at + 1 / self._per_second
        if len(self._full_at) > MOST_KEYS:
            del self._full_at[next(iter(self._full_at))]
        return wait
