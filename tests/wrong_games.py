"""Files of a game that is right, and of the same game with something wrong in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from machine.game_discovery import GAME_FILES_VARIABLE, add_game_file
from protocol.games import game_names, remove_game

GAME_SOURCE = """
import time
from dataclasses import dataclass
from typing import NamedTuple

from protocol.games.turn_game import CHANCE, TurnGame


class Count(NamedTuple):
    number: int = 0
    seat: int = 0


class Counting(TurnGame[Count, int]):
    name = "counting"

    def start(self):
        return Count()

    def turn(self, state):
        return None if state.number >= 5 else state.seat

    def moves(self, state):
        return [1, 2]

    def play(self, state, move):
        return Count(state.number + move, 1 - state.seat)

    def winner(self, state):
        return 1 - state.seat

    def draw(self, state):
        return str(state.number)
"""
"""Two seats count on by one or two, and who says 5 or more wins."""
MUTABLE = (
    ("class Count(NamedTuple):", "@dataclass(frozen=True)\nclass Count:"),
    (
        "    number: int = 0\n    seat: int = 0",
        "    number: int = 0\n    seat: int = 0\n    seen: tuple = ()\n\n    def note(self):\n"
        "        object.__setattr__(self, 'seen', (*self.seen, 1))",
    ),
)
"""Changes that give a state a method `note`, which changes the state."""
NAMES = """

class NamedRules(Counting.rules):
    def apply(self, state, move, dice):
        return super().apply(state, move, dice)

    def legal_moves_for_turn(self, state):
        return [{"move": move, "name": name} for move, name in ((1, "one"), (2, "two"))], None

    def decode_move(self, wire):
        return super().decode_move({"move": wire["move"]})


Counting.rules = NamedRules
"""
"""Text after the game by which turns name the moves, and a bot may send a name back."""


def write_game(folder: Path, *changes: tuple[str, str]) -> Path:
    """Write the game with changes to its text, each an old text and a new one."""
    text = GAME_SOURCE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    file = folder / "counting.py"
    file.write_text(text)
    return file


@contextmanager
def brought(file: Path) -> Iterator[None]:
    """Add the games of a file, and forget them at the end, here and in the environment."""
    before, files = game_names(), os.environ.pop(GAME_FILES_VARIABLE, None)
    add_game_file(file)
    try:
        yield
    finally:
        for name in set(game_names()) - set(before):
            remove_game(name)
        del os.environ[GAME_FILES_VARIABLE]
        if files is not None:
            os.environ[GAME_FILES_VARIABLE] = files
