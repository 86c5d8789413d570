"""The run of a tournament or a test: what is missing, in which order results count, and when it ends. No I/O."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from random import Random
from typing import Any

import pytest

from arena.ratings.tournament_pairing import Pairing
from arena.runs.job import MatchReport
from arena.runs.plan import Plan, place_of
from arena.runs.run import Progress, play_run, run_blocking
from plans import plan
from protocol.errors import ArenaFault
from referee.footer import ClosedMatch
from seasons import result


def report(match: Pairing, *notes: str) -> MatchReport:
    over = result(f"t1-{match.place:05d}", match.seats, tournament="t1", place=match.place)
    footer: Any = None
    return MatchReport(ClosedMatch(over, (), footer), notes=notes)


def places(reports: Sequence[MatchReport]) -> list[int]:
    return [place_of(one.result) for one in reports]


class Shuffled:
    """Players whose matches end in a random order, in batches of random size."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self.asked: list[list[int]] = []

    async def play(self, matches: Sequence[Pairing]) -> AsyncGenerator[Sequence[MatchReport], None]:
        self.asked.append([match.place for match in matches])
        order = self._random.sample(matches, len(matches))
        while order:
            size = self._random.randint(1, len(order))
            yield [report(match) for match in order[:size]]
            del order[:size]


class Kept:
    """A ledger in memory, to which `enough` results are enough."""

    def __init__(self, planned: Plan, enough: int = 1000) -> None:
        self.progress = Progress(planned)
        self.enough = enough
        self.counted: list[int] = []

    async def missing(self) -> list[Pairing]:
        return self.progress.missing()

    async def hand_in(self, reports: Sequence[MatchReport]) -> bool:
        self.counted += places(self.progress.hand_in(reports).due)
        return len(self.counted) < self.enough


@pytest.mark.parametrize("form", ["round-robin", "gauntlet", "swiss"])
@pytest.mark.parametrize("seed", range(5))
def test_in_whatever_order_matches_end_their_results_count_in_that_of_the_schedule(form: str, seed: int) -> None:
    ledger = Kept(plan(format=form, rounds=3))
    run_blocking(play_run(Shuffled(seed), ledger))
    assert ledger.counted == list(range(ledger.progress.plan.match_count))
    assert ledger.progress.missing() == []


def test_a_swiss_tournament_is_played_round_by_round_and_others_at_once() -> None:
    swiss, robin = Shuffled(1), Shuffled(1)
    run_blocking(play_run(swiss, Kept(plan(format="swiss", rounds=3))))
    run_blocking(play_run(robin, Kept(plan(rounds=1))))
    assert swiss.asked == [[0, 1], [2, 3], [4, 5]]
    assert robin.asked == [[0, 1, 2, 3, 4, 5]]


def test_a_run_goes_on_with_the_matches_that_nobody_has_played() -> None:
    robin = plan(rounds=1)
    matches = robin.schedule(())
    progress = Progress(robin, [report(matches[0]).result], [report(matches[place]) for place in (2, 4)])
    assert progress.played == 3
    assert [match.place for match in progress.missing()] == [1, 3, 5]
    handed = progress.hand_in([report(matches[3])])
    assert (handed.due, places(handed.early)) == ([], [3])
    assert places(progress.hand_in([report(matches[1])]).due) == [1, 2, 3, 4]
    assert [match.place for match in progress.missing()] == [5]


def test_what_waited_for_an_earlier_match_tells_its_notes_once() -> None:
    robin = plan(rounds=1)
    first, second = robin.schedule(())[:2]
    progress = Progress(robin)
    progress.missing()
    assert [one.notes for one in progress.hand_in([report(second, "second")]).early] == [("second",)]
    assert [one.notes for one in progress.hand_in([report(first, "first")]).due] == [("first",), ()]


def test_players_are_stopped_when_the_results_are_enough() -> None:
    stopped = []

    class InOrder:
        async def play(self, matches: Sequence[Pairing]) -> AsyncGenerator[Sequence[MatchReport], None]:
            try:
                for match in matches:
                    yield [report(match)]
            finally:
                stopped.append(match.place)

    ledger = Kept(plan(rounds=5), enough=4)
    run_blocking(play_run(InOrder(), ledger))
    assert (ledger.counted, stopped) == ([0, 1, 2, 3], [3])


def test_results_before_a_fault_are_kept() -> None:
    class Failing(Shuffled):
        async def play(self, matches: Sequence[Pairing]) -> AsyncGenerator[Sequence[MatchReport], None]:
            yield [report(match) for match in matches[:2]]
            raise ArenaFault("a bot fails")

    ledger = Kept(plan())
    with pytest.raises(ArenaFault, match="a bot fails"):
        run_blocking(play_run(Failing(0), ledger))
    assert ledger.counted == [0, 1]


def test_only_what_blocks_runs_without_an_event_loop() -> None:
    with pytest.raises(RuntimeError, match="a coroutine that should block has suspended"):
        run_blocking(asyncio.sleep(0))
