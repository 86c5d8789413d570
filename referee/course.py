"""The course of a match: what each event does to the state, the digest chain and the standing of the seats.

The referee, a restart from the journal and `verify` all play a match through this one piece.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from protocol.dice import Dice, match_key
from protocol.digest import first_digest, next_digest
from protocol.games.base import Game
from protocol.messages import Event
from protocol.reasons import VOID, WIN


class Course(Struct, frozen=True, gc=False):
    """A match so far, a value. `begin` sets up, `play` and `leave` go on until `over`: each gives the course after it,
    and what happened."""

    game: Game[Any, Any]
    key: bytes
    """Of all dice. It is secret."""
    digest: bytes
    state: Any = None
    ply: int = 0
    to_move: int | None = None
    wire: dict[str, Any] = {}
    """The state as it travels."""
    out: Mapping[int, str] = {}
    """The seats that dropped out, in order, and why."""
    called_off: bool = False

    @classmethod
    def new(
        cls,
        match: str,
        game: Game[Any, Any],
        names: Sequence[str],
        commitment: bytes,
        seed: bytes,
        nonces: Sequence[bytes],
    ) -> Course:
        """A match before its first state."""
        digest = first_digest(match, game.name, game.config, names, commitment, nonces)
        return cls(game, match_key(match, seed, nonces), digest)

    def begin(self) -> tuple[Course, Event | None]:
        """Set up the first state. The deal, where there is one, is entered in the digest chain."""
        state, deal = self.game.initial(Dice(self.key, 0))
        return self._entered(state, deal), deal

    def play(self, move: Any) -> tuple[Course, Event]:
        """The move of the seat whose turn it is. Raises `IllegalMove`."""
        state, event = self.game.apply(self.state, move, Dice(self.key, self.ply))
        return self._entered(state, event), event

    def leave(self, seat: int, reason: str) -> tuple[Course, Event]:
        """A seat drops out; it does not advance the ply."""
        event = Event(ply=self.ply, seat=seat, out=reason)
        goes_on = self.game.seats > 2 and self.to_move is not None
        after = self._entered(self.game.remove_seat(self.state, seat) if goes_on else self.state, event)
        return replace(after, out={**self.out, seat: reason}), event

    def voided(self) -> Course:
        """The match called off: everyone ties, nobody is rated."""
        return replace(self, called_off=True)

    @property
    def over(self) -> bool:
        """Whether nobody is to move any more."""
        return self.called_off or self.to_move is None or len(self.out) >= self.game.seats - 1

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks as they stand; of a match that goes on, seats still in it share the first."""
        if self.called_off:
            return (1,) * self.game.seats
        if self.to_move is None or self.game.seats > 2:
            return self.game.ranks(self.state)
        return tuple(1 + (seat in self.out) for seat in range(2))

    @property
    def reason(self) -> str:
        """Why the match is over."""
        if self.called_off:
            return VOID
        if self.to_move is None:
            return self.game.reason(self.state)
        return list(self.out.values())[-1]

    def seat_reason(self, seat: int) -> str:
        """Why the match is over for one seat."""
        if self.called_off:
            return VOID
        natural = self.game.reason(self.state) if self.to_move is None else WIN
        return self.out.get(seat, natural)

    def _entered(self, state: Any, event: Event | None) -> Course:
        game = self.game
        wire = game.encode_state(state)
        digest = self.digest if event is None else next_digest(self.digest, event, wire)
        return Course(game, self.key, digest, state, wire["ply"], wire["to_move"], wire, self.out)
