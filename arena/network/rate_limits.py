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


class FailureBackoff:
    """Failures of each key: `free` of them cost nothing, then each doubles the wait, from `first` to `longest` seconds.

    Those of a key that was left alone for an hour are forgotten.
    """

    def __init__(self, longest: float, first: float = 1.0, free: int = 0) -> None:
        self._longest = longest
        self._first = first
        self._free = free
        self._failures: dict[Hashable, tuple[int, float]] = {}
        """How many there were, and until when to wait."""

    def fail(self, key: Hashable, now: float) -> float:
        """One more; seconds to wait from now on."""
        count, until = self._failures.pop(key, (0, now))
        if now >= until + FORGOTTEN_AFTER:
            count = 0
        seconds = 0.0 if count < self._free else min(self._first * 2.0 ** min(count - self._free, 60), self._longest)
        self._failures[key] = count + 1, now + seconds
        if len(self._failures) > MOST_KEYS:
            del self._failures[next(iter(self._failures))]
        return seconds

    def forgive(self, key: Hashable) -> None:
        """Count one less; the wait that goes on is not shortened."""
        count, until = self._failures.pop(key, (0, 0.0))
        if count > 1:
            self._failures[key] = count - 1, until

    def wait(self, key: Hashable, now: float) -> float:
        """Seconds until the next attempt may be made; 0 now."""
        _, until = self._failures.get(key, (0, now))
        return max(until - now, 0.0)
