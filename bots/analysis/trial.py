"""Two sides against each other in process, every start from both seats: who is better, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from statistics import fmean
from typing import NamedTuple

from bots.tuning.genetic import Gene
from bots.tuning.selfplay import Freed, Seats, Setup, play_freed
from machine.workers.local import WorkerPool, spread
from measuring.elo import Comparison, compare_scores
from measuring.pair_scores import SideScore
from measuring.scores import estimate_scores
from measuring.value_function import NoLuck
from measuring.variance_reduction import VarianceReduction, factor
from protocol import VERSION


class Side(NamedTuple):
    """What plays: its name on the command line, how it searches a move, and its weights."""

    name: str
    setup: Setup
    weights: Gene


class TrialResult(NamedTuple):
    """What the first side made of its games, as they came out and less luck; and what seat 0 made of them.

    `worth` is how many single games, luck left in, would be as certain, `factor` that over the games that were played.
    `adjusted` and these are None where luck was not asked for or too little was played, two starts for the one and
    `MIN_UNITS` for the others; these also where results or adjusted results are all the same.
    """

    games: int
    won: int
    drawn: int
    lost: int
    seat_0: float
    score: Comparison
    adjusted: Comparison | None
    worth: float | None
    factor: VarianceReduction | None


def play_trial(
    crew: WorkerPool,
    sides: tuple[Side, Side],
    seed: str,
    starts: int,
    value: str,
    played: Callable[[], object] = lambda: None,
) -> TrialResult:
    """Play all games; `played` is called after each. No tuning plays these starts, but for one with a seed like
    `trial/…`. `value` is what luck is measured by, `none` where it is not asked for.
    """
    found: list[list[Freed]] = []
    for seat, (first, second) in enumerate((sides, sides[::-1])):
        # A game's dice follow from its deal and the seat of the first side.
        deals = [f"trial/{seed}/{k}" for k in range(starts)]
        games = [Seats(first.weights, second.weights, deal, f"{deal}/{seat}") for deal in deals]
        work = partial(play_freed, first.setup, version=VERSION, value=value, second=second.setup)
        freed = [Freed(0.0, 0.0)] * starts
        for k, game in spread(crew, work, games):
            freed[k] = game
            played()
        found.append(freed)
    return summed_up(*found, freed=value != NoLuck.name)


def summed_up(first: Sequence[Freed], second: Sequence[Freed], *, freed: bool) -> TrialResult:
    """From seat 0's games by start, where the side sat there and where the other did; luck counts if `freed`."""
    games = [
        SideScore(points, luck if freed else None, start, seat=seat)
        for start, (one, two) in enumerate(zip(first, second, strict=True))
        for seat, (points, luck) in enumerate((one, (1 - two.score, -two.luck)))
    ]
    own = [game.points for game in games]
    what = estimate_scores(games)
    assert what.score is not None
    return TrialResult(
        games=len(own),
        won=own.count(1.0),
        drawn=own.count(0.5),
        lost=own.count(0.0),
        seat_0=fmean(game.score for game in (*first, *second)),
        score=compare_scores(what.score),
        adjusted=None if what.adjusted is None else compare_scores(what.adjusted),
        worth=what.worth,
        factor=factor(games),
    )
