"""Matches that the operator assigns to connected bots, for example for a tournament. They are unrated. Their results go
only to the operator's request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from arena.host.finished_match import FinishedMatch
from arena.host.host import MatchHost
from arena.lobby.events import MatchAssigned, MatchNotBegun
from arena.server.lobby_runner import LobbyRunner
from machine.event_loop import BackgroundTasks
from protocol.errors import ArenaFault, Fault, UsageFault
from protocol.names import fold_name
from referee.footer import ClosedMatch
from referee.record import Header

MakeHeader = Callable[[], tuple[Header, bytes]]
"""A function that returns the header and the seed of a match when it starts."""


@dataclass
class _AssignedMatch:
    """An assigned match: the id of its tournament, a future for its outcome, and how many callers wait for it."""

    tournament: str
    over: asyncio.Future[ClosedMatch]
    waiting: int = 0


class AssignedMatches:
    """Plays matches between bots that the operator names."""

    def __init__(self, host: MatchHost, runner: LobbyRunner) -> None:
        self._host = host
        self._runner = runner
        self._matches: dict[str, _AssignedMatch] = {}
        """The assigned matches that are in progress or wait for their bots, by match id."""
        self._preparing = BackgroundTasks()

    async def play(
        self, match: str, tournament: str, bots: Sequence[str], make_header: MakeHeader, wait_s: float
    ) -> ClosedMatch:
        """Play a match and return it when it is over. If the match was assigned already, wait for its end.

        A bot that does not connect within `wait_s` seconds loses. Raise `UsageFault` if the id belongs to a match of
        another tournament or of the ladder, `ArenaFault` if the server drains, `JournalFault` if the journal cannot be
        written.
        """
        assigned = self._find(match, tournament)
        if assigned is None:
            self._check_drain()
            assigned = _AssignedMatch(tournament, asyncio.get_running_loop().create_future())
            self._matches[match] = assigned
            event = MatchAssigned(match, tuple(map(fold_name, bots)), wait_s)
            self._runner.assign(event, partial(self._start, match, make_header))
        assigned.waiting += 1
        try:
            return await asyncio.shield(assigned.over)
        finally:
            assigned.waiting -= 1
            if not assigned.waiting and self._runner.withdraw(match):
                del self._matches[match]

    def _find(self, match: str, tournament: str) -> _AssignedMatch | None:
        """Return the assigned match with this id. Raise `UsageFault` if another match in progress has the id."""
        known = self._matches.get(match)
        if known is None and match in self._host.clients.runners:
            raise UsageFault(f"{match} is a match of the ladder: a tournament's matches have names of their own")
        if known is not None and known.tournament != tournament:
            raise UsageFault(
                f"{match} is under way for another tournament of these names and this seed, {known.tournament}: "
                "wait until that is over, or take another --seed"
            )
        return known

    def _check_drain(self) -> None:
        """Raise `ArenaFault` if no match may start at the moment, because the server drains."""
        if self._runner.lobby.is_draining:
            raise ArenaFault("the server is stopping, and starts no new matches")

    def _start(self, match: str, make_header: MakeHeader, absent: Sequence[int]) -> None:
        try:
            self._check_drain()
            header, seed = make_header()
            if self._host.rules.must_prepare(header.game, header.config):
                self._preparing.start(self._start_prepared(header, seed, absent))
            else:
                self._host.start_match(header, seed, absent=absent)
        except Exception as exc:
            self._give_up(match, exc)

    async def _start_prepared(self, header: Header, seed: bytes, absent: Sequence[int]) -> None:
        """Start a match under a config that an isolated game has to be asked about first."""
        try:
            await self._host.rules.prepare(header.game, header.config)
            self._host.start_match(header, seed, absent=absent)
        except Exception as exc:
            self._give_up(header.match, exc)

    def _give_up(self, match: str, exc: Exception) -> None:
        self._runner.feed(MatchNotBegun(match))
        self._matches.pop(match).over.set_exception(exc)

    async def hand_over(self, match: FinishedMatch) -> bool:
        """Pass an assigned match to the caller of `play`. Return False if the match was not assigned."""
        name = match.result.match
        if name not in self._matches:
            return False
        try:
            closed = await asyncio.to_thread(match.close)
        except Fault as fault:
            self.fail(name, fault)
        else:
            self._matches.pop(name).over.set_result(closed)
        return True

    def fail(self, match: str, fault: Fault) -> None:
        """Make `play` raise `fault` for a match that cannot be played or closed. Do nothing if the match was not
        assigned.
        """
        assigned = self._matches.pop(match, None)
        if assigned is not None:
            assigned.over.set_exception(fault)
