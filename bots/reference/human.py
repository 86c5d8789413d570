"""A person at a terminal: shows the board, reads a move. Ctrl-D gives the match up."""

from __future__ import annotations

import json
import textwrap
import threading
from collections.abc import Mapping
from typing import Any

from bots.client.bot import Bot, GiveUp, Turn
from protocol.errors import MalformedMove
from protocol.games.base import Game
from protocol.messages import CHANCE, End
from protocol.shown import printable

MOST_SHOWN = 30
WIDTH = 78


class Human(Bot):
    """Asks at the terminal, one match at a time unless told otherwise."""

    matches = 1

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._terminal = threading.Lock()
        self._rules: dict[str, Game[Any, Any]] = {}

    def choose(self, turn: Turn) -> Mapping[str, Any]:
        self._rules[turn.match] = turn.rules
        with self._terminal:
            print(printable(before(turn), lines=True), flush=True)
            while True:
                try:
                    text = input("your move (Ctrl-D resigns): ").strip()
                except EOFError:
                    print("\nyou give up")
                    raise GiveUp from None
                move = read_move(turn, text)
                if move is not None:
                    return move
                print(_folded(f"{text!r} is no move here; one from the list, or {_example(turn)}"))

    def ended(self, end: End) -> None:
        rules = self._rules.pop(end.match, None)
        if rules is not None:
            with self._terminal:
                print(rules.board(rules.decode_state(end.state)), flush=True)


def before(turn: Turn) -> str:
    """What a person needs to see: who plays, what happened, the board, the moves, the time left."""
    rivals = ", ".join(player.bot for seat, player in enumerate(turn.players) if seat != turn.seat)
    lines = [f"{turn.match} against {rivals}: ply {turn.ply}, you are seat {turn.seat}, {turn.time_left:.0f} s left"]
    for event in turn.events:
        if event.out is not None:
            lines.append(f"{turn.players[event.seat].bot} left: {event.out}")
        elif event.seat != CHANCE and event.move is not None:
            lines.append(f"{turn.players[event.seat].bot}: {_notation(turn, event.move)}")
    return "\n".join([*lines, turn.rules.board(turn.position), *_choices(turn)])


def read_move(turn: Turn, text: str) -> Mapping[str, Any] | None:
    """The move that `text` means: a label of the list, a notation, or JSON; None if it means none."""
    for label, notation, move in _listed(turn):
        if text in (label, notation):
            return move
    try:
        given = json.loads(text)
    except ValueError:
        return None
    if not isinstance(given, dict) or (turn.options is None and given not in turn.legal):
        return None
    return given


def _listed(turn: Turn) -> list[tuple[str, str, Mapping[str, Any]]]:
    """Label, notation and move. Where notations are numbers themselves, they are the labels."""
    notations = [_notation(turn, move) for move in turn.legal]
    labels = notations if all(map(str.isdigit, notations)) else [str(i) for i in range(1, len(notations) + 1)]
    return list(zip(labels, notations, turn.legal, strict=True))


def _choices(turn: Turn) -> list[str]:
    """The moves with their labels, as many on a line as fit."""
    listed = _listed(turn)
    moves = [label if label == notation else f"{label}) {notation}" for label, notation, _ in listed[:MOST_SHOWN]]
    width = max(map(len, moves)) + 2
    row = max(1, WIDTH // width)
    lines = ["".join(move.ljust(width) for move in moves[i : i + row]).rstrip() for i in range(0, len(moves), row)]
    if len(listed) > MOST_SHOWN:
        lines.append(f"and {len(listed) - MOST_SHOWN} more")
    if turn.options is not None:
        lines.append(_folded(f"and others, as {_example(turn)}"))
    return lines


def _example(turn: Turn) -> str:
    return f"JSON like {json.dumps(turn.legal[0])}"


def _folded(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _notation(turn: Turn, move: Mapping[str, Any]) -> str:
    try:
        return turn.rules.notation(turn.rules.decode_move(move))
    except MalformedMove:
        return json.dumps(move)
