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

CHANCE = -1


class Course:
    """A match from its first state on. `begin` deals; `play` and `leave` go on until `over`."""

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
        self.state, self._deal = game.initial(Dice(self._key, 0))
        self._look()

    def begin(self) -> Event | None:
        """The deal, where there is one, entered in the digest chain. Call it once, before anything else."""
        if self._deal is not None:
            self._enter(self._deal)
        return self._deal

    def play(self, move: Any) -> Event:
        """The move of the seat whose turn it is. Raises `IllegalMove`; then nothing has changed."""
        self.state, event = self.game.apply(self.state, move, Dice(self._key, self.ply))
        self._look()
        self._enter(event)
        return event

    def leave(self, seat: int, reason: str) -> Event:
        """A seat drops out; it does not advance the ply."""
        event = Event(ply=self.ply, seat=seat, out=reason)
        self.out[seat] = reason
        if self.game.seats > 2 and self.to_move is not None:
            self.state = self.game.drop(self.state, seat)
            self._look()
        self._enter(event)
        return event

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
        seats = range(self.game.seats)
        if self._void:
            return (1,) * len(seats)
        if self.to_move is None:
            return self.game.ranks(self.state)
        late = {seat: place for place, seat in enumerate(reversed(self.out))}
        still_in = len(seats) - len(late)
        return tuple(still_in + 1 + late[seat] if seat in late else 1 for seat in seats)

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

    def _look(self) -> None:
        self.ply = self.game.ply(self.state)
        self.to_move = self.game.to_move(self.state)
        self.wire: dict[str, Any] = self.game.encode_state(self.state)

    def _enter(self, event: Event) -> None:
        self.digest = next_digest(self.digest, event, self.wire)
