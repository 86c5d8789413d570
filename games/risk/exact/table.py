"""Exact bounded Risk on small maps: tables of the expected result of every position, without the ply limit."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from games.risk.exact.file import MappedValues, place_of
from games.risk.exact.shape import Shape, check_compiled, is_solvable, is_solved_on_demand, shape_of, small_shape_of
from games.risk.rules.board import Board
from games.risk.rules.duel import NO_OWNER, Action, Duel, Position
from machine.atomic_write import replacing_file
from machine.cache import cache_folder, make_room
from machine.compiled import HAS_NUMBA
from machine.exact.graders import Grader, MoveGrade
from protocol.errors import UsageFault


def may_need_solving(config: Mapping[str, Any]) -> bool:
    """Return whether a config's table may have to be solved: no preset has its map and troop limit."""
    presets = (Duel({"preset": preset}).config for preset in Duel.presets)
    return all((config.get("map"), config.get("max_troops")) != (one["map"], one["max_troops"]) for one in presets)


def read_values(path: Path, key: str) -> tuple[Any, int] | None:
    """Read a file that `write_values` wrote. Return the values (64-bit floats) and the number of sweeps that solved
    them; None if the file is missing or invalid.
    """
    import numpy

    try:
        with path.open("rb") as file:
            head, body = file.readline().rstrip(b"\n").split(b" "), file.read()
    except OSError:
        return None
    known = [key.encode(), hashlib.sha256(body).hexdigest().encode()]
    if len(head) != 3 or head[::2] != known or not head[1].isdigit():
        return None
    return numpy.frombuffer(body, "<f8"), int(head[1])


def write_values(path: Path, key: str, values: Any, sweeps: int) -> None:
    """Write a file of values: a line with the key, the number of sweeps and a checksum, then the values. Do nothing if
    the folder is not writable.
    """
    body = values.astype("<f8").tobytes()
    head = f"{key} {sweeps} {hashlib.sha256(body).hexdigest()}\n".encode()
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing_file(path) as there, there.open("wb") as file:
            file.write(head)
            file.write(body)


_MIN_TOLERANCE = 1e-7
"""The minimum of `value_tolerance`: moves whose values differ by less count as equally good, even if values are exact.
"""


def value_tolerance(error: float) -> float:
    """Return the difference up to which moves count as equally good, if each value is off by at most `error`."""
    return max(_MIN_TOLERANCE, 2 * error)


class FlatValues:
    """The values of a table in memory, by the index of the position (see `Table.arrays`)."""

    error = 1e-9
    """The maximum error of a value, as measured by tests."""

    def __init__(self, shape: Shape, values: Any, sweeps: int) -> None:
        self.sweeps = sweeps
        self._weights = [(2 * shape.cap + 1) ** place for place in range(len(shape.places))]
        self._values = values

    def value_at(self, digits: Sequence[int]) -> float:
        """Return the value, for the seat to move, of a position. `digits` has the owner and the troops of each
        territory as one number, as in `MappedValues.value_at`.
        """
        return float(self._values[sum(digit * weight for digit, weight in zip(digits, self._weights, strict=True))])

    def arrays(self, places: Sequence[int]) -> tuple[Any, list[int]]:
        """Return two things for compiled loops: the values of all positions by index, and a weight for each of
        `places`. The index of a position is the sum of weight times digit over all territories (see `Table.arrays`).
        """
        return self._values, [self._weights[place] for place in places]


class Table:
    """The values of all positions of bounded Risk on one map with one troop limit. A value is the expected result of
    the seat to move: win 1, loss −1.

    The values ignore `max_plies`: without a limit, every game ends with probability 1, whatever the players do.
    `armies` comes from the config. It changes the values of positions with free territories. These values are computed
    from those of the boards to which invasions lead.
    """

    def __init__(
        self, board: Board, shape: Shape, values: FlatValues | MappedValues, armies: Sequence[int] = ()
    ) -> None:
        self.values = values
        self.positions = shape.positions
        self.tolerance = value_tolerance(values.error)
        """The difference of values below which moves count as equally good."""
        self._rules = Duel({"map": board.encoded, "max_troops": shape.cap, "armies": list(armies)})
        self._beginnings: dict[Position, float] = {}
        self._cap = shape.cap
        self._places = shape.places

    def value(self, position: Position) -> float:
        """Return the value of `position` for the seat to move. Raise `ValueError` for another map or troop limit."""
        if not self._rules.armies or position.owner.count(NO_OWNER) < 2:
            return self.values.value_at(self._digits(position))
        position = position._replace(at=0)
        if position not in self._beginnings:
            self._beginnings[position] = max(value for _, value in self.move_values(position))
        return self._beginnings[position]

    def arrays(self) -> tuple[Any, list[int]]:
        """Return the values of all positions as 64-bit floats for compiled loops, and the weight of each territory.

        The index of a position is the sum of weight times digit over all territories. A digit is 0 for a free
        territory, the troops of the mover, or `max_troops` plus the troops of the opponent. Raise `UsageFault` for a
        table mapped from a file.
        """
        if isinstance(self.values, MappedValues):
            raise UsageFault("this table is in a file that is mapped, and not in memory")
        return self.values.arrays(self._places)

    def move_values(self, position: Position) -> list[tuple[Action, float]]:
        """Return each legal move with the mover's expected result, if both sides play their best after it."""
        open_ended = position._replace(at=0)
        return [
            (move, -sum(float(chance) * self.value(after) for chance, after in self._rules.outcomes(open_ended, move)))
            for move in self._rules.legal_moves(open_ended)
        ]

    def best_moves(self, position: Position) -> list[Action]:
        """Return the best legal moves, in the order of the rules."""
        valued = self.move_values(position)
        best = max((value for _, value in valued), default=0.0)
        return [move for move, value in valued if value > best - self.tolerance]

    @property
    def start(self) -> tuple[float, float]:
        """The expected result of each seat from the empty board. In two matches with swapped seats, the results cancel
        out.
        """
        count = len(self._places)
        value = self.value(Position((NO_OWNER,) * count, (0,) * count, 0, 0))
        return value, -value

    def _digits(self, position: Position) -> list[int]:
        count = len(self._places)
        if len(position.owner) != count or max(position.troops) > self._cap:
            raise ValueError(f"a table of {count} territories and {self._cap} troops has no {position}")
        digits = [0] * count
        for owner, troops, place in zip(position.owner, position.troops, self._places, strict=True):
            if owner != NO_OWNER:
                digits[place] = troops if owner == position.seat else self._cap + troops
        return digits


