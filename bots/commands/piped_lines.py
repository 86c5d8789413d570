"""The lines of JSON between a bot and its program. docs/other-languages.md describes them.

They are the messages of docs/protocol.md, except that a turn begins with the fields that programs without a JSON parser
look for.
"""

import codecs
import json
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from bots.client.bot import Choice, GiveUp, Turn
from bots.commands.piped_program import UnusableAnswer
from protocol.codec import read_integer
from protocol.display import list_choices, short_repr
from protocol.errors import Fault
from protocol.messages import End, Info, Rejected, Start

MAX_QUOTED_LENGTH = 60
"""The maximum number of characters that a message quotes of a program's output."""
_INFO_NAMES = Info.__struct_fields__
"""The names of the fields of a move's `info`."""


class StaleAnswer(Fault):
    """A program answered a turn other than the open one."""


def encode_message(message: Start | Rejected | End) -> bytes:
    """Return a message of the arena as a line of JSON."""
    return msgspec.json.encode(message) + b"\n"


def encode_turn(turn: Turn) -> bytes:
    """Return a turn as a line of JSON that begins with `type` and `legal`. Fields that check dice are left out."""
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


def parse_answer(line: bytes, turn: Turn, on_discarded: Callable[[str], None] = lambda what: None) -> Choice | None:
    """Return the choice in a line of a program; None if the line is blank, so that the next one has to be read.
    `on_discarded` is called with a description of each part of `info` that is discarded.

    A line is a move in the form of those in `legal`, or a message `move` or `resign` of the protocol. Of `move` only
    the field `move` is required. Raise `StaleAnswer` for a move of another turn, `GiveUp` for `resign`,
    `UnusableAnswer` for all other lines.
    """
    line = line.removeprefix(codecs.BOM_UTF8)
    if not line.strip():
        return None
    try:
        said = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        said = _move_with_odd_numbers(line, turn)
    if not isinstance(said, dict):
        raise UnusableAnswer(f"wrote {quote_line(line)}, which is not a JSON map: {_expected_form(turn)}")
    match said.get("type"):
        case None:
            return Choice(said)
        case "resign":
            raise GiveUp
        case "move":
            return _parse_move(said, turn, on_discarded)
    raise UnusableAnswer(f"wrote {quote_line(line)}, whose type is neither move nor resign: {_expected_form(turn)}")


def _move_with_odd_numbers(line: bytes, turn: Turn) -> Any:
    """Return the message `move` in a line whose `info` has numbers that cannot be sent, such as NaN or one of 5,000
    digits. Many libraries write such numbers. They are left out of the move later. Return None if the line is not a
    message `move`.

    Raise `UnusableAnswer` for a line that has such numbers outside `info`.
    """
    try:
        said = json.loads(line, parse_int=read_integer)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict):
        return None
    is_move = said.get("type") == "move"
    try:
        json.dumps({key: value for key, value in said.items() if key != "info" or not is_move}, allow_nan=False)
    except ValueError:
        raise UnusableAnswer(
            f"wrote {quote_line(line)}, which has a number that no move has: {_expected_form(turn)}"
        ) from None
    return said if is_move else None


def _parse_move(said: Mapping[str, Any], turn: Turn, left_out: Callable[[str], None]) -> Choice:
    """Return the choice in a message `move`, with the supported fields of its `info`."""
    match, ply = said.get("match", turn.match), said.get("ply", turn.ply)
    if (match, ply) != (turn.match, turn.ply):
        if not (isinstance(match, str) and isinstance(ply, int)):
            named = f"match {short_repr(match, MAX_QUOTED_LENGTH)} and ply {short_repr(ply, MAX_QUOTED_LENGTH)}"
            raise UnusableAnswer(f"wrote a move for {named}: match is a text and ply a number, as in the turn")
        raise StaleAnswer(f"answered ply {str(ply)[:20]} of {str(match)[:40]}")
    move, info = said.get("move"), said.get("info") or {}
    if not isinstance(move, dict):
        raise UnusableAnswer(f"wrote a move without a map in the field move: {_expected_form(turn)}")
    if not isinstance(info, dict):
        left_out(f"wrote a move whose info is {short_repr(info, MAX_QUOTED_LENGTH)}, not a map")
        return Choice(move)
    for name in sorted(info.keys() - {*_INFO_NAMES}):
        left_out(f"wrote a move whose info has {short_repr(name, MAX_QUOTED_LENGTH)}: {list_choices(_INFO_NAMES)}")
    return Choice(move, **{name: info[name] for name in _INFO_NAMES if name in info})


def _expected_form(turn: Turn) -> str:
    return (
        f"a move is a line like {msgspec.json.encode(turn.legal[0]).decode()}; write everything else to standard error"
    )


def quote_line(line: bytes) -> str:
    """Return a line of a program's output as text to quote in a message."""
    return short_repr(line.decode(errors="replace"), MAX_QUOTED_LENGTH)
