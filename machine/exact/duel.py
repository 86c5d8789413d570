"""Exact bounded Risk on small maps: the expected result of every position and move, where no ply limit ends the game.

Values are iterated until they stand (L. S. Shapley, Stochastic games, 1953), and kept on disk.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from machine.cache import cache_folder
from machine.compiled import FAST, compiled, entry, ints, zeros
from protocol.errors import UsageFault
from protocol.games.risk.board import Board
from protocol.games.risk.duel import ARMY, FREE, REINFORCEMENT, TAKEN, Action, Duel, Position

MOST_POSITIONS = 20_000_000
CLOSE = 1e-10
"""The largest change of a value in the last sweep; values are then right to 1e-9, as far as tried."""
EQUAL = 1e-7
"""Moves whose values differ by less are equally good."""
FORMAT = 1
"""Of the files; another number for another meaning of their bytes."""
_TAKEN = float(TAKEN)
_NO_MOVE = 2.0
"""Worse than any result."""


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
        rules = (FORMAT, ARMY, REINFORCEMENT, _TAKEN)
        return hashlib.sha256(repr((rules, len(self.places), self.edges, self.cap)).encode()).hexdigest()[:32]


class Table:
    """The solution of one map and cap. A value is the expected result of the seat to move: win 1, loss −1.

    It ignores `max_plies`: without a limit every game ends, whatever is played, with probability 1.
    """

    def __init__(self, board: Board, shape: Shape, values: Any, sweeps: int) -> None:
        self.sweeps = sweeps
        self.positions = shape.positions
        self._rules = Duel({"map": board.wire, "max_troops": shape.cap})
        self._cap = shape.cap
        self._weights = [(2 * shape.cap + 1) ** place for place in shape.places]
        self._values = values

    def value(self, position: Position) -> float:
        """What `position` is worth to the seat whose turn it is. Raises `ValueError` for one of another map or cap."""
        return float(self._values[self._index(position)])

    def move_values(self, position: Position) -> list[tuple[Action, float]]:
        """The expected result of each legal move for the mover, best play following; none where the game is over."""
        open_ended = position._replace(at=0)
        return [
            (move, -sum(float(chance) * self.value(after) for chance, after in self._rules.outcomes(open_ended, move)))
            for move in self._rules.legal_moves(open_ended)
        ]

    def best_moves(self, position: Position) -> list[Action]:
        """The legal moves that nothing beats, in the order of the rules."""
        valued = self.move_values(position)
        best = max((value for _, value in valued), default=0.0)
        return [move for move, value in valued if value > best - EQUAL]

    @property
    def start(self) -> tuple[float, float]:
        """By seat, the expected result of a game from the empty board; in paired matches they cancel out."""
        count = len(self._weights)
        value = self.value(Position((FREE,) * count, (0,) * count, 0, 0))
        return value, -value

    def _index(self, position: Position) -> int:
        count = len(self._weights)
        if len(position.owner) != count or max(position.troops) > self._cap:
            raise ValueError(f"a table of {count} territories and {self._cap} troops has no {position}")
        rows = zip(position.owner, position.troops, self._weights, strict=True)
        return sum(
            (troops if owner == position.seat else self._cap + troops) * weight
            for owner, troops, weight in rows
            if owner != FREE
        )


def solve(board: Board, max_troops: int) -> Table:
    """The table of `board`. Raises `UsageFault` where it would be too large, or where nothing is compiled."""
    shape = shape_of(board, max_troops)
    return Table(board, shape, *_solve(shape))


def load_or_solve(board: Board, max_troops: int, folder: Path | None = None) -> Table:
    """As `solve`, from a file in `folder` (else `cache_folder`) where there is one, else leaving one there."""
    shape = shape_of(board, max_troops)
    path = (cache_folder() if folder is None else folder) / f"duel-{shape.key}"
    found = _read(path, shape)
    if found is None:
        found = _solve(shape)
        _write(path, shape, *found)
    return Table(board, shape, *found)


def shape_of(board: Board, max_troops: int) -> Shape:
    """What the table of `board` depends on. Raises `UsageFault` as `solve` does."""
    count = len(board)
    if not FAST:
        raise UsageFault("exact risk-duel needs numba: pip install numba (and no ARENA_PLAIN)")
    if _count(count, max_troops) > MOST_POSITIONS:
        most = max((cap for cap in range(ARMY, max_troops) if _count(count, cap) <= MOST_POSITIONS), default=0)
        fewer = max(n for n in range(count) if _count(n, max_troops) <= MOST_POSITIONS)
        would = f"max_troops {most}" if most else f"a map of {fewer} territories or fewer"
        positions = _count(count, most) if most else _count(fewer, max_troops)
        raise UsageFault(
            f"{board.name} with {max_troops} troops is too large to solve ({count} territories, "
            f"over {MOST_POSITIONS:,} positions): {would} would do "
            f"({positions:,} positions, up to some 20 s a million)"
        )
    edges, places = min((_relabelled(board, places), places) for places in _labellings(board))
    return Shape(edges, places, max_troops)


def _count(territories: int, cap: int) -> int:
    """Each is free, or held by either side with 1 to `cap` troops."""
    return int((2 * cap + 1) ** territories)


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


def _solve(shape: Shape) -> tuple[Any, int]:
    """The values by index, as 64-bit floats, and the number of sweeps it took."""
    count = len(shape.places)
    near: list[list[int]] = [[] for _ in range(count)]
    for a, b in shape.edges:
        near[a].append(b)
        near[b].append(a)
    first = ints(itertools.accumulate(map(len, near), initial=0))
    weights = ints((2 * shape.cap + 1) ** place for place in range(count))
    ends = ints(itertools.chain(*near))
    values, digits = zeros(shape.positions, float), zeros(count)
    sweeps, change = 0, 1.0
    while change > CLOSE:
        change = _sweep(values, shape.cap, weights, ends, first, digits)
        sweeps += 1
    return values, sweeps


# A position is a number whose digit k, in base 2 cap + 1, is territory k: 0 free, 1 to cap the mover's troops, above it
# cap plus the other's. `other` is the same position with the sides exchanged, which is how the opponent meets it.


@entry
def _sweep(values: Any, cap: int, weights: Any, near: Any, first: Any, digits: Any) -> float:
    """Value every position anew from the values so far, in place; the largest change. `digits` begin and end at 0."""
    count = len(weights)
    worst = 0.0
    for position in range(len(values)):
        other = 0
        free = 0
        own = 0
        for k in range(count):
            digit = digits[k]
            if digit == 0:
                free += 1
            elif digit <= cap:
                own += 1
                other += (digit + cap) * weights[k]
            else:
                other += (digit - cap) * weights[k]
        if own == count:
            least = -1.0
        elif own + free == 0:
            least = 1.0
        elif free:
            least = _invade(values, other, cap, weights, digits)
        else:
            least = min(
                _reinforce(values, other, cap, weights, digits),
                _attack(values, other, cap, weights, digits, near, first),
            )
        worst = max(worst, abs(values[position] + least))
        values[position] = -least
        k = 0
        while k < count and digits[k] == 2 * cap:
            digits[k] = 0
            k += 1
        if k < count:
            digits[k] += 1
    return worst


@compiled
def _invade(values: Any, other: int, cap: int, weights: Any, digits: Any) -> float:
    """The least that an invasion leaves the opponent."""
    least = _NO_MOVE
    for k in range(len(weights)):
        if digits[k] == 0:
            least = min(least, values[other + (cap + ARMY) * weights[k]])
    return least


@compiled
def _reinforce(values: Any, other: int, cap: int, weights: Any, digits: Any) -> float:
    """The least that a reinforcement leaves the opponent."""
    least = _NO_MOVE
    for k in range(len(weights)):
        if digits[k] < cap:
            least = min(least, values[other + min(REINFORCEMENT, cap - digits[k]) * weights[k]])
    return least


@compiled
def _attack(values: Any, other: int, cap: int, weights: Any, digits: Any, near: Any, first: Any) -> float:
    """The least that an attack is expected to leave the opponent."""
    least = _NO_MOVE
    for source in range(len(weights)):
        strength = digits[source]
        if strength > cap:
            continue
        for edge in range(first[source], first[source + 1]):
            to = near[edge]
            defence = digits[to] - cap
            if 0 < defence <= strength:
                lost = defence if strength > defence else cap + strength
                taken = values[other + (cap + 1 - defence) * weights[to]]
                repelled = values[other - lost * weights[source]]
                least = min(least, _TAKEN * taken + (1 - _TAKEN) * repelled)
    return least


def _read(path: Path, shape: Shape) -> tuple[Any, int] | None:
    """What `_write` left there; None where that is not what there is."""
    import numpy

    try:
        with path.open("rb") as file:
            head, body = file.readline().rstrip(b"\n"), file.read()
    except OSError:
        return None
    fields = head.split(b" ")
    if len(fields) != 3 or fields[0] != shape.key.encode() or not fields[1].isdigit():
        return None
    if fields[2] != hashlib.sha256(body).hexdigest().encode():
        return None
    return numpy.frombuffer(body, "<f8"), int(fields[1])


def _write(path: Path, shape: Shape, values: Any, sweeps: int) -> None:
    """A line of key, sweeps and checksum, then the values; where the folder cannot be written, nothing."""
    body = values.astype("<f8").tobytes()
    head = f"{shape.key} {sweeps} {hashlib.sha256(body).hexdigest()}\n".encode()
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name, delete=False) as file:
            try:
                file.write(head)
                file.write(body)
                file.close()
                os.replace(file.name, path)
            except OSError:
                os.unlink(file.name)
                raise
