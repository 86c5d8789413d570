"""The course of a match: what each event does to the state, the digest chain and the standing of the seats.

The referee, a restart from the journal and `verify` all play a match through this one piece.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from protocol.dice import Dice, match_key
from protocol.digest import first_digest, next_digest
from protocol.games.base import Game
from protocol.messages import Event


class Course:
    """A match from before its first state on. `begin` sets up; `play` and `leave` go on until `over`.

    Whatever the rules raise, nothing has changed; `mark` and `back_to` take back what was done without a fault.
    """

    def __init__(
        self,
        match: str,
        game: Game[Any, Any],
        names: Sequence[str],
        commitment: bytes,
        seed: bytes,
        nonces: Sequence[bytes],
    ) -> None:
        self.game = game
        self.digest = first_digest(match, game.name, game.config, names, commitment, nonces)
        self.out: dict[int, str] = {}
        self._key = match_key(match, seed, nonces)
        self._void = False
        self.state: Any = None
        self.ply = 0
        self.to_move: int | None = None
        self.wire: dict[str, Any] = {}

    def begin(self) -> Event | None:
        """Set up the first state. The deal, where there is one, is entered in the digest chain."""
        state, deal = self.game.initial(Dice(self._key, 0))
        self._enter(state, deal)
        return deal

    def play(self, move: Any) -> Event:
        """The move of the seat whose turn it is. Raises `IllegalMove`."""
        state, event = self.game.apply(self.state, move, Dice(self._key, self.ply))
        self._enter(state, event)
        return event

    def leave(self, seat: int, reason: str) -> Event:
        """A seat drops out; it does not advance the ply."""
        event = Event(ply=self.ply, seat=seat, out=reason)
        goes_on = self.game.seats > 2 and self.to_move is not None
        self._enter(self.game.drop(self.state, seat) if goes_on else self.state, event)
        self.out = {**self.out, seat: reason}
        return event

    def mark(self) -> tuple[Any, ...]:
        """Where the course is now, for `back_to`."""
        return self.state, self.ply, self.to_move, self.wire, self.digest, self.out

    def back_to(self, mark: tuple[Any, ...]) -> None:
        """Forget everything since `mark`."""
        self.state, self.ply, self.to_move, self.wire, self.digest, self.out = mark

    def void(self) -> None:
        """Call the match off: everyone ties, nobody is rated."""
        self._void = True

    @property
    def over(self) -> bool:
        """Whether nobody is to move any more."""
        return self._void or self.to_move is None or len(self.out) >= self.game.seats - 1

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks as they stand; of a match that goes on, seats still in it share the first."""
        if self._void:
            return (1,) * self.game.seats
        if self.to_move is None or self.game.seats > 2:
            return self.game.ranks(self.state)
        return tuple(1 + (seat in self.out) for seat in range(2))

    @property
    def reason(self) -> str:
        """Why the match is over."""
        if self._void:
            return "void"
        if self.to_move is None:
            return self.game.reason(self.state)
        return list(self.out.values())[-1]

    def seat_reason(self, seat: int) -> str:
        """Why the match is over for one seat."""
        if self._void:
            return "void"
        natural = self.game.reason(self.state) if self.to_move is None else "win"
        return self.out.get(seat, natural)

    def _enter(self, state: Any, event: Event | None) -> None:
        game = self.game
        ply, to_move, wire = game.ply(state), game.to_move(state), game.encode_state(state)
        if event is not None:
            self.digest = next_digest(self.digest, event, wire)
        self.state, self.ply, self.to_move, self.wire = state, ply, to_move, wire
