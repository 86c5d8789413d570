"""What one seat of a match may see of its states and lines, where the whole is at hand."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from protocol.games.base import Game
from referee.record import Between, Ply, Sealed


def state_seen(game: Game[Any, Any], state: Any, seat: int | None) -> Any:
    """A state as a seat sees it, or a spectator (None): all of it once the game is over."""
    if not game.hidden or game.to_move(state) is None:
        return state
    return game.decode_state(game.view(game.encode_state(state), seat))


def line_seen(game: Game[Any, Any], line: Between, seat: int | None) -> Between | None:
    """A line of a record as a seat may know it while they play, without what others thought of their moves; None for a
    move that it is not told yet.
    """
    if isinstance(line, Sealed):
        return line if line.seat == seat else None
    if not isinstance(line, Ply):
        return line
    event = line.event
    return replace(line, event=game.view_event(event, seat), info=line.info if event.seat == seat else None)
