"""Nodes, seconds and nodes a second of every search, on tic-tac-toe and nim, and the ratios to minimax.

`python benchmarks/search.py`
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bots.comparison import Comparison, compare_searches
from bots.evaluation import evaluation
from bots.search import ENDLESS
from protocol.games import load
from protocol.games.base import NO_DICE

POSITIONS: tuple[tuple[str, Mapping[str, Any], int | None], ...] = (
    ("tictactoe", {}, None),
    ("nim", {"heaps": [2, 3, 4]}, None),
    ("nim", {"preset": "classic"}, 5),
    ("nim", {"preset": "min-nim"}, 5),
    ("grundy", {"heaps": [16]}, None),
)
ROW = "{:<16}{:>10}{:>10}{:>10}{:>11}{:>9}{:>9}"


def main() -> None:
    for game, config, depth in POSITIONS:
        rules = load(game, config)
        comparison = compare_searches(rules, rules.initial(NO_DICE)[0], depth, evaluation(game))
        asked = "whole game" if comparison.depth == ENDLESS else f"{comparison.depth} plies"
        print(f"\n{game} {rules.config}, {asked}")
        report(comparison)


def report(comparison: Comparison) -> None:
    """One line a search; the ratios are minimax's nodes and seconds over the search's own."""
    print(ROW.format("algorithm", "nodes", "leaves", "seconds", "nodes/s", "fewer", "faster"))
    first = comparison.searches[0]
    for search in comparison.searches:
        seconds = max(search.seconds, 1e-6)
        print(
            ROW.format(
                search.algorithm,
                search.nodes,
                search.leaves,
                f"{seconds:.3f}",
                f"{search.nodes / seconds:.0f}",
                f"{first.nodes / search.nodes:.1f}x",
                f"{first.seconds / seconds:.1f}x",
            )
        )


if __name__ == "__main__":
    main()
