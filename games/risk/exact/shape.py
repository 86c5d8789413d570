"""The key, the size and the symmetries of an exact table of bounded Risk."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from games.risk.rules.board import Board
from games.risk.rules.duel import DEFAULT_INVASION_TROOPS, REINFORCEMENT_TROOPS, WIN_PROBABILITY
from games.risk.rules.maps import MAP_NAMES
from machine.compiled import HAS_NUMBA
from protocol.errors import UsageFault

MAX_POSITIONS_ON_DEMAND = 20_000_000
"""Maximum number of positions of a table that is solved on demand."""
MAX_STORED_BOARDS = (4 << 30) // 6
"""Maximum number of full boards (without free territories) in a table. At 6 bytes each, it takes at most 4 GiB."""
_MAX_LABELLED_TERRITORIES = 9
"""Maximum number of territories of a map that `is_solvable` numbers canonically to find out the size of its table. With
more territories, this may take practically for ever.
"""
_MAX_SYMMETRIES = 128
"""Maximum number of symmetries of a map that are used. More would cost more than they save."""
FORMAT_VERSION = 2
"""Version of the format in which a table's values are stored."""


class Shape(NamedTuple):
    """The facts that determine a table: the troop limit and the map's graph, numbered so that isomorphic maps are
    equal.
    """

    edges: tuple[tuple[int, int], ...]
    places: tuple[int, ...]
    """The canonical number of each territory, by its index on the map. `edges` uses these numbers."""
    cap: int

    @property
    def positions(self) -> int:
        return _count_positions(len(self.places), self.cap)

    @property
    def key(self) -> str:
        """The hexadecimal name of the table, unique among all tables."""
        rules = (FORMAT_VERSION, DEFAULT_INVASION_TROOPS, REINFORCEMENT_TROOPS, float(WIN_PROBABILITY))
        return hashlib.sha256(repr((rules, len(self.places), self.edges, self.cap)).encode()).hexdigest()[:32]


def small_shape_of(board: Board, max_troops: int) -> Shape:
    """Return the shape of a table to solve on demand. Raise `UsageFault` if it is too large or numba is missing."""
    count = len(board)
    check_compiled()
    if _count_positions(count, max_troops) > MAX_POSITIONS_ON_DEMAND:
        most = max(
            (
                cap
                for cap in range(DEFAULT_INVASION_TROOPS, max_troops)
                if _count_positions(count, cap) <= MAX_POSITIONS_ON_DEMAND
            ),
            default=0,
        )
        fewer = max(n for n in range(count) if _count_positions(n, max_troops) <= MAX_POSITIONS_ON_DEMAND)
        would = f"max_troops {most}" if most else f"a map of {fewer} territories or fewer"
        positions = _count_positions(count, most) if most else _count_positions(fewer, max_troops)
        once = f"run {solve_command(board, max_troops)} first, or " if is_solvable(board, max_troops) else ""
        raise UsageFault(
            f"{board.name} with {max_troops} troops is too large to solve ({count} territories, "
            f"over {MAX_POSITIONS_ON_DEMAND:,} positions): {once}use {would} "
            f"({positions:,} positions, up to 20 s per million)"
        )
    return shape_of(board, max_troops)


def shape_of(board: Board, max_troops: int) -> Shape:
    """Return the shape of a table of any size. With ten territories or more, this may take practically for ever."""
    return Shape(*_canonical_labelling(board), max_troops)


def check_compiled() -> None:
    """Raise `UsageFault` if numba is missing."""
    if not HAS_NUMBA:
        raise UsageFault("exact risk-duel needs numba: pip install numba (and unset ARENA_PLAIN)")


def is_solved_on_demand(board: Board, max_troops: int) -> bool:
    """Return whether the table of a board has so few positions that it is solved on demand."""
    return _count_positions(len(board), max_troops) <= MAX_POSITIONS_ON_DEMAND


