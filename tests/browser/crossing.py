"""A game for two, of a move each, whose board is seen from either side."""

from __future__ import annotations

from typing import Literal, NamedTuple

from protocol.games.turn_game import TurnGame

Step = Literal["a1a2q", "a1a2r", "b2b1q", "b2b1r"]


class Crossed(NamedTuple):
    """The moves so far."""

    moves: tuple[Step, ...] = ()


class Crossing(TurnGame[Crossed, Step]):
    """Each seat's pawn crosses a board of four cells, and becomes a queen or a rook."""

    name = "crossing"
    marks = ("♙", "♟")
    row_labels = "21"
    column_labels = "ab"
    rotates_board = True

    def start(self) -> Crossed:
        return Crossed()

    def turn(self, state: Crossed) -> int | None:
        return None if len(state.moves) == 2 else len(state.moves)

    def moves(self, state: Crossed) -> list[Step]:
        return ["b2b1q", "b2b1r"] if state.moves else ["a1a2q", "a1a2r"]

    def play(self, state: Crossed, move: Step) -> Crossed:
        return Crossed((*state.moves, move))

    def winner(self, state: Crossed) -> None:
        return None

    def grid(self, state: Crossed) -> list[list[str]]:
        left, right = ["", "♙"], ["♟", ""]
        left = ["♕", ""] if state.moves else left
        return [list(row) for row in zip(left, right, strict=True)]

    def cells(self, move: Step) -> list[tuple[int, int]]:
        return [("21".index(move[at + 1]), "ab".index(move[at])) for at in (0, 2)]

    def highlights(self, state: Crossed) -> list[tuple[int, int]]:
        return [(0, 0)] if state.moves else []
