"""Waits after failures, such as wrong tokens. Each failure of a key, such as an address, lengthens its wait."""

from __future__ import annotations

from collections.abc import Hashable

from machine.token_bucket import MAX_KEYS

FREE_FAILURES = 20
"""Number of wrong tokens for a name that an address may send without having to wait, because people make mistakes."""
MAX_WAIT_S = 300.0
"""Maximum seconds for which an address must wait after a wrong token."""
FAILURE_TTL_S = 3600.0
"""Seconds after which the earlier failures of a key no longer count, if it has no further failure. They begin at the
end of the wait that the last failure caused.
"""


class FailureBackoff:
    """Counts failures by key. The first `free_failures` of a key cause no wait. The next one causes a wait of
    `first_wait_s`, and each further one doubles the wait, up to `max_wait_s`.

    If there is no failure for `failure_ttl_s` after the wait, the count of the key starts again at 0.
    """

    def __init__(
        self,
        max_wait_s: float,
        first_wait_s: float = 1.0,
        free_failures: int = 0,
        failure_ttl_s: float = FAILURE_TTL_S,
    ) -> None:
        self._longest = max_wait_s
        self._failure_ttl_s = failure_ttl_s
        self._first = first_wait_s
        self._free = free_failures
        self._failures: dict[Hashable, tuple[int, float]] = {}
        """The number of failures of each key, and the time at which its wait ends."""

    def add_failure(self, key: Hashable, now: float) -> float:
        """Count a failure of a key, and return the seconds that the key must wait from `now` on."""
        count, until = self._failures.pop(key, (0, now))
        if now >= until + self._failure_ttl_s:
            count = 0
        seconds = 0.0 if count < self._free else min(self._first * 2.0 ** min(count - self._free, 60), self._longest)
        self._failures[key] = count + 1, now + seconds
        if len(self._failures) > MAX_KEYS:
            del self._failures[next(iter(self._failures))]
        return seconds

    def remove_failure(self, key: Hashable) -> None:
        """Subtract 1 from the number of a key's failures. This does not shorten a wait in progress."""
        count, until = self._failures.pop(key, (0, 0.0))
        if count > 1:
            self._failures[key] = count - 1, until

    def failure_count(self, key: Hashable) -> int:
        return self._failures.get(key, (0, 0.0))[0]

    def wait_s(self, key: Hashable, now: float) -> float:
        """Return the seconds until a key may try again; 0 if it may now."""
        _, until = self._failures.get(key, (0, now))
        return max(until - now, 0.0)
