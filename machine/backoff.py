"""How long to wait before something that failed is tried again: twice as long each time, up to a limit."""

from __future__ import annotations

from collections.abc import Callable


class Backoff:
    """Waits in seconds from `first` on, `longest` at most; `jitter` gives a number from 0 to 1 and makes each half to
    all of that, so that many do not come back at once.
    """

    def __init__(self, first: float, longest: float, jitter: Callable[[], float] = lambda: 1.0) -> None:
        self._first = first
        self._longest = longest
        self._jitter = jitter
        self._next = first

    def delay(self) -> float:
        """The next wait."""
        wait, self._next = self._next, min(2 * self._next, self._longest)
        return wait * (0.5 + 0.5 * self._jitter())

    def reset(self, stood: float | None = None) -> None:
        """Begin again with the first; where it went well for `stood` seconds, if that is more than the next wait."""
        if stood is None or stood >= self._next:
            self._next = self._first
