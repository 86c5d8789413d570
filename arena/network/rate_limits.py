"""How often something may happen for each key, as for an address: steadily, or less and less."""

from __future__ import annotations

from collections.abc import Hashable

FREE_FAILURES = 20
"""Wrong tokens that an address may bring before it has to wait: a class makes mistakes."""
LONGEST_WAIT = 300.0
FORGOTTEN_AFTER = 3600.0
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


class Backoff:
    """Failures of each key: `free` of them cost nothing, then each doubles the wait, from a second to `longest`.

    Those of a key that did not fail for an hour are forgotten.
    """

    def __init__(self, free: int, longest: float) -> None:
        self._free = free
        self._longest = longest
        self._failures: dict[Hashable, tuple[int, float]] = {}
        """How many, and when the last was."""

    def fail(self, key: Hashable, now: float) -> None:
        """One more."""
        count, last = self._failures.pop(key, (0, now))
        self._failures[key] = (count + 1 if now - last < FORGOTTEN_AFTER else 1), now
        if len(self._failures) > MOST_KEYS:
            del self._failures[next(iter(self._failures))]

    def wait(self, key: Hashable, now: float) -> float:
        """Seconds until the next attempt may be made; 0 now."""
        count, last = self._failures.get(key, (0, now))
        if count <= self._free or now - last >= FORGOTTEN_AFTER:
            return 0.0
        return max(last + min(2.0 ** min(count - self._free - 1, 60), self._longest) - now, 0.0)