def solve(board: Board, max_troops: int) -> Table:
    """Compute the table of a map. Raise `UsageFault` if the table would be too large or numba is missing."""
    shape = small_shape_of(board, max_troops)
    return Table(board, shape, FlatValues(shape, *_solve_values(shape)))


def load_or_solve(board: Board, max_troops: int, folder: Path | None = None, armies: Sequence[int] = ()) -> Table:
    """Return a table from the first of these sources that has it: the tables that `arena-bot solve` stored in `folder`
    (default: `cache_folder`), and the tables that were solved on demand earlier. If neither has it, solve it now and
    store it.

    Raise `UsageFault` if numba is missing, the table of `arena-bot solve` is damaged, or a table is too large to solve
    now.
    """
    folder = cache_folder() if folder is None else folder
    if (mapped := load_mapped(board, max_troops, folder, armies)) is not None:
        return mapped
    shape = small_shape_of(board, max_troops)
    path = folder / f"duel-{shape.key}"
    found = read_values(path, shape.key)
    if found is None and _bounded is not None:
        found = _bounded.read(shape.key)
    if found is None:
        found = _solve_values(shape)
        if _bounded is None:
            write_values(path, shape.key, *found)
        else:
            _bounded.write(shape.key, *found)
    return Table(board, shape, FlatValues(shape, *found), armies)


class BoundedFolder:
    """A folder of limited size for tables that were solved on demand. The least recently read tables are removed."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder, self._most_bytes = folder, max_bytes

    def read(self, key: str) -> tuple[Any, int] | None:
        """Return what `read_values` returns for the table with this key, and mark the table as recently used."""
        path = self._folder / f"duel-{key}"
        found = read_values(path, key)
        if found is not None:
            with contextlib.suppress(OSError):
                os.utime(path)
        return found

    def write(self, key: str, values: Any, sweeps: int) -> None:
        """Write the table as `write_values` does. If the folder is full, remove the least recently read tables."""
        write_values(self._folder / f"duel-{key}", key, values, sweeps)
        make_room(self._folder, "duel-*", self._most_bytes)


_bounded: BoundedFolder | None = None


def store_new_tables_in(folder: Path, max_bytes: int) -> None:
    """Store all tables that this process solves on demand from now on in `folder`, up to `max_bytes` bytes."""
    global _bounded
    _bounded = BoundedFolder(folder, max_bytes)


def load_mapped(board: Board, max_troops: int, folder: Path, armies: Sequence[int] = ()) -> Table | None:
    """Return the table that `arena-bot solve` has stored in `folder`; None if there is none. Raise `UsageFault` if the
    table is damaged or numba is missing.
    """
    check_compiled()
    if not is_solvable(board, max_troops):
        return None
    shape = shape_of(board, max_troops)
    try:
        return Table(board, shape, MappedValues(place_of(shape, folder), shape), armies)
    except OSError:
        return None


def check_table(board: Board, max_troops: int) -> None:
    """Raise `UsageFault` if `load_or_solve` would, but without solving anything."""
    if load_mapped(board, max_troops, cache_folder()) is None:
        small_shape_of(board, max_troops)


@lru_cache(maxsize=4)
def cached_table(board: Board, max_troops: int, armies: tuple[int, ...] = ()) -> Table:
    """Return the table that `load_or_solve` returns, cached in memory."""
    return load_or_solve(board, max_troops, armies=armies)


def _solve_values(shape: Shape) -> tuple[Any, int]:
    """Return the values of a table and the number of sweeps that solved it."""
    from games.risk.exact.values import (
        iterate_values,  # numba takes over a second to load, which cached tables do not need
    )

    return iterate_values(shape)


def grader_of(game: Duel) -> Grader:
    """Return a grader that uses the table of exact values. Raise `UsageFault` as `load_or_solve` does."""
    table = cached_table(game.map, game.max_troops, game.armies)

    def grade(state: Any, move: Any) -> MoveGrade:
        values = dict(table.move_values(state))
        best, value = max(values, key=values.__getitem__), values[move]
        return (
            MoveGrade(value, move, value)
            if value > values[best] - table.tolerance
            else MoveGrade(value, best, values[best])
        )

    return grade


def can_grade(game: Duel) -> bool:
    """Return whether `grader_of` needs no table made by `arena-bot solve`: numba is installed, and the table is so
    small that it is solved on demand.
    """
    return HAS_NUMBA and is_solved_on_demand(game.map, game.max_troops)
