"""Limits on how often a key, such as an address, may do something. A policy says how long a key waits after a use."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import NamedTuple

MAX_KEYS = 10_000
"""Maximum number of keys of a `KeyedLimiter`. Beyond that, the least recently used keys are forgotten."""


class TokenBucket(NamedTuple):
    """A policy that allows `burst` uses at once, and then `per_second`."""

    burst: int
    per_second: float

    @property
    def refund_s(self) -> float:
        """The seconds by which undoing a use shortens the wait."""
        return 1 / self.per_second

    def after_use(self, uses: int, wait_s: float) -> tuple[int, float]:
        """Return the number of a key's uses and its wait after one more use. A negative wait ended in the past."""
        return uses + 1, max(wait_s, (1 - self.burst) / self.per_second) + 1 / self.per_second


class FailureBackoff(NamedTuple):
    """A policy for failures. The first `free_failures` of a key cause no wait. The next one causes a wait of
    `first_wait_s`, and each further one doubles the wait, up to `max_wait_s`.

    If there is no failure for `failure_ttl_s` after the wait, the earlier failures of the key no longer count.
    """

    max_wait_s: float
    first_wait_s: float = 1.0
    free_failures: int = 0
    failure_ttl_s: float = 3600.0
    refund_s: float = 0.0
    """The seconds by which undoing a failure shortens the wait."""

    def after_use(self, uses: int, wait_s: float) -> tuple[int, float]:
        """Return the number of a key's failures and its wait after one more. A negative wait ended in the past."""
        count = 0 if wait_s <= -self.failure_ttl_s else uses
        doublings = min(count - self.free_failures, 60)
        return count + 1, 0.0 if doublings < 0 else min(self.first_wait_s * 2.0**doublings, self.max_wait_s)


WRONG_TOKEN_BACKOFF = FailureBackoff(max_wait_s=300.0, free_failures=20)
"""The policy for wrong tokens of an address. Some are free, because people make mistakes."""


class KeyedLimiter:
    """Counts the uses of each key, and tells by a policy how long the key must wait. `now` is a time in seconds."""

    def __init__(self, policy: TokenBucket | FailureBackoff, max_keys: int = MAX_KEYS) -> None:
        self._policy = policy
        self._max_keys = max_keys
        self._states: dict[Hashable, tuple[int, float]] = {}
        """The number of uses of each key, and the time at which its wait ends. The key that was used last is last."""

    def wait_s(self, key: Hashable, now: float) -> float:
        """Return the seconds until a key may be used; 0 if it may now."""
        return max(0.0, self._states.get(key, (0, now))[1] - now)

    def uses(self, key: Hashable) -> int:
        return self._states.get(key, (0, 0.0))[0]

    def add(self, key: Hashable, now: float) -> float:
        """Count a use of a key, even if it has to wait. Return the seconds that it must wait from `now` on."""
        uses, free_at = self._states.pop(key, (0, -math.inf))
        uses, wait = self._policy.after_use(uses, free_at - now)
        self._states[key] = uses, now + wait
        if len(self._states) > self._max_keys:
            del self._states[next(iter(self._states))]
        return max(0.0, wait)

    def take(self, key: Hashable, now: float) -> float:
        """Count a use of a key, and return 0. If the key has to wait, return for how long, and count nothing."""
        wait = self.wait_s(key, now)
        if wait:
            self._states[key] = self._states.pop(key)
        else:
            self.add(key, now)
        return wait

    def undo(self, key: Hashable) -> None:
        """Undo a use of a key. Do nothing if the key is not known."""
        uses, free_at = self._states.pop(key, (0, 0.0))
        if uses > 1:
            self._states[key] = uses - 1, free_at - self._policy.refund_s
