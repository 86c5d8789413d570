"""The parts of states and lines that one seat may see, for code that has the whole record."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from protocol.games.base import Game
from referee.record import EventLine, Ply, Sealed


def view_state(game: Game[Any, Any], state: Any, seat: int | None) -> Any:
    """Return the part of a state that a seat, or a spectator (None), may see: all of it once the game is over."""
    if not game.hidden or game.to_move(state) is None:
        return state
    return game.decode_state(game.view(game.encode_state(state), seat))


def view_line(game: Game[Any, Any], line: EventLine, seat: int | None) -> EventLine | None:
    """Return the part of a record's line that a seat may see during the match: all but other seats' `info`. Return None
    if the line is another seat's sealed move.
    """
    if isinstance(line, Sealed):
        return line if line.seat == seat else None
    if not isinstance(line, Ply):
        return line
    event = line.event
    return replace(line, event=game.view_event(event, seat), info=line.info if event.seat == seat else None)
