"""What a learner sees of a game under one config, and by which numbers it names the moves: found by the game's name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from pkgutil import resolve_name
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from protocol.errors import UsageFault
from protocol.games.base import Game

S = TypeVar("S")
M = TypeVar("M")

Vector = NDArray[np.float32]
Mask = NDArray[np.int8]
_WHERE = {
    "nim": "bots.environments.small_games:NimEncoding",
    "grundy": "bots.environments.small_games:GrundyEncoding",
    "tictactoe": "bots.environments.small_games:GridEncoding",
    "risk-duel": "bots.environments.risk:DuelEncoding",
    "risk-campaign": "bots.environments.risk:CampaignEncoding",
    "dilemma": "bots.environments.payoff_games:DilemmaEncoding",
    "kuhn": "bots.environments.payoff_games:PokerEncoding",
    "leduc": "bots.environments.payoff_games:PokerEncoding",
}


class Encoding(ABC, Generic[S, M]):
    """States as vectors and moves as numbers, both of one size for all states of a config.

    What each number means stays the same within a `version`, so that a policy can be kept.
    """

    version: ClassVar[int] = 1
    size: int
    """The length of a vector."""
    actions: int
    """How many numbers there are, from 0 on."""

    @abstractmethod
    def __init__(self, rules: Game[S, M]) -> None: ...

    @abstractmethod
    def vector(self, state: S, seat: int) -> Vector:
        """The state as `seat` sees it, itself always in the first place: `size` numbers from 0 to 1."""

    @abstractmethod
    def moves(self, state: S) -> dict[int, M]:
        """The legal moves that have a number, by that number; empty only when nobody is to move."""

    def moves_of(self, state: S, seat: int) -> dict[int, M]:
        """Those of a seat that is to move, where several move at once."""
        return self.moves(state)

    def mask(self, state: S) -> Mask:
        """1 for every number that `moves` has, 0 for the others: `actions` of them."""
        return self.masked(self.moves(state))

    def masked(self, numbers: Iterable[int]) -> Mask:
        """1 for each of these numbers, 0 for the others: `actions` of them."""
        mask = np.zeros(self.actions, np.int8)
        mask[list(numbers)] = 1
        return mask


def encoding_of(rules: Game[Any, Any]) -> Encoding[Any, Any]:
    """How a learner sees the game under its config. Raises `UsageFault` for a game that has no encoding."""
    if rules.name not in _WHERE:
        raise UsageFault(f"{rules.name} has no encoding: one of {', '.join(_WHERE)}")
    found: type[Encoding[Any, Any]] = resolve_name(_WHERE[rules.name])
    return found(rules)
