"""Measure by which factor the removal of luck reduces the number of games that are needed, for several bots, games and
value functions.

The table also has the raw and adjusted mean scores. Games are played in pairs: the same deal from both seats, with
separate dice. `--share 0.1` plays only a tenth of the games.

`python benchmarks/luck/saves.py [--share X] [--set KEY=VALUE] [--jobs N] [ROW ...]`
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).parents[1]))

from pairs import GamePair, play_pair
from toolkit import z_score

from bots import play_all
from bots.tuning.weights import read_weights
from machine.arguments import read_value
from machine.workers.local import WorkerPool, process_pool, spread
from measuring.adjusted_scores import estimate_scores
from measuring.luck import luck_along, luck_of
from measuring.pair_scores import SideScore
from measuring.scores import Estimate
from measuring.value_registry import load_value
from measuring.variance_reduction import VarianceReduction, estimate_reduction

SEED = "saves-1"
"""The seed of the measured games. The coefficients were not fitted to these games."""
WORLD = {"map": "world", "draft": "classic"}
"""The config of Risk campaigns on the world map."""
ROW_FORMAT = "{:<35} {:<11}{:>7}  {:<16}{:<17}{:>6}  {:<12}{:>5}"
"""The format of a row of the printed table."""


class SavingsRow(NamedTuple):
    """A row of the printed table: two bots to compare, and the value functions that measure luck. A bot is the name of
    a set of weights, or a specification as for `bots.play`.
    """

    name: str
    game: str
    config: dict[str, Any]
    bots: tuple[str, str]
    values: tuple[str, ...]
    starts: int
    nodes: int | None = None


def _make_row(first: str, second: str, starts: int) -> SavingsRow:
    return SavingsRow(
        f"duel-{first}-{second}", "risk-duel", {}, (BOT_SPECS[first], BOT_SPECS[second]), ("exact",), starts
    )


BOT_SPECS = {
    "oracle": "oracle",
    "alphabeta": "alphabeta:depth=3",
    "greedy": "greedy",
    "random": "random",
}
"""The specifications, for `bots.play`, of the table's bots that do not play by a set of weights, by name."""
SOUTH_AMERICA, AFRICA = {"map": "south-america"}, {"map": "africa"}
"""The configs of bounded Risk on the maps of South America and of Africa."""
COMPARISON_ROWS = (
    SavingsRow("duel-paired", "risk-duel", {}, ("paired", "equal"), ("exact", "fitted-1", "features-1"), 10_000),
    SavingsRow("duel-paper", "risk-duel", {}, ("paper", "equal"), ("exact",), 4_000),
    _make_row("oracle", "alphabeta", 2_000),
    _make_row("alphabeta", "greedy", 2_000),
    _make_row("alphabeta", "random", 2_000),
    SavingsRow("duel-even", "risk-duel", SOUTH_AMERICA, ("equal", "equal"), ("fitted-1", "features-1"), 4_000),
    SavingsRow("duel-africa", "risk-duel", AFRICA, ("paired", "equal"), ("fitted-1", "features-1"), 10_000),
    SavingsRow("duel-africa-even", "risk-duel", AFRICA, ("equal", "equal"), ("fitted-1", "features-1"), 4_000),
    SavingsRow("duel-europe", "risk-duel", {"map": "europe"}, ("paired", "equal"), ("general-1", "features-1"), 10_000),
    SavingsRow("grid-paired", "risk-campaign", {}, ("paired", "equal"), ("fitted-1", "features-1"), 10_000, 100),
    SavingsRow("grid-even", "risk-campaign", {}, ("equal", "equal"), ("fitted-1", "features-1"), 1_000, 100),
    SavingsRow("world-paired", "risk-campaign", WORLD, ("paired", "equal"), ("fitted-1", "features-1"), 10_000, 100),
)
"""All comparisons of two bots in the printed table. The table has a row for each value function of a comparison."""

Score = tuple[float, tuple[float, ...]]
"""The type of a game's result: the first bot's score, and its luck as measured by each value function."""


def play_starts(row: SavingsRow, starts: Sequence[int]) -> list[list[Score]]:
    return list(map(list, (_play_weights if row.bots[0] not in BOT_SPECS.values() else _play_specs)(row, starts)))


def _play_weights(row: SavingsRow, starts: Sequence[int]) -> Iterator[Iterator[Score]]:
    first, second = (tuple(read_weights("saves", name)[row.game]) for name in row.bots)
    for start in starts:
        depth = None if row.nodes else 3
        yield _score_pair(
            row, GamePair(row.game, row.config, first, second, f"{SEED}/{row.name}/{start}", depth, row.nodes)
        )


def _score_pair(row: SavingsRow, pair: GamePair) -> Iterator[Score]:
    for order, walked in enumerate(play_pair(pair)):
        values = (load_value(walked.rules, name) for name in row.values)
        lucks = tuple(luck_along(walked.rules, value, walked.plies).total[order] for value in values)
        yield 1 - walked.score if order else walked.score, lucks


def _play_specs(row: SavingsRow, starts: Sequence[int]) -> Iterator[tuple[Score, Score]]:
    return zip(*(_play_order(row, starts, order) for order in range(2)), strict=True)


def _play_order(row: SavingsRow, starts: Sequence[int], order: int) -> Iterator[Score]:
    words = row.bots[::-1] if order else row.bots
    for played in play_all(words, row.game, [f"{SEED}/{start}/{order}" for start in starts], config=row.config):
        yield played.points[order], tuple(luck_of(played.record, name).total[order] for name in row.values)


def report(row: SavingsRow, pool: WorkerPool, share: float) -> None:
    starts = max(2, round(row.starts * share))
    played = dict(spread(pool, partial(play_starts, row), range(starts)))
    for at, value in enumerate(row.values):
        games = [
            SideScore(points=points, luck=lucks[at], start=start, seat=order)
            for start in range(starts)
            for order, (points, lucks) in enumerate(played[start])
        ]
        told, saved = estimate_scores(games), estimate_reduction(games, SEED)
        assert told.score is not None
        assert told.adjusted is not None
        mean = [fmean(lucks[at] for _, lucks in played[start]) for start in range(starts)]
        estimates = _format_estimate(told.score), _format_estimate(told.adjusted)
        print(
            ROW_FORMAT.format(row.name, value, 2 * starts, *estimates, *_format_factor(saved), f"{z_score(mean):+.1f}")
        )


def _format_estimate(estimate: Estimate) -> str:
    return f"{estimate.mean:.4f} ±{(estimate.high - estimate.low) / 2:.4f}"


def _format_factor(reduction: VarianceReduction | None) -> tuple[str, str]:
    """Format the factor by which luck adjustment reduces the variance, and the factor's interval, as two texts."""
    if reduction is None:
        return "-", "-"
    return (
        f"{reduction.factor:.1f}",
        f"{reduction.low:.1f}-{'inf' if reduction.high is None else f'{reduction.high:.1f}'}",
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "rows", nargs="*", metavar="ROW", help=f"of {', '.join(row.name for row in COMPARISON_ROWS)}; else all"
    )
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="of the config of every row")
    parser.add_argument("--jobs", type=int, default=1)
    told = parser.parse_args()
    changed = {key: read_value(value) for key, _, value in (word.partition("=") for word in told.set)}
    with process_pool(told.jobs) as crew:
        print(ROW_FORMAT.format("", "v", "games", "score", "less luck", "factor", "95 %", "z"), flush=True)
        for row in COMPARISON_ROWS:
            if not told.rows or row.name in told.rows:
                report(row._replace(config={**row.config, **changed}), crew, told.share)


if __name__ == "__main__":
    main()
