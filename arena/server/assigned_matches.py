"""Matches that the operator assigns to connected bots: they are played beside the ladder, and handed over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from typing import NamedTuple

from arena.host.handler import FinishedMatch
from arena.host.host import MatchHost
from arena.server.ladder import Ladder
from protocol.errors import Fault, UsageFault
from referee.footer import Closed
from referee.record import Header

CALL_EVERY = 5.0
"""Seconds after which bots that are not here are called once more."""
KEEP_AFTER = 5.0
"""Seconds that a call waits for slots that come free; after that they are kept free for it."""


class _UnderWay(NamedTuple):
    """A called match, the tournament that it is of, and what comes of it."""

    tournament: str
    over: asyncio.Future[Closed]


class AssignedMatches:
    """Has matches played between the bots that the operator names. `check` raises `Fault` where none is to begin;
    `call` has bots come that may be connected elsewhere.
    """

    def __init__(
        self,
        host: MatchHost,
        ladder: Ladder,
        check: Callable[[], None],
        call: Callable[[list[str]], None] = lambda bots: None,
    ) -> None:
        self._host = host
        self._check = check
        self._call = call
        self._clients = host.clients
        self._ladder = ladder
        self._under_way: dict[str, _UnderWay] = {}
        """By match."""
        self._changed = asyncio.Event()

    def again(self) -> None:
        """A bot came in, or has a slot back."""
        self._changed.set()

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
        on. Raises `JournalFault`, what `check` does, and `UsageFault` where that is not of this tournament.
        """
        if not self._goes_on(match, tournament):
            self._check()
            absent = await self._gather(bots, wait)
            if not self._goes_on(match, tournament):
                self._check()
                self._under_way[match] = _UnderWay(tournament, asyncio.get_running_loop().create_future())
                try:
                    self._host.begin(*made(), absent=absent)
                except BaseException:
                    del self._under_way[match]
                    raise
        return await asyncio.shield(self._under_way[match].over)

    def _goes_on(self, match: str, tournament: str) -> bool:
        """Whether a match is under way. Raises `UsageFault` where another one is called so."""
        known = self._under_way.get(match)
        if known is None and match in self._clients.runners:
            raise UsageFault(f"{match} is a match of the ladder: a tournament's matches have names of their own")
        if known is not None and known.tournament != tournament:
            raise UsageFault(
                f"{match} is under way for another tournament of these names and this seed, {known.tournament}: "
                "wait until that is over, or take another --seed"
            )
        return known is not None

    def hand_over(self, match: FinishedMatch) -> bool:
        """Tell everyone the end of an assigned match, unrated, and hand it to who asked for it; whether it is one."""
        assigned = self._under_way.pop(match.result.match, None)
        if assigned is None:
            return False
        match.tell(None)
        try:
            assigned.over.set_result(match.closed())
        except Fault as fault:
            assigned.over.set_exception(fault)
        match.forget()
        return True

    def fail(self, match: str, fault: Fault) -> None:
        """Tell who asked for an assigned match why it does not begin."""
        assigned = self._under_way.pop(match, None)
        if assigned is not None:
            assigned.over.set_exception(fault)

    async def _gather(self, bots: Sequence[str], wait: float) -> list[int]:
        """Have the bots free that come: the seats of the others."""
        since = asyncio.get_running_loop().time()
        calls = since
        keeps = False
        with ExitStack() as kept:
            while True:
                there = [bot for bot in bots if self._clients.is_online(bot)]
                now = asyncio.get_running_loop().time()
                if (now >= since + wait or len(there) == len(bots)) and all(
                    self._clients.free_slots(bot) > 0 for bot in there
                ):
                    for bot in there:
                        self._ladder.free_a_slot(bot)
                    return [seat for seat, bot in enumerate(bots) if bot not in there]
                if now >= since + KEEP_AFTER and not keeps:
                    kept.enter_context(self._ladder.reserving(bots))
                    keeps = True
                away = [bot for bot in bots if bot not in there]
                if away and now >= calls:
                    self._call(away)
                    calls = now + CALL_EVERY
                dates = [since + wait, since + KEEP_AFTER, *([calls] if away else [])]
                self._changed.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout_at(min((date for date in dates if date > now), default=None)):
                        await self._changed.wait()
