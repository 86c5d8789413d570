"""The loop that plays a tournament or a test: which matches are missing, who plays them, who keeps their results."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Coroutine, Iterable, Sequence
from contextlib import aclosing
from typing import Any, NamedTuple, Protocol, TypeVar

from arena.ratings.tournament_pairing import Pairing
from arena.runs.job import MatchReport
from arena.runs.plan import Plan, place_of
from referee.result import Result

T = TypeVar("T")


class RunPlayers(Protocol):
    """The players of a run: workers of this machine or of a cluster, or bots that are connected to a server."""

    def play(self, matches: Sequence[Pairing]) -> AsyncGenerator[Sequence[MatchReport], None]:
        """Play matches, and yield their reports as they end, each once, in any order.

        The caller may stop at any time. If no more matches can be played, yield the last reports, then raise `Fault`.
        """


class RunLedger(Protocol):
    """The keeper of a run's results."""

    def missing(self) -> Coroutine[Any, Any, list[Pairing]]:
        """Return the matches to play next, in schedule order; none if the run is over."""

    def hand_in(self, reports: Sequence[MatchReport]) -> Coroutine[Any, Any, bool]:
        """Keep the reports of matches that ended. Return whether more matches are needed."""


async def play_run(players: RunPlayers, ledger: RunLedger) -> None:
    """Play the missing matches of a run, round by round, until there are none or enough are played."""
    while missing := await ledger.missing():
        async with aclosing(players.play(missing)) as ended:
            async for reports in ended:
                if not await ledger.hand_in(reports):
                    return


def run_blocking(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that awaits nothing but coroutines that block, without an event loop, and return its result.

    So `KeyboardInterrupt` is raised where the coroutine is.
    """
    try:
        work.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    raise RuntimeError("a coroutine that should block has suspended")


class HandIn(NamedTuple):
    """Reports sorted by whether they are next in the schedule: `due` are, and are in its order; `early` are not yet."""

    due: list[MatchReport]
    early: list[MatchReport]


class Progress:
    """The progress of a run whose results count in schedule order: the `results` that count, and the reports of matches
    that ended before an earlier match. `early` are such reports of an earlier process. Pure.
    """

    def __init__(self, plan: Plan, results: Sequence[Result] = (), early: Iterable[MatchReport] = ()) -> None:
        self.plan = plan
        self.results = list(results)
        self._early = {place_of(report.result): report for report in early}
        self._due: deque[int] = deque()
        """The places of the schedule so far that have no result that counts, in order."""

    @property
    def played(self) -> int:
        """The number of matches played, whether their results count yet or not."""
        return len(self.results) + len(self._early)

    def missing(self) -> list[Pairing]:
        """Return the matches of the schedule so far that were not played, in its order."""
        due = self.plan.missing(self.results)
        self._due = deque(match.place for match in due)
        return [match for match in due if match.place not in self._early]

    def hand_in(self, reports: Sequence[MatchReport]) -> HandIn:
        """Add the reports of missing matches. Return those that count from now on, and those of `reports` that wait.

        A report that waited is returned without what was told on its arrival: notes, incidents and output.
        """
        self._early.update((place_of(report.result), report) for report in reports)
        due = []
        while self._due and self._due[0] in self._early:
            due.append(self._early.pop(self._due.popleft()))
        early = [report for report in reports if place_of(report.result) in self._early]
        for one in early:
            self._early[place_of(one.result)] = MatchReport(one.closed, one.luck, one.failures)
        self.results += [report.result for report in due]
        return HandIn(due, early)
