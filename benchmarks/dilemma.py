"""Rank the reference bots in the repeated prisoner's dilemma by their mean payoff per round against each other bot.

Every opponent has the same weight. The program prints a table for docs/theory.md.

    python benchmarks/dilemma.py
    python benchmarks/dilemma.py --set noise=0.05
    python benchmarks/dilemma.py --preset open-end
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from itertools import combinations
from statistics import fmean, variance
from typing import Any

from bots import play_all
from bots.client.settings import read_config

BOTS = ("always-cooperate", "always-defect", "extort", "generous", "grim", "pavlov", "random", "tit-for-tat")
"""The reference bots to compare."""
Scores = dict[tuple[str, str], list[float]]
"""The type of results: a bot's mean payoff per round in each match against an opponent, by (bot, opponent)."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--preset", default="axelrod")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a config key of the game")
    parser.add_argument("--matches", type=int, default=10, help="of each pair, in turn from either seat")
    parser.add_argument("--bots", nargs="+", default=BOTS, choices=BOTS, metavar="BOT", help="those alone")
    args = parser.parse_args()
    print(make_table(args.bots, play_pairs(args.bots, read_config(args.set, args.preset), args.matches)))


def play_pairs(bots: Sequence[str], config: dict[str, Any] | None, matches: int) -> Scores:
    found: Scores = {(one, two): [] for one in bots for two in bots if one != two}
    for one, two in combinations(bots, 2):
        for seated in ((one, two), (two, one)):
            seeds = range(seated[0] == two, matches, 2)
            for played in play_all(seated, "dilemma", seeds, config=config):
                last = played.states[-1]
                for seat in (0, 1):
                    found[seated[seat], seated[1 - seat]].append(last.payoffs[seat] / last.at)
    return found


def make_table(bots: Sequence[str], found: Scores) -> str:
    """Return a Markdown table of the bots' mean payoffs, overall with a 95 % interval, and for each opponent."""
    means = {bot: fmean(fmean(found[bot, other]) for other in bots if other != bot) for bot in bots}
    order = sorted(bots, key=lambda bot: -means[bot])
    lines = [
        f"| | bot | payoff a round | {' | '.join(str(number + 1) for number in range(len(bots)))} |",
        f"|---|---|---|{'---|' * len(bots)}",
    ]
    for number, bot in enumerate(order, start=1):
        against = ["" if other == bot else f"{fmean(found[bot, other]):.2f}" for other in order]
        spread = _half_interval([found[bot, other] for other in bots if other != bot])
        lines.append(f"| {number} | `{bot}` | {means[bot]:.2f} ± {spread:.2f} | {' | '.join(against)} |")
    return "\n".join(lines)


def _half_interval(opponents: list[list[float]]) -> float:
    """Return half the width of the 95 % interval of a bot's mean payoff over its opponents."""
    squares = sum(variance(matches) / len(matches) for matches in opponents if len(matches) > 1)
    return 1.96 * math.sqrt(squares) / len(opponents)


if __name__ == "__main__":
    main()
