"""Measure the variance of results in games of more than two seats, and the length of sequential tests, with and without
luck adjustment.

Every start position is played once in each rotation of the seats, with separate dice. Bot A has some seats and bot B
the rest. A bot is `uct` with a number of simulations; 0 means the bot `raider` and -1 a random bot. Simulated tests
draw from the scores of these start positions.

`--bias N` instead plays the first plies of N games of random bots on the world map for six seats, and prints each
seat's mean luck divided by its standard error.

`python benchmarks/luck/seats.py [--share X] [--bias N] [--jobs N] [ROW ...]`
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from statistics import fmean, variance
from typing import NamedTuple

sys.path.append(str(Path(__file__).parents[1]))

from pairs import load_campaign, play_campaign
from toolkit import format_mean, z_score

from machine.workers.local import WorkerPool, process_pool, spread
from measuring.expected_length import variance_of_equal_bots
from measuring.luck import luck_along
from measuring.sequential import Hypotheses, RealValued
from measuring.value_registry import load_value
from referee.result import points_from_ranks

SEED = "seats-1"
"""The seed of the measured games. The coefficients were not fitted to these games."""
TEST_COUNT = 200
"""The number of sequential tests that are simulated to measure a mean length."""
OPENING_PLIES = 60
"""The number of plies that `--bias` plays in each game. Mean luck is 0 after any number of plies."""


class SeatsRow(NamedTuple):
    """A row of the printed table: a comparison of bots A and B. `sims` has the numbers of simulations of A and of B,
    and `own` is the number of A's seats. `value` is the value function that measures luck. `h1` is the hypothesis h1 of
    the sequential tests.
    """

    name: str
    preset: str
    sims: tuple[int, int]
    own: int
    value: str
    starts: int
    h1: float


ROWS = (
    SeatsRow("uct-raider", "world", (16, 0), 1, "fitted-1", 3334, 0.02),
    SeatsRow("uct-raider-half", "world", (16, 0), 3, "fitted-1", 3334, 0.02),
    SeatsRow("raider", "world", (0, 0), 1, "fitted-1", 3334, 0.02),
    SeatsRow("raider-random", "world", (0, -1), 1, "fitted-1", 1000, 0.02),
    SeatsRow("three", "world-3", (16, 0), 1, "features-1", 1000, 0.02),
)
"""All rows of the printed table: the comparisons of two bots."""

Share = tuple[float, float]
"""The type of a match's score, with the luck in it. The score considers all pairs of an A seat and a B seat: it is the
share of them in which A finished ahead.
"""


def play_starts(row: SeatsRow, starts: Sequence[int]) -> list[list[Share]]:
    return [list(_play_start(row, start)) for start in starts]


def _play_start(row: SeatsRow, start: int) -> Iterator[Share]:
    rules = load_campaign(row.preset)
    told, count = f"{SEED}/{row.preset}/{start}", rules.seats
    around = Random(told).sample(range(count), count)
    against = row.own * (count - row.own)
    for turn in range(count):
        own = [seat for seat in range(count) if around[(seat + turn) % count] < row.own]
        plies = list(play_campaign(rules, [row.sims[seat not in own] for seat in range(count)], told, str(turn)))
        points = points_from_ranks(rules.ranks(plies[-1][2]))
        luck = luck_along(rules, load_value(rules, row.value), plies).total
        score = ((count - 1) * sum(points[seat] for seat in own) - row.own * (row.own - 1) / 2) / against
        yield score, (count - 1) * sum(luck[seat] for seat in own) / against


def opening_luck(starts: Sequence[int]) -> list[tuple[float, ...]]:
    """Return the luck of each seat in the first `OPENING_PLIES` plies of games of random bots."""
    rules = load_campaign("world")
    value, random_bots = load_value(rules), [-1] * rules.seats
    return [
        luck_along(
            rules, value, islice(play_campaign(rules, random_bots, f"{SEED}/opening/{start}", ""), OPENING_PLIES)
        ).total
        for start in starts
    ]


def report_bias(pool: WorkerPool, count: int) -> None:
    """Print the bias of the luck of each seat: the mean of `opening_luck` divided by its standard error."""
    played = dict(spread(pool, opening_luck, range(count)))
    by_seat = zip(*(played[start] for start in range(count)), strict=True)
    told = (f"{z_score(luck):+.1f}" for luck in by_seat)
    print(f"world, {OPENING_PLIES} plies of {count:,} games: z by seat {', '.join(told)}")


def report(row: SeatsRow, pool: WorkerPool, share: float) -> None:
    """Play the games of one of `ROWS`. Print the mean scores, the ratios of variances, and the mean lengths of
    sequential tests, with and without luck adjustment.
    """
    starts = max(2, round(row.starts * share))
    played = dict(spread(pool, partial(play_starts, row), range(starts)))
    units = [played[start] for start in range(starts)]
    seats = len(units[0])
    raw = [fmean(score for score, _ in unit) for unit in units]
    less = [fmean(score - luck for score, luck in unit) for unit in units]
    given = [fmean(luck for _, luck in unit) for unit in units]
    single = variance(score for unit in units for score, _ in unit)
    print(f"{row.name}: {row.preset}, A in {row.own} of {seats} seats, {seats * starts:,} games, by {row.value}")
    print(f"  score {format_mean(raw)}, less luck {format_mean(less)}, z {z_score(given):+.1f}")
    # A's advantage refers to games of one A among copies of B; games with more seats of A measure it better.
    alone = single * variance_of_equal_bots(seats) / variance_of_equal_bots(seats, row.own)
    factors = ", ".join(f"{alone / variance(each) / seats:.2f}" for each in (raw, less))
    print(f"  variance of single games of one A over that: of starts, of starts less luck: {factors}")
    lengths = [
        _mean_test_length([score for unit in units for score, _ in unit], 1, row),
        *(_mean_test_length(each, seats, row) for each in (raw, less)),
    ]
    print(
        f"  games of a test, h1 {row.h1}: {', '.join(f'{each:,.0f}' for each in lengths)} (single, starts, less luck)"
    )


def _mean_test_length(units: Sequence[float], games: int, row: SeatsRow) -> float:
    """Return the mean number of games that sequential tests take until a verdict. Each test draws its scores from
    `units`, shifted so that h1 is true.
    """
    chance, moved = Random(row.name), 0.5 + row.h1 - fmean(units)
    taken = []
    for _ in range(TEST_COUNT):
        test = RealValued(Hypotheses(h1=row.h1))
        while test.verdict is None:
            test.add(chance.choice(units) + moved)
        taken.append(games * test.pairs)
    return fmean(taken)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(row.name for row in ROWS)}; else all")
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--bias", type=int, metavar="N")
    parser.add_argument("--jobs", type=int, default=1)
    told = parser.parse_args()
    with process_pool(told.jobs) as crew:
        if told.bias is not None:
            report_bias(crew, told.bias)
            return
        for row in ROWS:
            if not told.rows or row.name in told.rows:
                report(row, crew, told.share)


if __name__ == "__main__":
    main()
