"""Tic-tac-toe: the teaching example for every search algorithm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from protocol.dice import Dice
from protocol.display import short_repr
from protocol.errors import MalformedMove
from protocol.games.base import Game
from protocol.games.parsing import parse_whole_number, raise_illegal, read_config, read_move_fields
from protocol.messages import Event

LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
"""The rows, columns and diagonals of the grid, as indices of cells."""
_MARKS = ".XO"
"""The characters of an empty cell and of the marks of seats 0 and 1."""


class Grid(NamedTuple):
    """A position: `cells` row by row (0: empty, 1: seat 0's mark, 2: seat 1's). The ply is the number of marks."""

    cells: tuple[int, ...]


class TicTacToe(Game[Grid, int]):
    """Tic-tac-toe. A move is the index of a cell, 0 to 8, row by row. Seat 0 begins."""

    name = "tictactoe"
    title = "Tic-tac-toe"
    about = "Three in a row wins."
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"classic": {}}
    preset_titles: ClassVar[Mapping[str, str]] = {"classic": "classic"}
    draw_probability = 0.4
    move_syntax = "4, the number of a cell: 0 1 2 is the first row"

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.config = read_config(TicTacToe, config, {})

    def initial(self, dice: Dice) -> tuple[Grid, None]:
        return Grid((0,) * 9), None

    def ply(self, state: Grid) -> int:
        return 9 - state.cells.count(0)

    def to_move(self, state: Grid) -> int | None:
        return None if self.winner(state) is not None or 0 not in state.cells else self.ply(state) % 2

    def winner(self, state: Grid) -> int | None:
        """Return the seat with three marks in a row; None if neither has."""
        cells = state.cells
        for a, b, c in LINES:
            if cells[a] and cells[a] == cells[b] == cells[c]:
                return cells[a] - 1
        return None

    def key(self, state: Grid) -> Grid:
        return state

    def legal_moves(self, state: Grid) -> Sequence[int]:
        if self.winner(state) is not None:
            return ()
        return [cell for cell, mark in enumerate(state.cells) if not mark]

    def apply(self, state: Grid, move: int, dice: Dice) -> tuple[Grid, Event]:
        seat = self.to_move(state)
        if seat is None:
            raise_illegal("the game is over")
        if not 0 <= move <= 8:
            raise_illegal(f"there is no cell {move}: cells are 0 to 8")
        cells = state.cells
        if cells[move]:
            empty = ", ".join(map(str, self.legal_moves(state)))
            raise_illegal(f"cell {move} holds {_MARKS[cells[move]]}; empty cells: {empty}")
        after = Grid((*cells[:move], seat + 1, *cells[move + 1 :]))
        return after, Event(ply=self.ply(state), seat=seat, move={"cell": move})

    def ranks(self, state: Grid) -> tuple[int, ...]:
        winner = self.winner(state)
        return (1, 1) if winner is None else (1, 2) if winner == 0 else (2, 1)

    def encode_state(self, state: Grid) -> dict[str, Any]:
        return {"cells": state.cells, "to_move": self.to_move(state), "ply": self.ply(state)}

    def decode_state(self, wire: Mapping[str, Any]) -> Grid:
        cells = tuple(wire["cells"])
        if len(cells) != 9 or not set(cells) <= {0, 1, 2}:
            raise ValueError(f"not nine cells of 0, 1 or 2: {cells!r}")
        return Grid(cells)

    def encode_move(self, move: int) -> dict[str, Any]:
        return {"cell": move}

    def decode_move(self, wire: Any) -> int:
        return read_move_fields(wire, '{"cell": 4}', "cell")[0]

    def draw_board(self, state: Grid) -> str:
        marks = [_MARKS[mark] for mark in state.cells]
        return "\n".join(" ".join(marks[row : row + 3]) for row in (0, 3, 6))

    def notation(self, move: int) -> str:
        return str(move)

    def parse_move(self, text: str) -> int:
        cell = parse_whole_number(text)
        if cell is None:
            raise MalformedMove(f"{short_repr(text)} is not a move here: write it like {self.move_syntax}")
        return cell
