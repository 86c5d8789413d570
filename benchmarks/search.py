"""Measure the nodes, time and speed of every search on tic-tac-toe, nim and grundy, relative to minimax.

Then compare three searches of bounded Risk on the map of Africa: the kernel with numba, the kernel as plain Python, and
the generic search.

`python benchmarks/search.py`
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from toolkit import run_plain

from bots.analysis.searches import SearchComparison, SearchRun, compare_searches
from bots.evaluation import load_evaluation
from bots.search import MAX_DEPTH, SearchLimit, expectiminimax
from games.risk.rules.duel import Duel, Position
from games.risk.search.duel_search import DuelSearch
from machine.compiled import HAS_NUMBA
from protocol.games import load_game
from protocol.games.base import NO_DICE

POSITIONS: tuple[tuple[str, Mapping[str, Any], int | None], ...] = (
    ("tictactoe", {}, None),
    ("nim", {"heaps": [2, 3, 4]}, None),
    ("nim", {"preset": "classic"}, 5),
    ("nim", {"preset": "min-nim"}, 5),
    ("grundy", {"heaps": [16]}, None),
)
"""The searched positions: a game and its config, which determine the first position, and the depth of the search (None:
the whole game).
"""
ROW_FORMAT = "{:<16}{:>10}{:>10}{:>10}{:>11}{:>9}{:>9}"
"""The format of a row of the table that compares the searches of all games."""
AFRICA = Duel({"map": "africa"})
"""The rules of bounded Risk on the map of Africa."""
PLY_COUNTS = (0, 8, 10, 12, 14, 16, 18, 20)
"""Nodes are counted in positions of Risk after these numbers of random plies."""
SPEED_TEST_PLIES = (8, 12)
"""Speed is measured in positions of Risk after these numbers of random plies."""
DEPTH_PLIES = 6
"""The depth in plies of the searches of Risk whose visited nodes are counted."""
MIN_MEASURED_S = 1.0
"""Minimum seconds per measurement, in processor time, so that other load matters little."""
RISK_ROW_FORMAT = "{:<12}{:<34}{:>14}{:>9}"
"""The format of a row of the table of speeds in Risk."""
SHARE_ROW_FORMAT = "{:>6}{:>18}{:>12}{:>8}{:>16}{:>12}{:>8}{:>10}{:>11}"
"""The format of a row of the table of visited nodes in Risk."""


class SearchSpeed(NamedTuple):
    nodes: int
    seconds: float

    @property
    def rate(self) -> float:
        return self.nodes / self.seconds


def main() -> None:
    if sys.argv[1:] == ["speeds"]:
        print(json.dumps({name: measure_kernel(name, 4) for name in ("features", "none")}))
        return
    compare_all()
    print("\nrisk-duel on africa, expectiminimax without a table")
    print_risk_speeds()
    print(f"\nrisk-duel on africa, {DEPTH_PLIES} plies deep, from positions after as many random plies")
    print_risk_shares()


def compare_all() -> None:
    for game, config, depth in POSITIONS:
        rules = load_game(game, config)
        comparison = compare_searches(rules, rules.initial(NO_DICE)[0], depth, load_evaluation(game))
        asked = "whole game" if comparison.depth == MAX_DEPTH else f"{comparison.depth} plies"
        print(f"\n{game} {rules.config}, {asked}")
        report(comparison)


def report(comparison: SearchComparison) -> None:
    """Print a line for each search. Its ratios are the nodes and seconds of minimax divided by those of the search."""
    print(ROW_FORMAT.format("algorithm", "nodes", "leaves", "seconds", "nodes/s", "fewer", "faster"))
    first = comparison.searches[0]
    for search in comparison.searches:
        seconds = max(search.seconds, 1e-6)
        print(
            ROW_FORMAT.format(
                search.algorithm,
                search.nodes,
                search.leaves,
                f"{seconds:.3f}",
                f"{search.nodes / seconds:.0f}",
                f"{first.nodes / search.nodes:.1f}x",
                f"{first.seconds / seconds:.1f}x",
            )
        )


def print_risk_speeds() -> None:
    """Print the nodes per second of each search of Risk, for each evaluation, with ratios to the generic search."""
    print(RISK_ROW_FORMAT.format("evaluation", "search", "nodes/s", "faster"))
    for name, (nodes, seconds) in run_plain("speeds").items():
        generic = measure_generic(name)
        rows = {"generic": generic, "kernel, plain Python": SearchSpeed(nodes, seconds)}
        if HAS_NUMBA:
            rows["kernel, numba"] = measure_kernel(name, 7)
        for search, speed in rows.items():
            print(RISK_ROW_FORMAT.format(name, search, f"{speed.rate:,.0f}", f"{speed.rate / generic.rate:.1f}x"))


def measure_kernel(name: str, depth: int) -> SearchSpeed:
    kernel = DuelSearch(AFRICA)
    kernel.warm_up()
    positions = [make_risk_position(plies) for plies in SPEED_TEST_PLIES]
    nodes, begin = 0, time.process_time()
    while time.process_time() < begin + MIN_MEASURED_S:
        for position in positions:
            options: dict[str, Any] = {"algorithm": "expectiminimax", "evaluation": name}
            nodes += kernel.search(position, depth=depth, limit=SearchLimit(), **options).nodes
    return SearchSpeed(nodes, time.process_time() - begin)


def measure_generic(name: str) -> SearchSpeed:
    positions = [make_risk_position(plies) for plies in SPEED_TEST_PLIES]
    nodes, begin = 0, time.process_time()
    while time.process_time() < begin + MIN_MEASURED_S:
        for position in positions:
            nodes += expectiminimax(AFRICA, position, depth=3, evaluate=load_evaluation("risk-duel", name)).nodes
    return SearchSpeed(nodes, time.process_time() - begin)


def make_risk_position(plies: int) -> Position:
    """Return an unfinished position of Risk after a number of random plies. It is the same at every call."""
    rng = random.Random(plies)
    while True:
        position = AFRICA.initial(NO_DICE)[0]
        while position.at < plies and AFRICA.to_move(position) is not None:
            results = AFRICA.outcomes(position, rng.choice(AFRICA.legal_moves(position)))
            chances = [float(chance) for chance, _ in results]
            position = rng.choices([result for _, result in results], chances)[0]
        if AFRICA.to_move(position) is not None:
            return position


def print_risk_shares() -> None:
    """Print how many nodes two searches of Risk visit at `DEPTH_PLIES` plies, and at all depths up to this one.

    Two columns are branching factors of the full search: `children` is the mean number of an inner node's children, and
    `effective` the number of children in a regular tree with as many nodes.
    """
    bound = len(AFRICA.map) + len(AFRICA.map.borders)
    print(f"the paper of 2014 bounds the branching by territories + borders: {bound}")
    print(
        SHARE_ROW_FORMAT.format(
            "plies", "expectiminimax", "alphabeta", "share", "all depths", "alphabeta", "share", "children", "effective"
        )
    )
    kernel = DuelSearch(AFRICA)
    totals = [0, 0, 0, 0]
    for plies in PLY_COUNTS:
        position = make_risk_position(plies)
        found = {
            (algorithm, depth): kernel.search(position, depth=depth, algorithm=algorithm, limit=SearchLimit())
            for algorithm in ("expectiminimax", "alphabeta")
            for depth in (DEPTH_PLIES - 1, DEPTH_PLIES)
        }
        plain, pruned = (found[algorithm, DEPTH_PLIES] for algorithm in ("expectiminimax", "alphabeta"))
        before, before_pruned = (found[algorithm, DEPTH_PLIES - 1] for algorithm in ("expectiminimax", "alphabeta"))
        nodes, leaves = plain.nodes - before.nodes, plain.leaves - before.leaves
        counts = [nodes, pruned.nodes - before_pruned.nodes, plain.nodes, pruned.nodes]
        totals = [total + count for total, count in zip(totals, counts, strict=True)]
        effective = SearchComparison(
            DEPTH_PLIES, DEPTH_PLIES, [SearchRun("expectiminimax", nodes, leaves, plain.value, 0.0)]
        )
        branching = effective.branching_factor(effective.searches[0])
        print_shares(str(plies), counts, f"{(nodes - 1) / (nodes - leaves):.1f}", f"{branching:.1f}")
    print_shares("all", totals, "", "")


def print_shares(label: str, counts: list[int], children: str, effective: str) -> None:
    alone, pruned, all_depths, all_pruned = counts
    shares = f"{pruned / alone:.3f}", f"{all_pruned / all_depths:.3f}"
    print(
        SHARE_ROW_FORMAT.format(label, alone, pruned, shares[0], all_depths, all_pruned, shares[1], children, effective)
    )


if __name__ == "__main__":
    main()
