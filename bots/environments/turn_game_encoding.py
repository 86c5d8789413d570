"""The encoding of any `TurnGame` for learning: its grid or its features as a vector, its moves by number."""

from __future__ import annotations

from typing import Any

import numpy as np

from bots.environments.encodings import Encoding, Vector
from protocol.errors import UsageFault
from protocol.games.base import Game
from protocol.games.turn_game import TurnGame, TurnRules, TurnState


class TurnGameEncoding(Encoding[TurnState, Any]):
    """The encoding of a `TurnGame`. An action is the number of a move in `every_move`.

    A vector has the `features` of the game. A game without them has a `grid`: one block of cells for each of its
    `marks`, the seat's own mark first and the others in seat order after it, and a last block for empty cells.
    """

    def __init__(self, rules: Game[TurnState, Any]) -> None:
        assert isinstance(rules, TurnRules)
        self._rules = rules
        self._game: TurnGame[Any, Any] = rules.turn_game
        self._numbers = {move: number for number, move in enumerate(self._game.every_move())}
        self._has_features = type(self._game).features is not TurnGame.features
        if not self._has_features and (not self._game.marks or type(self._game).grid is TurnGame.grid):
            raise UsageFault(f"{rules.name} has no encoding: write the method features, or grid and marks")
        self.actions = len(self._numbers)
        self.size = len(self.vector(rules.first_turn, 0))

    def vector(self, state: TurnState, seat: int) -> Vector:
        seen = self._game.seen(state.state, seat) if self._rules.hidden else state.state
        if self._has_features:
            return np.array(self._game.features(seen, seat), np.float32)
        grid = self._game.grid(seen)
        assert grid is not None
        cells = np.array([mark for row in grid for mark in row])
        seats, marks = self._rules.seats, list(self._game.marks)
        own_first = [*marks[seat:seats], *marks[:seat], *marks[seats:]] if len(marks) >= seats else marks
        return np.concatenate([cells == mark for mark in (*own_first, "")]).astype(np.float32)

    def moves(self, state: TurnState) -> dict[int, Any]:
        legal = self._rules.legal_moves(state)
        return {number: move for move in legal if (number := self._numbers.get(move)) is not None}
