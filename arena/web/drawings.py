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


class DrawnGrid(Struct, frozen=True, kw_only=True):
    """A board of cells. `cells` has the marks row by row. `owners` has the seats of marks, for their colour.
    `highlights` are cells, (row, column), that people should not overlook. `rotates` is true if the second seat sees
    the board from the other side.
    """

    cells: list[list[str]]
    owners: dict[str, int]
    row_labels: list[str]
    column_labels: list[str]
    highlights: list[tuple[int, int]]
    checkered: bool
    rotates: bool


class Drawing(Struct, frozen=True, kw_only=True):
    """A state as people see it: a grid or a text. `moves` are the given moves in their order."""

    text: str | None
    grid: DrawnGrid | None
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
    grid = _draw_grid(rules.turn_game, state.state) if isinstance(rules, TurnRules) else None
    text = escape_unprintable(rules.draw_board(state), lines=True) if grid is None else None
    named = [
        DrawnMove(
            text=escape_unprintable(rules.notation(move)),
            cells=[] if grid is None else list(rules.turn_game.cells(move)),  # type: ignore[attr-defined]
        )
        for move in moves
    ]
    return Drawing(text=text, grid=grid, moves=named)


def _draw_grid(turn_game: TurnGame[Any, Any], state: Any) -> DrawnGrid | None:
    """Return the grid of a state; None if the game has none, or one with too many cells."""
    rows = turn_game.grid(state)
    if rows is None or sum(map(len, rows)) > MAX_GRID_CELLS:
        return None
    owners = {mark: turn_game.seat_of_mark(mark) for mark in {mark for row in rows for mark in row if mark}}
    return DrawnGrid(
        cells=[[escape_unprintable(mark) for mark in row] for row in rows],
        owners={escape_unprintable(mark): seat for mark, seat in owners.items() if seat is not None},
        row_labels=list(map(escape_unprintable, turn_game.row_labels))[: len(rows)],
        column_labels=list(map(escape_unprintable, turn_game.column_labels))[: max(map(len, rows), default=0)],
        highlights=[(row, column) for row, column in turn_game.highlights(state)],
        checkered=turn_game.checkered,
        rotates=turn_game.rotates_board,
    )
