"""Two sides against each other in process, every start from both seats: who is better, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from statistics import NormalDist, fmean, stdev
from typing import NamedTuple

from bots.tuning.genetic import Gene
from bots.tuning.selfplay import Seats, Setup, play_all
from machine.crew.workers import Crew, spread
from protocol import VERSION

_Z95 = NormalDist().inv_cdf(0.975)


class Side(NamedTuple):
    """What plays: its name on the command line, how it searches a move, and its weights."""

    name: str
    setup: Setup
    weights: Gene


class TrialResult(NamedTuple):
    """What the first side made of its games: its share of the points with a 95 % interval; and what seat 0 made."""

    games: int
    won: int
    drawn: int
    lost: int
    score: float
    low: float
    high: float
    seat_0: float


def play_trial(
    crew: Crew, sides: tuple[Side, Side], seed: str, starts: int, played: Callable[[], object] = lambda: None
) -> TrialResult:
    """Play all games; `played` is called after each. No tuning plays these starts, but for one with a seed like
    `trial/…`.
    """
    scores: list[list[float]] = []
    for first, second in (sides, sides[::-1]):
        games = [Seats(first.weights, second.weights, f"trial/{seed}/{k}") for k in range(starts)]
        work = partial(play_all, first.setup, version=VERSION, second=second.setup)
        found = [0.0] * starts
        for k, score in spread(crew, work, games):
            found[k] = score
            played()
        scores.append(found)
    return summed_up(*scores)


def summed_up(first: Sequence[float], second: Sequence[float]) -> TrialResult:
    """From seat 0's scores by start, where the side sat there and where the other did.

    The interval is that of the mean over starts, each the mean of its two games, with two more of each extreme added:
    so it holds for few starts too, and is not empty where the seat decides every game. Source: A. Agresti, B. A. Coull,
    Approximate is better than "exact" for interval estimation of binomial proportions (1998).
    """
    own = [*first, *(1 - score for score in second)]
    halves = [(one + 1 - two) / 2 for one, two in zip(first, second, strict=True)]
    widened = [*halves, 0.0, 0.0, 1.0, 1.0]
    reach = _Z95 * stdev(widened) / math.sqrt(len(widened))
    return TrialResult(
        games=len(own),
        won=own.count(1.0),
        drawn=own.count(0.5),
        lost=own.count(0.0),
        score=fmean(own),
        low=max(0.0, fmean(widened) - reach),
        high=min(1.0, fmean(widened) + reach),
        seat_0=fmean([*first, *second]),
    )
