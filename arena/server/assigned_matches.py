"""Matches that the operator assigns to connected bots, for example for a tournament. They are unrated. Their results go
only to the operator's request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from typing import NamedTuple

from arena.host.handler import FinishedMatch
from arena.host.host import MatchHost
from arena.lobby.events import SlotWanted
from arena.server.lobby_runner import LobbyRunner
from protocol.errors import Fault, UsageFault
from protocol.names import fold_name
from referee.footer import ClosedMatch
from referee.record import Header

CALL_INTERVAL_S = 5.0
"""Seconds between two calls that ask bots on other nodes to connect here."""
RESERVE_DELAY_S = 5.0
"""Seconds for which an assigned match waits until its bots have free slots. After that, slots that become free are
reserved for the match.
"""


class _AssignedMatch(NamedTuple):
    """An assigned match: the id of its tournament, and a future for its outcome."""

    tournament: str
    over: asyncio.Future[ClosedMatch]


class AssignedMatches:
    """Plays matches between bots that the operator names. `check` raises a `Fault` if no match may start now. `call`
    asks bots on other nodes to connect here.
    """

    def __init__(
        self,
        host: MatchHost,
        runner: LobbyRunner,
        check: Callable[[], None],
        call: Callable[[list[str]], None] = lambda bots: None,
    ) -> None:
        self._host = host
        self._check = check
        self._call = call
        self._clients = host.clients
        self._runner = runner
        self._under_way: dict[str, _AssignedMatch] = {}
        """The assigned matches in progress, by match id."""
        self._changed = asyncio.Event()

    def on_bots_changed(self) -> None:
        """Check again which bots can play an assigned match, because a bot connected or a slot became free."""
        self._changed.set()

    async def play(
        self,
        match: str,
        tournament: str,
        bots: Sequence[str],
        make_header: Callable[[], tuple[Header, bytes]],
        wait_s: float,
    ) -> ClosedMatch:
        """Play a match and return it when it is over. If the match is in progress already, wait for its end.

        `make_header` returns the match's header and seed when the match starts. A bot that does not connect within
        `wait_s` seconds loses. Raise `UsageFault` if the id belongs to a match of another tournament or of the ladder,
        `JournalFault` if the journal cannot be written, and the errors of `check`.
        """
        if not self._is_in_progress(match, tournament):
            self._check()
            absent = await self._wait_for_bots(bots, wait_s)
            if not self._is_in_progress(match, tournament):
                self._check()
                self._under_way[match] = _AssignedMatch(tournament, asyncio.get_running_loop().create_future())
                try:
                    self._host.start_match(*make_header(), absent=absent)
                except BaseException:
                    del self._under_way[match]
                    raise
        return await asyncio.shield(self._under_way[match].over)

    def _is_in_progress(self, match: str, tournament: str) -> bool:
        """Return whether the match is in progress. Raise `UsageFault` if another match in progress has its id."""
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
        """End an assigned match without ratings, and pass it to the caller of `play`. Return False if the match was not
        assigned.
        """
        assigned = self._under_way.pop(match.result.match, None)
        if assigned is None:
            return False
        match.send_end(None)
        try:
            assigned.over.set_result(match.close_record())
        except Fault as fault:
            assigned.over.set_exception(fault)
        match.remove_journal()
        return True

    def fail(self, match: str, fault: Fault) -> None:
        """Make `play` raise `fault` for a match that does not begin. Do nothing if the match was not assigned."""
        assigned = self._under_way.pop(match, None)
        if assigned is not None:
            assigned.over.set_exception(fault)

    async def _wait_for_bots(self, bots: Sequence[str], wait: float) -> list[int]:
        """Wait at most `wait` seconds for all bots to connect, then until each connected bot has a slot for the match.

        If need be, end a seek to free its slot. Return the seats of the bots that did not connect.
        """
        since = asyncio.get_running_loop().time()
        calls = since
        keeps = False
        with ExitStack() as kept:
            while True:
                there = [bot for bot in bots if self._clients.is_online(bot)]
                now = asyncio.get_running_loop().time()
                if (now >= since + wait or len(there) == len(bots)) and all(
                    self._clients.free_slots_of(bot) > 0 for bot in there
                ):
                    for bot in there:
                        self._runner.feed(SlotWanted(fold_name(bot)))
                    return [seat for seat, bot in enumerate(bots) if bot not in there]
                if now >= since + RESERVE_DELAY_S and not keeps:
                    kept.enter_context(self._runner.reserving(bots))
                    keeps = True
                away = [bot for bot in bots if bot not in there]
                if away and now >= calls:
                    self._call(away)
                    calls = now + CALL_INTERVAL_S
                dates = [since + wait, since + RESERVE_DELAY_S, *([calls] if away else [])]
                self._changed.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout_at(min((date for date in dates if date > now), default=None)):
                        await self._changed.wait()
