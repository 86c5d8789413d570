"""Players whose matches are played concurrently, among them those that are connected to a server."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Sequence
from itertools import islice

from arena.ratings.tournament_pairing import Pairing
from arena.runs.job import MatchReport
from arena.runs.plan import Plan
from arena.runs.play_request import PlayRequest
from protocol.reasons import NO_SHOW
from referee.footer import ClosedMatch


class ConcurrentPlayers(ABC):
    """Plays the matches of a run, up to `concurrency` at a time."""

    def __init__(self, concurrency: int) -> None:
        self._concurrency = concurrency
        self.under_way: set[asyncio.Task[MatchReport]] = set()
        """The tasks of the matches that are played, or wait for their bots."""

    @abstractmethod
    async def play_match(self, pairing: Pairing) -> MatchReport:
        """Play a match, and return its report. Raise `Fault` if it cannot be played."""

    async def play(self, matches: Sequence[Pairing]) -> AsyncGenerator[Sequence[MatchReport], None]:
        """Play matches, and yield their reports as they end (see `RunPlayers`)."""
        waiting = iter(matches)
        try:
            while True:
                for match in islice(waiting, self._concurrency - len(self.under_way)):
                    self.under_way.add(asyncio.create_task(self.play_match(match)))
                if not self.under_way:
                    return
                ended, self.under_way = await asyncio.wait(self.under_way, return_when=asyncio.FIRST_COMPLETED)
                yield [task.result() for task in ended if task.exception() is None]
                for task in ended:
                    task.result()
        finally:
            for task in self.under_way:
                task.cancel()
            await asyncio.gather(*self.under_way, return_exceptions=True)
            self.under_way = set()


class ConnectedPlayers(ConcurrentPlayers):
    """Plays the matches of a run among the bots of a server.

    A bot that is not connected within `wait_s` seconds loses the match.
    """

    def __init__(self, plan: Plan, wait_s: float, concurrency: int) -> None:
        super().__init__(concurrency)
        self._plan = plan
        self._wait_s = wait_s

    @abstractmethod
    async def ask(self, request: PlayRequest) -> ClosedMatch:
        """Have the server play a match, and return it when it is over. Raise `Fault` if it cannot be played."""

    async def play_match(self, pairing: Pairing) -> MatchReport:
        """Play a match, and return its report. A bot that did not appear has failed, too."""
        closed = await self.ask(PlayRequest.from_plan(self._plan, pairing, self._wait_s))
        absent = {at: "it was not there" for at, seat in enumerate(closed.result.seats) if seat.reason == NO_SHOW}
        return MatchReport(closed, failures={**closed.failures, **absent})
