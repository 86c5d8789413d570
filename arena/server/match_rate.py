"""How many matches of the ladder a bot may begin in an hour."""

from __future__ import annotations

import time
from collections.abc import Callable

from arena.network.rate_limits import TokenBucket

AT_ONCE = 100
"""Matches that a bot may begin ahead of its pace: nobody waits who tries something out."""


class MatchRate:
    """So many matches `an_hour` for each bot, 0: any number; after a rest `AT_ONCE` of them one after another."""

    def __init__(self, an_hour: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = TokenBucket(min(AT_ONCE, an_hour), an_hour / 3600) if an_hour else None
        self._clock = clock

    def wait(self, bot: str) -> float:
        """Seconds until a bot may begin its next match."""
        return 0.0 if self._rate is None else self._rate.wait(bot, self._clock())

    def begin(self, bot: str) -> None:
        """A bot begins a match."""
        if self._rate is not None:
            self._rate.take(bot, self._clock())
