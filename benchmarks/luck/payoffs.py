"""Measure how much of the spread of payoffs is luck: `python benchmarks/luck/payoffs.py` prints a table row per pair.

Payoffs are those of seat 0 per hand, or per expected round of a match. *factor* is the variance of payoffs divided by
the variance of adjusted payoffs. *z* is the mean luck divided by its standard error.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from itertools import count, islice
from pathlib import Path
from statistics import variance
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))

from toolkit import mean_and_error, option, read_options, z_score

from bots.playing.matches import play_all
from protocol.games import load_game

HANDS = 100
"""The number of hands in a match of poker."""
CONTINUATION_PROBABILITY = 0.95
"""The probability that a match of the dilemma goes on after a round."""
BOT_PAIRS: Sequence[tuple[str, Mapping[str, Any], Sequence[str]]] = (
    ("kuhn", {"hands": HANDS}, ("perfect", "perfect")),
    ("kuhn", {"hands": HANDS}, ("random", "perfect")),
    ("leduc", {"hands": HANDS}, ("perfect", "perfect")),
    ("leduc", {"hands": HANDS}, ("random", "perfect")),
    ("dilemma", {"rounds": 2000, "go_on": str(CONTINUATION_PROBABILITY)}, ("tit-for-tat", "pavlov")),
    ("dilemma", {"rounds": 2000, "go_on": str(CONTINUATION_PROBABILITY)}, ("generous", "random")),
    ("dilemma", {"rounds": 200, "noise": "0.05"}, ("tit-for-tat", "generous")),
    ("dilemma", {"rounds": 10, "go_on": str(CONTINUATION_PROBABILITY)}, ("generous", "random")),
    ("dilemma", {"rounds": 10, "go_on": str(CONTINUATION_PROBABILITY)}, ("always-cooperate", "random")),
    ("dilemma", {"rounds": 10, "go_on": str(CONTINUATION_PROBABILITY)}, ("always-defect", "tit-for-tat")),
    ("dilemma", {"rounds": 10, "go_on": str(CONTINUATION_PROBABILITY)}, ("grim", "random")),
)
"""The pairs of bots to measure: a game, its config and the bots on seats 0 and 1."""


def main() -> None:
    options = read_options(
        __doc__,
        matches=option(100, "of each pair"),
        only=option("", "of games whose config has this, as `'rounds': 10`"),
    )
    print("| game | seat 0, seat 1 | payoff | less luck | factor | z |\n|---|---|---|---|---|---|")
    for game, config, bots in BOT_PAIRS:
        if options.only in f"{game} {config}":
            print(make_row(game, config, bots, options.matches), flush=True)


def make_row(game: str, config: Mapping[str, Any], bots: Sequence[str], matches: int) -> str:
    units = HANDS
    if game == "dilemma":
        units = (
            (1 - CONTINUATION_PROBABILITY ** config["rounds"]) / (1 - CONTINUATION_PROBABILITY)
            if "go_on" in config
            else config["rounds"]
        )
    rules = load_game(game, config)
    paid, lucks = [], []
    for played in islice(play_all(bots, game, map(str, count()), config=config), matches):
        payoffs = rules.returns(played.states[-1])
        assert payoffs is not None
        paid.append(payoffs[0] / units)
        lucks.append(played.luck().total[0] / units)
    less = [result - luck for result, luck in zip(paid, lucks, strict=True)]
    what = ", ".join(f"`{key}` {value}" for key, value in config.items() if key != "hands")
    factor = "all" if variance(less) < 1e-12 else f"{variance(paid) / variance(less):.2g}"
    return (
        f"| {game}{what and ', '}{what} | {', '.join(bots)} | {_format_mean(paid)} | {_format_mean(less)} | "
        f"{factor} | {z_score(lucks):+.1f} |"
    )


def _format_mean(values: Sequence[float]) -> str:
    mean, error = mean_and_error(values)
    return f"{mean:.3f} ± {error:.3f}"


if __name__ == "__main__":
    main()
