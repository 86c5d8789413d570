"""Exponential backoff: the delay before a retry doubles each time, up to a limit."""

from __future__ import annotations

from collections.abc import Callable


class Backoff:
    """A sequence of delays in seconds, which start at `first_s` and double up to `max_s`.

    `jitter` returns a number from 0 to 1 and scales each delay to between half and all of its length, so that many
    clients do not retry at the same moment.
    """

    def __init__(self, first_s: float, max_s: float, jitter: Callable[[], float] = lambda: 1.0) -> None:
        self._first = first_s
        self._longest = max_s
        self._jitter = jitter
        self._next = first_s

    def next_delay(self) -> float:
        wait, self._next = self._next, min(2 * self._next, self._longest)
        return wait * (0.5 + 0.5 * self._jitter())

    def reset(self, up_s: float | None = None) -> None:
        """Restart at the first delay. If `up_s`, the duration of a success in seconds, is given, restart only if it is
        at least the next delay.
        """
        if up_s is None or up_s >= self._next:
            self._next = self._first
