"""How long to wait before connecting again: doubling, capped, and never the same for two bots. Pure."""

from __future__ import annotations

from collections.abc import Callable

FIRST = 0.1
LONGEST = 5.0


class Backoff:
    """Delays in seconds; `jitter` gives a number from 0 to 1, so that a whole field does not come back at once."""

    def __init__(self, jitter: Callable[[], float]) -> None:
        self._jitter = jitter
        self._next = FIRST

    def delay(self) -> float:
        """The next wait: half to all of 0.1 s, 0.2 s, 0.4 s and so on up to 5 s."""
        longest, self._next = self._next, min(2 * self._next, LONGEST)
        return longest * (0.5 + 0.5 * self._jitter())

    def stood(self, seconds: float) -> None:
        """The connection stood for so long: after more than the next wait, begin again with the shortest."""
        if seconds >= self._next:
            self._next = FIRST
