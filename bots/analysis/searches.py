"""A comparison of all searches on one position: the nodes that each search visited and the value that it found."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple

from msgspec import Struct

from bots.evaluation.base import Evaluate
from bots.search import (
    MAX_DEPTH,
    Labelling,
    SearchLimit,
    SearchResult,
    TranspositionTable,
    alphabeta,
    deepen,
    expectiminimax,
    label_root,
    minimax,
    negamax,
    star1,
)
from bots.search.base import DEFAULT_MAX_DEPTH, list_outcomes
from protocol.games.base import Game

MAX_NODES = 600_000
"""The maximum number of nodes of the tree that `compare_searches` searches if no depth is given."""


class SearchRun(Struct, frozen=True):
    """One search of a comparison. `value` is the position's value for the seat to move, as in `SearchResult`. The
    search named `status` gives 1, 0 or −1. `leaves` counts visited positions that were terminal or at the horizon. A
    position whose value comes from a table is a node but no leaf.
    """

    algorithm: str
    nodes: int
    leaves: int
    value: float
    seconds: float


class SearchComparison(Struct, frozen=True):
    """All searches of one position to one depth, beginning with minimax, or expectiminimax if there is chance."""

    depth: int
    """The requested depth in plies; `MAX_DEPTH` means the whole game."""
    plies: int
    """The depth of the tree searched, in plies."""
    searches: list[SearchRun]

    def node_ratio(self, search: SearchRun) -> float:
        """Return the number of nodes of a search divided by that of the first search."""
        return search.nodes / self.searches[0].nodes

    def branching_factor(self, search: SearchRun) -> float:
        """Return the effective branching factor b: the search visited 1 + b + … + b^plies nodes."""
        low, high = 0.0, float(search.nodes ** (1 / self.plies))
        for _ in range(100):
            middle = (low + high) / 2
            if sum(middle**ply for ply in range(self.plies + 1)) < search.nodes:
                low = middle
            else:
                high = middle
        return high


Search = Callable[..., "SearchResult[Any] | Labelling[Any]"]

SEARCHES: Mapping[str, Search] = {
    "minimax": minimax,
    "negamax": negamax,
    "expectiminimax": expectiminimax,
    "alphabeta": alphabeta,
    "star1": star1,
    "alphabeta+table": alphabeta,
    "star1+table": star1,
}
"""The searches to compare, by the name in the results."""
CHANCELESS_SEARCHES = ("minimax", "negamax", "alphabeta", "alphabeta+table")
"""The names of the searches that cannot search a game with chance."""


def compare_searches(rules: Game[Any, Any], root: Any, depth: int | None, evaluate: Evaluate) -> SearchComparison:
    """Run every search on `root`, `depth` plies deep. Without a depth, search the whole game. If its tree has more than
    `MAX_NODES` nodes, search down to the first level with which the tree exceeds that number.
    """
    extent = measure_extent(
        rules, root, DEFAULT_MAX_DEPTH if depth is None else depth, MAX_DEPTH if depth else MAX_NODES
    )
    asked = MAX_DEPTH if extent.is_complete else extent.plies
    searches = []
    for name, search in SEARCHES.items():
        if not extent.has_chance or name not in CHANCELESS_SEARCHES:
            table = {"table": TranspositionTable(max_entries=MAX_NODES)} if name.endswith("+table") else {}
            searches.append(_time_search(name, search, rules, root, depth=asked, evaluate=evaluate, **table))
    options = {"limit": SearchLimit(), "evaluate": evaluate, "table": TranspositionTable(max_entries=MAX_NODES)}
    searches.append(_time_search("deepening", deepen, rules, root, star1, max_depth=extent.plies, **options))
    if extent.is_complete and not extent.has_chance:
        searches.append(_time_search("status", label_root, rules, root))
    return SearchComparison(asked, extent.plies, searches)


def _time_search(name: str, search: Search, *given: Any, **options: Any) -> SearchRun:
    before = time.perf_counter()
    found = search(*given, **options)
    return SearchRun(name, found.nodes, found.leaves, float(found.value), round(time.perf_counter() - before, 6))


class TreeExtent(NamedTuple):
    """The extent of a game tree, or of the part of it that was counted. `plies` is the depth."""

    plies: int
    is_complete: bool
    """True if every path from the root ends within `plies`."""
    has_chance: bool
    """True if some move has several outcomes."""


def measure_extent(rules: Game[Any, Any], root: Any, plies: int, max_nodes: int) -> TreeExtent:
    """Count the nodes of a tree level by level, until `plies` levels are counted or there are more than `max_nodes`.

    Equal positions of a level are expanded once and counted as often as there are paths to them.
    """
    level: dict[Hashable, tuple[Any, int]] = {rules.key(root): (root, 1)}
    nodes, chance = 1, False
    for ply in range(plies + 1):
        following: dict[Hashable, tuple[Any, int]] = {}
        for state, ways in level.values():
            for move in rules.legal_moves(state) if rules.to_move(state) is not None else ():
                outcomes = list_outcomes(rules, state, move)
                chance = chance or len(outcomes) > 1
                for _, result in outcomes:
                    key = rules.key(result)
                    following[key] = (result, following.get(key, (result, 0))[1] + ways)
        nodes += sum(ways for _, ways in following.values())
        if not following:
            return TreeExtent(max(ply, 1), True, chance)
        if ply == plies or nodes > max_nodes:
            return TreeExtent(max(ply, 1), False, chance)
        level = following
    raise AssertionError("the last round always returns")
