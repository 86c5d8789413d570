"""Measure the advantage of each seat between equal bots, for each preset, in points above the average of all seats.

The advantage comes from the table of exact values if there is one, and from matches of a bot against itself. Each of
these matches has its own start position.

    python benchmarks/first_seat.py [--bot BOT]... [--matches N] [--no-luck-adjustment] [--set KEY=VALUE]...
        [--jobs N] [PRESET ...]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from functools import partial
from statistics import fmean
from typing import Any, NamedTuple

from bots import play_all
from games.risk.exact.table import cached_table, can_grade, load_mapped
from games.risk.rules.campaign import Campaign
from games.risk.rules.duel import Duel
from machine.arguments import read_value
from machine.cache import cache_folder
from machine.workers.local import process_pool, spread
from measuring.adjusted_scores import estimate_scores
from measuring.pair_scores import SideScore
from measuring.scores import Estimate
from measuring.value_function import NoLuck
from measuring.value_registry import value_names
from protocol.games import load_game
from protocol.games.base import NO_DICE

BOTS = ("ga=ga:depth=3,nodes=1000", "uct=uct:sims=300")
"""The bots of which each plays against itself, unless options name others."""
GAMES = (Duel, Campaign)
"""The games whose presets are measured."""
ROW_FORMAT = "{:<20} {:<12} {:>7} {:>4}  {:<29} {:<29} {:>7}"
"""The format of a row of the printed table."""
Points = tuple[tuple[float, ...], tuple[float, ...]]
"""The type of a match's points: the points of each seat as played, and adjusted for luck."""


class SelfPlayRow(NamedTuple):
    """A row of the printed table: a bot that plays against itself under a config."""

    game: str
    config: dict[str, Any]
    bot: str
    raw: bool


def play_row(row: SelfPlayRow, seeds: Sequence[int]) -> list[tuple[Points, float]]:
    """Play a match for each seed. Return the points of each match, with the match's processor time in seconds."""
    rules = load_game(row.game, row.config)
    value = NoLuck.name if row.raw else value_names(rules)[0]
    found = []
    began = time.process_time()
    starts = [f"first-seat-{seed}" for seed in seeds]
    for played in play_all([row.bot] * rules.seats, row.game, starts, config=row.config):
        came = tuple(played.points)
        less = tuple(own - luck for own, luck in zip(came, played.luck(value).total, strict=True))
        found.append(((came, less), time.process_time() - began))
        began = time.process_time()
    return found


def _format_estimate(estimate: Estimate | None) -> str:
    """Format how far a seat's mean points are above 0.5, with the 95 % interval."""
    if estimate is None:
        return ""
    mean, low, high = (share - 0.5 for share in (estimate.mean, estimate.low, estimate.high))
    return f"{mean:+.4f} ({low:+.4f} to {high:+.4f})"


def exact_advantage(rules: Duel) -> float | None:
    """Return how far seat 0's exact expected points are above 0.5; None if there is no table of exact values and none
    can be solved quickly.
    """
    table = load_mapped(rules.map, rules.max_troops, cache_folder(), rules.armies)
    if table is None and can_grade(rules):
        table = cached_table(rules.map, rules.max_troops, rules.armies)
    return None if table is None else table.value(rules.initial(NO_DICE)[0]) / 2


def main() -> None:
    presets = {preset: game for game in GAMES for preset in game.presets}
    parser = argparse.ArgumentParser()
    parser.add_argument("presets", nargs="*", metavar="PRESET", help=f"of {', '.join(presets)}; else all")
    parser.add_argument("--bot", action="append", metavar="BOT", help="else " + " and ".join(BOTS))
    parser.add_argument("--matches", type=int, default=200, help="of each bot; 0: only what is exact")
    parser.add_argument("--seed", type=int, default=0, help="the first match's; the others follow")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="of the config of every preset")
    parser.add_argument(
        "--no-luck-adjustment", action="store_true", help="leave luck in: takes half the time on the grid"
    )
    parser.add_argument("--jobs", type=int, default=1)
    told = parser.parse_args()
    changed = {key: read_value(value) for key, _, value in (word.partition("=") for word in told.set)}
    print(ROW_FORMAT.format("", "bot", "matches", "seat", "points above ½", "less luck", "s each"), flush=True)
    seeds = range(told.seed, told.seed + told.matches)
    with process_pool(told.jobs) as crew:
        for preset in told.presets or presets:
            game = presets[preset]
            config = {"preset": preset, **changed}
            rules = load_game(game.name, config)
            if isinstance(rules, Duel) and (worth := exact_advantage(rules)) is not None:
                print(ROW_FORMAT.format(preset, "exact", "", 0, f"{worth:+.4f}", "", ""), flush=True)
            for bot in (told.bot or BOTS) if told.matches else ():
                played = dict(
                    spread(crew, partial(play_row, SelfPlayRow(game.name, config, bot, told.no_luck_adjustment)), seeds)
                )
                seconds = fmean(spent for _, spent in played.values())
                for seat in range(rules.seats):
                    found = estimate_scores(
                        SideScore(came[seat], None if told.no_luck_adjustment else came[seat] - less[seat])
                        for (came, less), _ in played.values()
                    )
                    name = bot.partition("=")[0]
                    count, took = (told.matches, f"{seconds:.2f}") if seat == 0 else ("", "")
                    print(
                        ROW_FORMAT.format(
                            preset,
                            name,
                            count,
                            seat,
                            _format_estimate(found.score),
                            _format_estimate(found.adjusted),
                            took,
                        ),
                        flush=True,
                    )


if __name__ == "__main__":
    main()
