"""What goes to a program and what comes back, as lines of JSON. Pure. docs/other-languages.md describes them.

They are the messages of docs/protocol.md, but for a turn, which begins with what a program without JSON looks for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from bots.client.bot import Choice, GiveUp, Turn
from protocol.display import shown
from protocol.errors import Fault
from protocol.field_errors import field_error
from protocol.messages import End, Info, Rejected, Start

MOST_SHOWN = 60


class Unusable(Fault):
    """A program wrote what is no answer to a turn."""


class Passed(Fault):
    """A program answered another turn than the one that is open."""


def told(message: Start | Rejected | End) -> bytes:
    """A message as the arena sent it, as a line."""
    return msgspec.json.encode(message) + b"\n"


def asked(turn: Turn) -> bytes:
    """A turn as a line: `type` comes first, then `legal`; what only serves to check the arena's dice is left out."""
    options = {} if turn.options is None else {"options": turn.options}
    message = {
        "type": "turn",
        "legal": turn.legal,
        **options,
        "match": turn.match,
        "ply": turn.ply,
        "to_move": turn.seat,
        "state": turn.state,
        "events": turn.events,
        "clock": turn.clock_ms,
    }
    return msgspec.json.encode(message) + b"\n"


def answer(line: bytes, turn: Turn) -> Choice | None:
    """The move in a line; None where there is nothing to it, and another one has to be waited for.

    A line is a move as in `legal`, or the protocol's message `move`, of which only `move` is needed, or `resign`.
    Raises `Passed` for another turn's, `Unusable` for what is none of that, `GiveUp` for `resign`.
    """
    if not line.strip():
        return None
    try:
        said = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise Unusable(f"wrote {quoted(line)}, which is no map in JSON: {_right(turn)}")
    match said.get("type"):
        case None:
            return Choice(said)
        case "resign":
            raise GiveUp
        case "move":
            return _moved(said, turn)
    raise Unusable(f"wrote {quoted(line)}, whose type is neither move nor resign: {_right(turn)}")


def _moved(said: Mapping[str, Any], turn: Turn) -> Choice:
    """The choice in a `move`, with an `info` that the arena would take."""
    match, ply = said.get("match", turn.match), said.get("ply", turn.ply)
    if (match, ply) != (turn.match, turn.ply):
        raise Passed(f"answered ply {str(ply)[:20]} of {str(match)[:40]}")
    move, info = said.get("move"), said.get("info", {})
    if not isinstance(move, dict):
        raise Unusable(f"wrote a move without a map in the field move: {_right(turn)}")
    fault = field_error(info, Info) if isinstance(info, dict) else "it is no map"
    if fault is not None:
        raise Unusable(f"wrote a move whose info can't be sent: {fault}")
    return Choice(move, **info)


def _right(turn: Turn) -> str:
    return f"a move is a line like {msgspec.json.encode(turn.legal[0]).decode()}, and all else goes to standard error"


def quoted(line: bytes) -> str:
    """What a program wrote, for a message."""
    return shown(line.decode(errors="replace"), MOST_SHOWN)