def is_solvable(board: Board, max_troops: int) -> bool:
    """Return whether `arena-bot solve` can make the table of a board, by its size."""
    boards = int((2 * max_troops) ** len(board))
    if boards <= MAX_STORED_BOARDS:
        return True
    if len(board) > _MAX_LABELLED_TERRITORIES or boards > _MAX_SYMMETRIES * MAX_STORED_BOARDS:
        return False
    return _count_stored_boards(shape_of(board, max_troops)) <= MAX_STORED_BOARDS


def solve_command(board: Board, max_troops: int) -> str:
    """Return the command that makes the table of a board."""
    map_ = board.name if board.name in MAP_NAMES else "@FILE"
    return f"`arena-bot solve risk-duel --config map={map_} --config max_troops={max_troops}`"


def _count_positions(territories: int, cap: int) -> int:
    """Return the number of positions: each territory is free, or held by either side with 1 to `cap` troops."""
    return int((2 * cap + 1) ** territories)


@lru_cache(maxsize=64)
def _canonical_labelling(board: Board) -> tuple[tuple[tuple[int, int], ...], tuple[int, ...]]:
    """Return the borders in the canonical numbering of the territories, and the canonical number of each territory.

    The canonical numbering is the one of `_labellings` whose sorted borders are the least. The result is cached: a ring
    of nine territories takes seconds.
    """
    return min((_relabel_borders(board, places), places) for places in _labellings(board))


def _relabel_borders(board: Board, places: Sequence[int]) -> tuple[tuple[int, int], ...]:
    ends = ((places[a], places[b]) for a, b in board.borders)
    return tuple(sorted((min(pair), max(pair)) for pair in ends))


def _labellings(board: Board) -> Iterable[tuple[int, ...]]:
    """Yield every numbering of the territories that sorts them by their number of borders."""
    by_degree: dict[int, list[int]] = {}
    for territory, neighbours in enumerate(board.neighbours):
        by_degree.setdefault(len(neighbours), []).append(territory)
    groups = [itertools.permutations(group) for _, group in sorted(by_degree.items())]
    for orders in itertools.product(*groups):
        places = [0] * len(board)
        for place, territory in enumerate(itertools.chain(*orders)):
            places[territory] = place
        yield tuple(places)


def symmetries(shape: Shape) -> list[tuple[int, ...]]:
    """Return the symmetries of a map's graph that are used. They form a group, and the first is the identity.

    A symmetry lists, by a territory's number in `edges`, the number of the territory that it becomes. A group of more
    than 128 symmetries is reduced to the subgroup that leaves the first few territories unchanged.
    """
    count, edges = len(shape.places), set(shape.edges)
    found: list[tuple[int, ...]] = [()]
    for place in range(count):
        found = [
            (*image, to)
            for image in found
            for to in range(count)
            if to not in image
            and all(((k, place) in edges) == ((min(at, to), max(at, to)) in edges) for k, at in enumerate(image))
        ]
    for place in range(count):
        if len(found) > _MAX_SYMMETRIES:
            found = [image for image in found if image[place] == place]
    return found


def _count_stored_boards(shape: Shape) -> int:
    """Return the number of full boards (without free territories) that a table stores. Of the rows of boards that
    symmetries turn into each other, it stores only one. Burnside's lemma gives the number of such rows (W. Burnside,
    1897).
    """
    images = symmetries(shape)
    rows = sum(int(shape.cap ** _count_cycles(image)) for image in images) // len(images)
    return rows << len(shape.places)


def _count_cycles(image: Sequence[int]) -> int:
    left, found = set(range(len(image))), 0
    while left:
        at = left.pop()
        found += 1
        while image[at] in left:
            at = image[at]
            left.remove(at)
    return found


def apply_symmetry(holders: int, image: Sequence[int]) -> int:
    """Return the set of territories that the set `holders` becomes under the symmetry `image`. Bit k of a set stands
    for the territory at place k.
    """
    return sum((holders >> place & 1) << to for place, to in enumerate(image))
