"""What an exact table of bounded Risk depends on, how large it is, and the symmetries of its map's graph."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from machine.compiled import FAST
from protocol.errors import UsageFault
from protocol.games.risk.board import Board
from protocol.games.risk.duel import ARMY, REINFORCEMENT, TAKEN
from protocol.games.risk.maps import NAMES

MOST_POSITIONS = 20_000_000
"""Of a table that is solved by the way."""
MOST_BOARDS = (4 << 30) // 6
"""Full boards that are kept of a table that is solved at all: 6 bytes each are 4 GiB."""
_MOST_ORDERED = 9
"""Territories of a map whose symmetries are looked for to see whether a table is small enough."""
_MOST_SYMMETRIES = 128
"""A larger group costs more than it saves."""
FORMAT = 2
"""Of the values; another number for another meaning of their bytes."""


class Shape(NamedTuple):
    """What a table depends on: the graph, relabelled so that equal maps are the same, and the cap."""

    edges: tuple[tuple[int, int], ...]
    places: tuple[int, ...]
    """By territory, its number in `edges`."""
    cap: int

    @property
    def positions(self) -> int:
        return _count(len(self.places), self.cap)

    @property
    def key(self) -> str:
        """The name of the table among all tables, in hexadecimal."""
        rules = (FORMAT, ARMY, REINFORCEMENT, float(TAKEN))
        return hashlib.sha256(repr((rules, len(self.places), self.edges, self.cap)).encode()).hexdigest()[:32]


def shape_of(board: Board, max_troops: int) -> Shape:
    """What the table of `board` depends on. Raises `UsageFault` where that would be too large to be solved by the way,
    or where nothing is compiled.
    """
    count = len(board)
    check_compiled()
    if _count(count, max_troops) > MOST_POSITIONS:
        most = max((cap for cap in range(ARMY, max_troops) if _count(count, cap) <= MOST_POSITIONS), default=0)
        fewer = max(n for n in range(count) if _count(n, max_troops) <= MOST_POSITIONS)
        would = f"max_troops {most}" if most else f"a map of {fewer} territories or fewer"
        positions = _count(count, most) if most else _count(fewer, max_troops)
        once = f"{solving(board, max_troops)} makes its table, once; " if is_solvable(board, max_troops) else ""
        raise UsageFault(
            f"{board.name} with {max_troops} troops is too large to solve ({count} territories, "
            f"over {MOST_POSITIONS:,} positions): {once}{would} would do "
            f"({positions:,} positions, up to some 20 s a million)"
        )
    return large_shape_of(board, max_troops)


def large_shape_of(board: Board, max_troops: int) -> Shape:
    """The same for a table of any size; a map of ten territories or more may take for ever."""
    return Shape(*_least_labelling(board), max_troops)


def check_compiled() -> None:
    """Raises `UsageFault` where nothing is."""
    if not FAST:
        raise UsageFault("exact risk-duel needs numba: pip install numba (and no ARENA_PLAIN)")


def is_small(board: Board, max_troops: int) -> bool:
    """Whether its table is solved by the way; told without looking at the graph."""
    return _count(len(board), max_troops) <= MOST_POSITIONS


def is_solvable(board: Board, max_troops: int) -> bool:
    """Whether `arena-bot solve` takes it."""
    boards = int((2 * max_troops) ** len(board))
    if boards <= MOST_BOARDS:
        return True
    if len(board) > _MOST_ORDERED or boards > _MOST_SYMMETRIES * MOST_BOARDS:
        return False
    return _kept(large_shape_of(board, max_troops)) <= MOST_BOARDS


def solving(board: Board, max_troops: int) -> str:
    """The command that makes its table."""
    map_ = board.name if board.name in NAMES else "@FILE"
    return f"`arena-bot solve risk-duel --config map={map_} --config max_troops={max_troops}`"


def _count(territories: int, cap: int) -> int:
    """Each is free, or held by either side with 1 to `cap` troops."""
    return int((2 * cap + 1) ** territories)


@lru_cache(maxsize=64)
def _least_labelling(board: Board) -> tuple[tuple[tuple[int, int], ...], tuple[int, ...]]:
    """The borders and places of the labelling in which the borders come first. A ring of nine takes seconds, and who
    grades matches asks for every one of them.
    """
    return min((_relabelled(board, places), places) for places in _labellings(board))


def _relabelled(board: Board, places: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """The borders of `board` with other numbers for its territories, in ascending order."""
    ends = ((places[a], places[b]) for a, b in board.borders)
    return tuple(sorted((min(pair), max(pair)) for pair in ends))


def _labellings(board: Board) -> Iterable[tuple[int, ...]]:
    """Every numbering of the territories in which more borders come later."""
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
    """A group of renumberings that lead borders to borders, each by place the new one; the first changes nothing.

    They are all there are up to 128. Of more, those that leave the first few places as they are.
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
        if len(found) > _MOST_SYMMETRIES:
            found = [image for image in found if image[place] == place]
    return found


def _kept(shape: Shape) -> int:
    """Full boards of which no symmetry makes others that are kept (W. Burnside, 1897)."""
    images = symmetries(shape)
    rows = sum(int(shape.cap ** _cycles(image)) for image in images) // len(images)
    return rows << len(shape.places)


def _cycles(image: Sequence[int]) -> int:
    """Of how many circles a renumbering consists."""
    left, found = set(range(len(image))), 0
    while left:
        at = left.pop()
        found += 1
        while image[at] in left:
            at = image[at]
            left.remove(at)
    return found


def turned(holders: int, image: Sequence[int]) -> int:
    """Who holds the territories after a symmetry; bit k of a number of holders is set where k is the mover's."""
    return sum((holders >> place & 1) << to for place, to in enumerate(image))
