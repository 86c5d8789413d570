"""How often something may fail for each key, as for an address: less and less."""

from __future__ import annotations

from collections.abc import Hashable

from machine.token_bucket import MOST_KEYS

FREE_FAILURES = 20
"""Wrong tokens that an address may bring for a name before it has to wait: people make mistakes."""
LONGEST_WAIT = 300.0
FORGOTTEN_AFTER = 3600.0


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

    def count(self, key: Hashable) -> int:
        """How many there were."""
        return self._failures.get(key, (0, 0.0))[0]

    def wait(self, key: Hashable, now: float) -> float:
        """Seconds until the next attempt may be made; 0 now."""
        _, until = self._failures.get(key, (0, now))
        return max(until - now, 0.0)
