"""Matches to which the operator calls bots that are here: they are played beside the ladder, and handed over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from arena.server.lobby import Lobby
from arena.server.settling import Ended, Settle
from referee.closing import Closed
from referee.effects import Absent, Voided
from referee.record import Header

Begin = Callable[[Header, bytes], None]
"""Begins a match between these bots, the seats of those that are not here empty. Raises `JournalFault`."""


class Calls:
    """Plays matches between called bots, and settles them; all others are left to `settle`."""

    def __init__(self, lobby: Lobby, begin: Begin, settle: Settle) -> None:
        self._lobby = lobby
        self._begin = begin
        self._settle = settle
        self._over: dict[str, asyncio.Future[Closed]] = {}
        """By match, those under way."""
        self._news = asyncio.Event()

    def again(self) -> None:
        """A bot came in, or has a slot back."""
        self._news.set()

    async def play(
        self, match: str, bots: Sequence[str], made: Callable[[], tuple[Header, bytes]], wait: float
    ) -> Closed:
        """The match, once it is over; `made` gives its header and its seed when it begins.

        A bot that is not here within `wait` seconds has lost it. Asked for once more, a match that is under way goes
        on. Raises `JournalFault`.
        """
        if match not in self._over:
            absent = await self._gather(bots, wait)
            if match not in self._over:
                self._over[match] = asyncio.get_running_loop().create_future()
                try:
                    self._begin(*made())
                except BaseException:
                    del self._over[match]
                    raise
                runner = self._lobby.runner(match)
                for event in [Voided()] if len(absent) == len(bots) else map(Absent, absent):
                    if runner is not None:
                        runner.receive(event)
        return await asyncio.shield(self._over[match])

    async def __call__(self, ended: Ended) -> None:
        """Tell everyone the end, without ratings, and hand the match over to who asked for it."""
        future = self._over.get(ended.result.match)
        if future is None:
            await self._settle(ended)
            return
        ended.tell(None)
        try:
            future.set_result(ended.closed())
        finally:
            del self._over[ended.result.match]
        await ended.stored(_elsewhere())

    async def _gather(self, bots: Sequence[str], wait: float) -> list[int]:
        """Have the bots free that come: the seats of the others."""
        until = asyncio.get_running_loop().time() + wait
        while True:
            there = [bot for bot in bots if self._lobby.here(bot)]
            late = asyncio.get_running_loop().time() >= until
            if (late or len(there) == len(bots)) and all(map(self._lobby.callable, there)):
                for bot in there:
                    self._lobby.call(bot)
                return [seat for seat, bot in enumerate(bots) if bot not in there]
            self._news.clear()
            try:
                async with asyncio.timeout_at(None if late else until):
                    await self._news.wait()
            except TimeoutError:
                pass


async def _elsewhere() -> None:
    """What a match that is stored elsewhere has for ratings."""
