"""The contract of a game in which several seats move at once, without knowing each other's choices."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NoReturn

from protocol.dice import Dice
from protocol.games.base import NO_DICE, PROBABILITY_ONE, Game, M, S
from protocol.messages import Event


class SimultaneousGame(Game[S, M]):
    """A game of rounds: every seat of `movers` chooses a move, then `resolve_round` plays the round. In the encoded
    state, `to_move` is the list of these seats, or null once the game is over. `apply`, which plays one move of one
    seat, is not supported.
    """

    @abstractmethod
    def movers(self, state: S) -> tuple[int, ...]:
        """Return the seats that choose a move now, in ascending order; none once the game is over."""

    @abstractmethod
    def legal_moves_of(self, state: S, seat: int) -> Sequence[M]:
        """Return every legal move of a seat that chooses a move now, in a fixed order."""

    @abstractmethod
    def check_move(self, state: S, seat: int, move: M) -> None:
        """Raise `IllegalMove`, which lists the legal moves, if a seat may not choose this move."""

    @abstractmethod
    def resolve_round(self, state: S, moves: Mapping[int, M], dice: Dice) -> tuple[S, Event]:
        """Return the state after a round with these moves of the `movers`, and the event. The event has the `moves` of
        all seats and no `seat`. `dice` are those of the round's ply.
        """

    def round_outcomes(self, state: S, moves: Mapping[int, M]) -> Sequence[tuple[Fraction, S]]:
        """Return every possible state after a round, each with its exact probability. The probabilities sum to 1."""
        return ((PROBABILITY_ONE, self.resolve_round(state, moves, NO_DICE)[0]),)

    def to_move(self, state: S) -> int | None:
        """Return the first of the seats that choose a move now; None once the game is over."""
        return next(iter(self.movers(state)), None)

    def legal_moves(self, state: S) -> Sequence[M]:
        """Return the legal moves of the first seat that chooses a move now."""
        movers = self.movers(state)
        return self.legal_moves_of(state, movers[0]) if movers else ()

    def apply(self, state: S, move: M, dice: Dice) -> NoReturn:
        raise TypeError(f"in {self.name} all seats move at once: use `resolve_round`")

    def encode_moves(self, moves: Mapping[int, M]) -> list[dict[str, Any] | None]:
        """Return the encoded moves of a round by seat, as an event has them; None for a seat that did not choose."""
        return [self.encode_move(moves[seat]) if seat in moves else None for seat in range(self.seats)]
