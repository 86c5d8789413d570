"""Matches to which the operator calls bots that are here: they are played beside the ladder, and handed over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import NamedTuple

from arena.host.lobby import Lobby
from arena.server.finalizing import Ended, Settle
from protocol.errors import Fault, UsageFault
from referee.effects import Absent, Voided
from referee.footer import Closed
from referee.record import Header

Begin = Callable[[Header, bytes], None]
"""Begins a match between these bots, the seats of those that are not here empty. Raises `JournalFault`."""
KEEP_AFTER = 5.0
"""Seconds that a call waits for slots that come free; after that they are kept free for it."""


class _UnderWay(NamedTuple):
    """A called match, the tournament that it is of, and what comes of it."""

    tournament: str
    over: asyncio.Future[Closed]


class AssignedMatches:
    """Plays matches between called bots, and settles them; all others are left to `settle`."""

    def __init__(self, lobby: Lobby, begin: Begin, settle: Settle) -> None:
        self._lobby = lobby
        self._begin = begin
        self._settle = settle
        self._under_way: dict[str, _UnderWay] = {}
        """By match."""
        self._news = asyncio.Event()

    def again(self) -> None:
        """A bot came in, or has a slot back."""
        self._news.set()

    async def play(
        self,
        match: str,
        tournament: str,
        bots: Sequence[str],
        made: Callable[[], tuple[Header, bytes]],
        wait: float,
    ) -> Closed:
        """The match, once it is over; `made` gives its header and its seed when it begins.

        A bot that is not here within `wait` seconds has lost it. Asked for once more, a match that is under way goes
        on. Raises `JournalFault`, and `UsageFault` where that is not of this tournament.
        """
        if not self._goes_on(match, tournament):
            absent = await self._gather(bots, wait)
            if not self._goes_on(match, tournament):
                self._under_way[match] = _UnderWay(tournament, asyncio.get_running_loop().create_future())
                try:
                    self._begin(*made())
                except BaseException:
                    del self._under_way[match]
                    raise
                runner = self._lobby.runner(match)
                for event in [Voided()] if len(absent) == len(bots) else map(Absent, absent):
                    if runner is not None:
                        runner.receive(event)
        return await asyncio.shield(self._under_way[match].over)

    def _goes_on(self, match: str, tournament: str) -> bool:
        """Whether a match is under way. Raises `UsageFault` where another one is called so."""
        known = self._under_way.get(match)
        if known is None and self._lobby.runner(match) is not None:
            raise UsageFault(f"{match} is a match of the ladder: a tournament's matches have names of their own")
        if known is not None and known.tournament != tournament:
            raise UsageFault(
                f"{match} is under way for another tournament of these names and this seed, {known.tournament}: "
                "wait until that is over, or take another --seed"
            )
        return known is not None

    async def __call__(self, ended: Ended) -> None:
        """Tell everyone the end, without ratings, and hand the match over to who asked for it."""
        called = self._under_way.pop(ended.result.match, None)
        if called is None:
            await self._settle(ended)
            return
        ended.tell(None)
        try:
            called.over.set_result(ended.closed())
        except Fault as fault:
            called.over.set_exception(fault)
        await ended.stored(_elsewhere())

    async def _gather(self, bots: Sequence[str], wait: float) -> list[int]:
        """Have the bots free that come: the seats of the others."""
        since = asyncio.get_running_loop().time()
        dates = sorted({since + wait, since + KEEP_AFTER})
        keeps = False
        with ExitStack() as kept:
            while True:
                there = [bot for bot in bots if self._lobby.here(bot)]
                now = asyncio.get_running_loop().time()
                if (now >= since + wait or len(there) == len(bots)) and all(map(self._lobby.callable, there)):
                    for bot in there:
                        self._lobby.call(bot)
                    return [seat for seat, bot in enumerate(bots) if bot not in there]
                if now >= since + KEEP_AFTER and not keeps:
                    kept.enter_context(self._lobby.kept_free(bots))
                    keeps = True
                self._news.clear()
                try:
                    async with asyncio.timeout_at(next((date for date in dates if date > now), None)):
                        await self._news.wait()
                except TimeoutError:
                    pass


async def _elsewhere() -> None:
    """What a match that is stored elsewhere has for ratings."""
