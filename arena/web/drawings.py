"""Draws states of games that have no board of their own on the pages: as a grid or as text, with names for moves."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from protocol.display import escape_unprintable, short_repr
from protocol.errors import BadConfig, BotFault
from protocol.games import load_game
from protocol.games.base import Game
from protocol.games.turn_game import TurnGame, TurnRules

MAX_GRID_CELLS = 10_000
"""Maximum number of cells of a grid that is drawn cell by cell."""


class DrawnMove(Struct, frozen=True, kw_only=True):
    """A move as people read it, and the cells that they click to make it: (row, column), null for any."""

    text: str
    cells: list[tuple[int | None, int | None]]


class Drawing(Struct, frozen=True, kw_only=True):
    """A state as people see it: the marks of a grid row by row, or a text. `marks` are those of the seats, in seat
    order, if the game names them. `moves` are the given moves in their order.
    """

    text: str | None
    grid: list[list[str]] | None
    marks: list[str]
    moves: list[DrawnMove]


def draw(game: str, config: dict[str, Any], state: dict[str, Any], moves: list[dict[str, Any]]) -> Drawing:
    """Draw a state as messages carry it, maybe a view. Raise `UnknownGame`, `BadConfig` or `MalformedMove`."""
    rules = load_game(game, config)
    try:
        decoded = rules.decode_state(state)
        decoded_moves = [rules.decode_move(move) for move in moves]
        return _draw(rules, decoded, decoded_moves)
    except BotFault:
        raise
    except Exception as exc:  # rules may fail in any way on a state that is none of theirs
        raise BadConfig(f"{game}: {short_repr(state, 80)} is not a state under this config") from exc


def _draw(rules: Game[Any, Any], state: Any, moves: list[Any]) -> Drawing:
    grid: list[list[str]] | None = None
    marks: list[str] = []
    cells: list[list[tuple[int | None, int | None]]] = [[] for _ in moves]
    if isinstance(rules, TurnRules):
        turn_game: TurnGame[Any, Any] = rules.turn_game
        rows = turn_game.grid(state.state)
        if rows is not None and sum(map(len, rows)) <= MAX_GRID_CELLS:
            grid = [[escape_unprintable(mark) for mark in row] for row in rows]
            marks = list(turn_game.marks)[: rules.seats]
            cells = [list(turn_game.cells(move)) for move in moves]
    text = escape_unprintable(rules.draw_board(state), lines=True) if grid is None else None
    named = [
        DrawnMove(text=escape_unprintable(rules.notation(move)), cells=clicked)
        for move, clicked in zip(moves, cells, strict=True)
    ]
    return Drawing(text=text, grid=grid, marks=marks, moves=named)
