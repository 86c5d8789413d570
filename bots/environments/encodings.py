"""Encodings: a game's states as vectors and its moves as numbers, for a learner."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from pkgutil import resolve_name
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from protocol.errors import UsageFault
from protocol.games import game_part, games_with
from protocol.games.base import Game
from protocol.games.turn_game import TurnRules

S = TypeVar("S")
M = TypeVar("M")

_TURN_GAME_ENCODING = "bots.environments.turn_game_encoding:TurnGameEncoding"
"""The import path of the encoding of a `TurnGame` that has none of its own."""
Vector = NDArray[np.float32]
Mask = NDArray[np.int8]


class Encoding(ABC, Generic[S, M]):
    """An encoding of states as vectors and of moves as numbers. A config fixes the length of vectors and the greatest
    number of a move.

    The meaning of each number stays the same within a `version`, so that stored policies remain valid.
    """

    version: ClassVar[int] = 1
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    """The least and the greatest number that a vector may have."""
    size: int
    """The length of a vector."""
    actions: int
    """The number of actions; they are numbered from 0."""

    @abstractmethod
    def __init__(self, rules: Game[S, M]) -> None: ...

    @abstractmethod
    def vector(self, state: S, seat: int) -> Vector:
        """Return the state as `seat` sees it: `size` numbers within `bounds`, those about the seat itself first."""

    @abstractmethod
    def moves(self, state: S) -> dict[int, M]:
        """Return the legal moves that the encoding covers, by action number. In some games, not every legal move has a
        number, but if a seat is to move, at least one has.
        """

    def moves_of(self, state: S, seat: int) -> dict[int, M]:
        """Return the legal moves of `seat`, by action number, in a game with simultaneous moves. The seat must be one
        of those to move.
        """
        return self.moves(state)

    def mask(self, state: S) -> Mask:
        """Return an array of `actions` numbers: 1 at the number of each move that `moves` returns, 0 elsewhere."""
        return self.make_mask(self.moves(state))

    def make_mask(self, numbers: Iterable[int]) -> Mask:
        """Return an array of `actions` numbers: 1 for each of these numbers, else 0."""
        mask = np.zeros(self.actions, np.int8)
        mask[list(numbers)] = 1
        return mask


def encoding_of(rules: Game[Any, Any]) -> Encoding[Any, Any]:
    """Return the game's encoding under its config. Raise `UsageFault` if it has none."""
    found: type[Encoding[Any, Any]] | None = game_part(rules.name, "encoding")
    if found is None and isinstance(rules, TurnRules):
        found = resolve_name(_TURN_GAME_ENCODING)
    if found is None:
        raise UsageFault(f"{rules.name} has no encoding: one of {', '.join(games_with('encoding'))}")
    return found(rules)
