"""The course of a match: how each event changes the state, the digest chain and the seats still in the match. The
referee, a restart from the journal and `verify` all play matches through this module.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from protocol.dice import Dice, match_key
from protocol.digest import first_digest, make_salt, next_digest, result_digest, strikes_digest
from protocol.games.base import Game
from protocol.games.simultaneous import SimultaneousGame
from protocol.messages import CHANCE, Event, RulesStamp
from protocol.reasons import VOID, WIN

NO_SEALED_MOVES: Mapping[int, Any] = {}
"""The value of `sealed` while no move is sealed. All courses share it, because a new mapping at each ply takes time."""


class Payoff(NamedTuple):
    """A seat's total payoff in a match, and its number of rounds. If the number of rounds is 0, the match does not
    count for the seat.
    """

    total: int
    rounds: int

    @property
    def mean(self) -> float | None:
        """The payoff per round, as the nearest double; None if there were no rounds."""
        return self.total / self.rounds if self.rounds else None


class Course(Struct, frozen=True, gc=False):
    """A match up to some event, as an immutable value. `begin` sets up the first state. `play`, `drop_out` and
    `play_due` each return the next course and the event, until the match `is_over`.

    Two events need no further move: a deal, and a simultaneous round in which all seats have chosen. While such an
    event `is_due`, call `play_due`. The moves of a simultaneous round are `sealed` until all seats have chosen: before
    that, neither the state nor the digest has them.
    """

    game: Game[Any, Any]
    key: bytes
    """The secret key from which all dice derive."""
    digest: bytes
    state: Any = None
    ply: int = 0
    to_move: int | tuple[int, ...] | None = None
    """The seat whose turn it is, or the seats that choose in this round; `CHANCE` before a deal."""
    encoded_state: dict[str, Any] = {}
    """The state as messages carry it."""
    dropped_out: Mapping[int, str] = {}
    """The seats that dropped out, in order, each with the reason."""
    is_void: bool = False
    sealed: Mapping[int, Any] = {}
    """The sealed moves, by seat, in a simultaneous round that is not complete."""
    unreported_strikes: tuple[int, ...] | None = None
    """The strikes that the next event reports: a sorted tuple with a seat for each strike. It is None if the event has
    no field for strikes.
    """

    @classmethod
    def new(
        cls,
        match: str,
        game: Game[Any, Any],
        names: Sequence[str],
        commitment: bytes,
        seed: bytes,
        nonces: Sequence[bytes],
        rules: RulesStamp | None = None,
    ) -> Course:
        """Return the course of a match before its first state."""
        digest = first_digest(match, game.name, game.config, names, commitment, nonces, rules)
        return cls(game, match_key(match, seed, nonces), digest, unreported_strikes=())

    def begin(self) -> tuple[Course, Event | None]:
        """Return the course with its first state, and the event of the deal, if there is one. This event enters the
        digest chain.
        """
        state, deal = self.game.initial(Dice(self.key, 0))
        if deal is None:
            wire = self.game.encode_state(state)
            to_move = wire["to_move"]
            to_move = tuple(to_move) if type(to_move) is list else to_move
            return replace(self, state=state, ply=wire["ply"], to_move=to_move, encoded_state=wire), None
        return self._apply_event(state, deal)

    def is_awaited(self, seat: int) -> bool:
        """Return whether a seat has to move now."""
        to_move = self.to_move
        return seat == to_move if type(to_move) is not tuple else seat in to_move and seat not in self.sealed

    @property
    def awaited_seats(self) -> tuple[int, ...]:
        """The seats that have to move now."""
        to_move = self.to_move
        if isinstance(to_move, tuple):
            return tuple(seat for seat in to_move if seat not in self.sealed)
        return () if to_move is None or to_move == CHANCE else (to_move,)

    def legal_moves(self, seat: int) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
        """Return the encoded legal moves of a seat that has to move, and the `options` of its `turn` message. The
        options are None if the list of moves is complete.
        """
        if type(self.to_move) is tuple:
            game = self._simultaneous_game
            return [game.encode_move(move) for move in game.legal_moves_of(self.state, seat)], None
        return self.game.legal_moves_for_turn(self.state)

    def play(self, seat: int, move: Any) -> tuple[Course, Event | None]:
        """Play a seat's move. In a simultaneous round, only seal it. Raise `IllegalMove` if the rules forbid it."""
        if type(self.to_move) is tuple:
            self._simultaneous_game.check_move(self.state, seat, move)
            return replace(self, sealed={**self.sealed, seat: move}), None
        return self._apply_event(*self.game.apply(self.state, move, Dice(self.key, self.ply)))

    def add_strike(self, seat: int) -> Course:
        """Count a strike, for a refused move, among the strikes that the next event reports. Strikes are sorted by
        seat, because their order in a round does not matter.
        """
        return replace(self, unreported_strikes=tuple(sorted((*(self.unreported_strikes or ()), seat))))

    @property
    def is_due(self) -> bool:
        """True if the next event needs no further move: it is a deal, or a round in which all seats have chosen."""
        return self.to_move == CHANCE or (bool(self.sealed) and not self.awaited_seats)

    def play_due(self) -> tuple[Course, Event]:
        """Play the deal or the round that is due."""
        dice = Dice(self.key, self.ply)
        if self.sealed:
            return self._apply_event(*self._simultaneous_game.resolve_round(self.state, self.sealed, dice))
        return self._apply_event(*self.game.apply_chance(self.state, dice))

    def drop_out(self, seat: int, reason: str) -> tuple[Course, Event]:
        """Let a seat drop out. The event has the number of the current ply, and this number does not change."""
        event = Event(ply=self.ply, seat=seat, out=reason)
        goes_on = self.game.seats > 2 and self.to_move is not None
        after, event = self._apply_event(self.game.remove_seat(self.state, seat) if goes_on else self.state, event)
        sealed = {at: move for at, move in self.sealed.items() if at != seat} if goes_on else {}
        return replace(after, dropped_out={**self.dropped_out, seat: reason}, sealed=sealed), event

    def call_off(self) -> Course:
        """Return the course with the match called off: all seats tie and no rating changes. If there are strikes that
        no event has reported, they are added to the match's digest.
        """
        digest = strikes_digest(self.digest, self.unreported_strikes) if self.unreported_strikes else self.digest
        return replace(self, is_void=True, digest=digest)

    def bind_result(self) -> Course:
        """Return the course of a match that is over, with the result in its digest. The digest of a void match has no
        result, because all void matches have the same.
        """
        if self.is_void:
            return self
        reasons = [self.seat_reason(seat) for seat in range(self.game.seats)]
        paid = self.payoffs and [(payoff.total if payoff.rounds else 0, payoff.rounds) for payoff in self.payoffs]
        return replace(self, digest=result_digest(self.digest, self.ranks, self.reason, reasons, paid))

    @property
    def is_over(self) -> bool:
        """True if the match is over: no seat is to move, at most one seat is left, or the match was called off."""
        return self.is_void or self.to_move is None or len(self.dropped_out) >= self.game.seats - 1

    @property
    def ranks(self) -> tuple[int, ...]:
        """The current ranks. In a match that goes on, seats still in it share rank 1."""
        if self.is_void:
            return (1,) * self.game.seats
        if self.to_move is None or self.game.seats > 2:
            return self.game.ranks(self.state)
        return tuple(1 + (seat in self.dropped_out) for seat in range(2))

    @property
    def payoffs(self) -> tuple[Payoff, ...] | None:
        """The payoffs by seat from the complete rounds, once the match is over. A seat that left also gets the least
        payoff for each round that was still to come. The value is None if ranks are the result, or if the match was
        called off.
        """
        game = self.game
        if not game.payoff_unit or self.is_void:
            return None
        paid = game.returns(self.state)
        assert paid is not None
        complete, to_come = game.count_rounds(self.state)
        return tuple(
            Payoff(total + least * to_come, complete + to_come) if seat in self.dropped_out else Payoff(total, complete)
            for seat, (total, least) in enumerate(zip(paid, game.least_payoffs, strict=True))
        )

    def check_result(self) -> None:
        """Raise an error if the rules fail to give the result of a match that is over."""
        _ranks, _reason, _payoffs = self.ranks, self.reason, self.payoffs

    @property
    def reason(self) -> str:
        if self.is_void:
            return VOID
        if self.to_move is None:
            return self.game.reason(self.state)
        return list(self.dropped_out.values())[-1]

    def seat_reason(self, seat: int) -> str:
        """Return why the match is over for one seat."""
        if self.is_void:
            return VOID
        natural = self.game.reason(self.state) if self.to_move is None else WIN
        return self.dropped_out.get(seat, natural)

    def _apply_event(self, state: Any, event: Event) -> tuple[Course, Event]:
        if self.unreported_strikes is not None:
            event = replace(event, strikes=list(self.unreported_strikes))
        game, previous = self.game, self.digest
        wire = game.encode_state(state)
        if game.hidden:
            previous += make_salt(self.key, previous)
        to_move = wire["to_move"]
        after = Course(
            game,
            self.key,
            next_digest(previous, event, wire),
            state,
            wire["ply"],
            tuple(to_move) if type(to_move) is list else to_move,
            wire,
            self.dropped_out,
            False,
            NO_SEALED_MOVES,
            None,
        )
        return after, event

    @property
    def _simultaneous_game(self) -> SimultaneousGame[Any, Any]:
        assert isinstance(self.game, SimultaneousGame)
        return self.game
