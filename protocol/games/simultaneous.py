"""The contract of a game in which several seats move at once, none knowing what the others chose."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NoReturn

from protocol.dice import Dice
from protocol.games.base import CERTAIN, NO_DICE, Game, M, S
from protocol.messages import Event


class SimultaneousGame(Game[S, M]):
    """A game of rounds: every seat of `movers` chooses, and once all have, `resolve` gives what came of it.

    Its encoded state has as `to_move` the list of these seats, or null when the game is over. What is for one move of
    one seat is not for it: `apply` has no meaning.
    """

    @abstractmethod
    def movers(self, state: S) -> tuple[int, ...]:
        """The seats that choose now, in ascending order; none when the game is over."""

    @abstractmethod
    def legal_moves_of(self, state: S, seat: int) -> Sequence[M]:
        """Every legal move of a seat that chooses now, in a fixed order."""

    @abstractmethod
    def check_move(self, state: S, seat: int, move: M) -> None:
        """Raises `IllegalMove` for what a seat that chooses now may not, saying what it may."""

    @abstractmethod
    def resolve(self, state: S, moves: Mapping[int, M], dice: Dice) -> tuple[S, Event]:
        """The state after the round in which the seats of `movers` chose so, and the event to tell, of no seat, with
        all their `moves`. `dice` are those of the round's ply.
        """

    def round_outcomes(self, state: S, moves: Mapping[int, M]) -> Sequence[tuple[Fraction, S]]:
        """Every result that chance may give to a round, with its exact probability; they sum to 1."""
        return ((CERTAIN, self.resolve(state, moves, NO_DICE)[0]),)

    def to_move(self, state: S) -> int | None:
        """The first of the seats that choose now; None when the game is over."""
        return next(iter(self.movers(state)), None)

    def legal_moves(self, state: S) -> Sequence[M]:
        """The legal moves of the first seat that chooses now."""
        movers = self.movers(state)
        return self.legal_moves_of(state, movers[0]) if movers else ()

    def apply(self, state: S, move: M, dice: Dice) -> NoReturn:
        raise TypeError(f"in {self.name} all move at once: there is `resolve`")

    def encode_moves(self, moves: Mapping[int, M]) -> list[dict[str, Any] | None]:
        """The moves of a round as an event has them, by seat; null for one that had none to choose."""
        return [self.encode_move(moves[seat]) if seat in moves else None for seat in range(self.seats)]
