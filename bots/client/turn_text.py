"""A turn as text: events, moves in notation, and parsing of typed moves."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bots.client.bot import Turn
from protocol.dice import Dice
from protocol.display import short_repr
from protocol.errors import IllegalMove, MalformedMove
from protocol.games.base import Game
from protocol.games.simultaneous import SimultaneousGame
from protocol.games.wire_game import WireGame
from protocol.messages import CHANCE, Event, Player


def format_events(
    rules: Game[Any, Any], players: Sequence[Player], seat: int | None, events: Sequence[Event]
) -> list[str]:
    """Return a line for each event: who did what, and the result. The player in `seat` is called "you"."""
    lines = []
    for event in events:
        who = "you" if event.seat == seat else "chance" if event.seat == CHANCE else players[event.seat].bot
        if event.out is not None:
            lines.append(f"{who} left: {event.out}")
        elif event.moves is not None:
            chose = [
                f"{'you' if at == seat else players[at].bot}: {format_move(rules, move)}"
                for at, move in enumerate(event.moves)
                if move is not None
            ]
            lines.append(", ".join(filter(None, (*chose, rules.describe_event(event)))))
        elif event.move is not None:
            made = rules.describe_event(event)
            moved = "" if event.seat == CHANCE else format_move(rules, event.move)
            if made or event.seat not in (seat, CHANCE):
                lines.append(f"{who}: {moved}{': ' if moved and made else ''}{made}")
    return lines


def format_move(rules: Game[Any, Any], move: Mapping[str, Any]) -> str:
    """Return the notation of a move that is given in the form of the protocol's messages. A malformed move is returned
    as JSON.
    """
    try:
        return rules.notation_of_event(move)
    except MalformedMove:
        return json.dumps(move)


def example_move(turn: Turn) -> str:
    """Return examples of moves as a person writes them; the first legal move if the rules have no examples."""
    return turn.rules.move_syntax or format_move(turn.rules, turn.legal[0])


def read_move(turn: Turn, text: str) -> Mapping[str, Any]:
    """Return the legal move that `text` means, in notation or as JSON. Raise `BotFault` if there is none."""
    words = " ".join(text.split())
    written = [format_move(turn.rules, legal) for legal in turn.legal]
    if words in written:
        return turn.legal[written.index(words)]
    folded = [one.casefold() for one in written]
    if folded.count(words.casefold()) == 1:  # bxc4 and Bxc4 are two moves of chess
        return turn.legal[folded.index(words.casefold())]
    rules = turn.rules
    move = rules.decode_move(_read_json(text)) if text.lstrip().startswith("{") else rules.parse_move(words)
    wire = rules.encode_move(move)
    if wire not in turn.legal:  # refuse here what the rules refuse, before it costs a strike
        if isinstance(rules, WireGame):
            if turn.options is None:
                raise IllegalMove(f"{rules.notation(wire)} is not one of the listed moves")
        elif isinstance(rules, SimultaneousGame):
            rules.check_move(turn.position, turn.seat, move)
        else:
            rules.apply(turn.position, move, Dice(b"", turn.ply))
    return wire


def _read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise MalformedMove(f"{short_repr(text)} is not JSON: {exc}") from exc
