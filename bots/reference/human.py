"""The bot `human`: a person at a terminal sees events and the board, and types moves. Ctrl-D resigns the match."""

from __future__ import annotations

import json
import textwrap
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from bots.client import turn_text
from bots.client.bot import Bot, GiveUp, Turn
from machine.terminal import say
from protocol.errors import BotFault
from protocol.games.simultaneous import SimultaneousGame
from protocol.messages import CHANCE, End, Event

MAX_SHOWN_MOVES = 30
"""The maximum number of legal moves that are listed for a person."""
LINE_WIDTH = 78
"""The width of a line on the terminal, in characters."""
COMMANDS = "help, board, moves; Ctrl-D resigns, Ctrl-C quits"
"""The list of the commands that a person can type, printed with every turn."""


class Human(Bot):
    """Asks a person at the terminal for moves. By default it plays one match, then stops."""

    matches = 1
    person = True

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._terminal_lock = threading.Lock()
        self._last_turns: dict[str, Turn] = {}
        """The last turn shown to the person, by match."""

    def choose(self, turn: Turn) -> Mapping[str, Any]:
        with self._terminal_lock:
            told = format_turn(turn, self._last_turns.get(turn.match))
            self._last_turns[turn.match] = turn
            _print(told)
            while True:
                _print(f"your move, {turn.time_left:.0f} s left ({COMMANDS}):")
                try:
                    text = input()  # without a prompt, as the client's lines would be glued to it
                except EOFError:
                    _print("you resign")
                    raise GiveUp from None
                move = _handle_input(turn, text)
                if move is not None:
                    if isinstance(turn.rules, SimultaneousGame):
                        _print(f"you chose {turn_text.format_move(turn.rules, move)}; it is shown when all have chosen")
                    return move

    def ended(self, end: End) -> None:
        turn = self._last_turns.pop(end.match, None)
        if turn is not None:
            with self._terminal_lock:
                _print(
                    "\n".join(
                        [*_format_events(turn, end.events), turn.rules.draw_board(turn.rules.decode_state(end.state))]
                    )
                )


def format_turn(turn: Turn, last_turn: Turn | None = None) -> str:
    """Return the text for a turn: the events since the last turn, the board or its changes, and the legal moves."""
    lines = []
    if last_turn is None:
        rivals = ", ".join(f"{player.bot} is seat {i}" for i, player in enumerate(turn.players) if i != turn.seat)
        lines.append(_fold_text(f"{turn.match}: you are seat {turn.seat}, {rivals}"))
    lines += _format_events(turn, turn.events)
    if last_turn is None or any(event.seat not in (turn.seat, CHANCE) for event in turn.events):
        lines.append(turn.rules.draw_board(turn.position))
    else:
        lines.append(turn.rules.describe_changes(last_turn.position, turn.position))
    lines += [_fold_text(summary)] if (summary := turn.rules.summarise(turn.position)) else []
    return "\n".join([*lines, *_format_moves(turn)])


def read_move(turn: Turn, text: str) -> Mapping[str, Any]:
    """Return the legal move that `text` means: a number in the list, a notation or JSON. Raise `BotFault` if none."""
    words = " ".join(text.split())
    for label, _, move in _label_moves(turn):
        if words == label:
            return move
    return turn_text.read_move(turn, text)


def _handle_input(turn: Turn, text: str) -> Mapping[str, Any] | None:
    """Return the move that the person typed. For a command or an illegal move, print an answer and return None."""
    asked = text.strip().lower()
    if asked in ("", "help", "?"):
        example = json.dumps(turn.legal[0])
        like = f"a move like {turn_text.example_move(turn)}, or JSON like {example}"
        _print(_fold_text(f"a number from the list, or {like}"))
    elif asked == "board":
        _print(turn.rules.draw_board(turn.position))
    elif asked == "moves":
        _print("\n".join(_format_moves(turn)))
    else:
        try:
            return read_move(turn, text)
        except BotFault as fault:
            _print(_fold_text(str(fault)))
    return None


def _format_events(turn: Turn, events: Sequence[Event]) -> list[str]:
    return turn_text.format_events(turn.rules, turn.players, turn.seat, events)


def _label_moves(turn: Turn) -> list[tuple[str, str, Mapping[str, Any]]]:
    """Return label, notation and move of each legal move. Labels count from 1, unless all notations are numbers."""
    notations = [turn_text.format_move(turn.rules, move) for move in turn.legal]
    labels = notations if all(map(str.isdigit, notations)) else [str(i) for i in range(1, len(notations) + 1)]
    return list(zip(labels, notations, turn.legal, strict=True))


def _format_moves(turn: Turn) -> list[str]:
    """Return lines that list the legal moves with their labels, as many moves on a line as fit."""
    listed = _label_moves(turn)
    moves = [label if label == notation else f"{label}) {notation}" for label, notation, _ in listed[:MAX_SHOWN_MOVES]]
    width = max(map(len, moves)) + 2
    row = max(1, LINE_WIDTH // width)
    lines = ["".join(move.ljust(width) for move in moves[i : i + row]).rstrip() for i in range(0, len(moves), row)]
    if len(listed) > MAX_SHOWN_MOVES:
        lines.append(f"and {len(listed) - MAX_SHOWN_MOVES} more")
    if turn.options is not None:
        lines.append(_fold_text(f"and others, like {turn_text.example_move(turn)}"))
    return lines


def _fold_text(text: str) -> str:
    return textwrap.fill(text, LINE_WIDTH, break_long_words=False, break_on_hyphens=False)


def _print(text: str) -> None:
    say(text, flush=True)
