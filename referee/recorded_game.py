"""A game without its rules: the events and states of one record, in the place of rules that are missing.

A record has the states of a match if its game does not come with bot-arena. By them, the match can be replayed as if
the rules were here: whose turn it was, strikes, departures, the draws and the digests are checked. That a move is legal
and that a state follows from it is not checked, nor is the result.
"""

from __future__ import annotations

import textwrap
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from protocol.dice import Dice
from protocol.digest import encode_canonical, next_digest
from protocol.errors import BadRecord
from protocol.games.simultaneous import SimultaneousGame
from protocol.games.turn_chance import draw_outcome
from protocol.messages import CHANCE, Event
from protocol.reasons import NATURAL_ENDINGS
from referee.record import EventLine, Ply, Record

BOARD_COLUMNS = 80
"""Width of a state that is written out for a terminal, in columns."""

State = Mapping[str, Any]
"""The type of a state: as messages carry it."""
Move = Mapping[str, Any]
"""The type of a move: as messages carry it."""


class RecordedGame(SimultaneousGame[State, Move]):
    """The game of one record that has states. Its matches are those of the record only: `follow` tells it the line that
    is to be replayed next.
    """

    title = ""
    about = ""
    presets: Mapping[str, Mapping[str, Any]] = {}  # type: ignore[misc]
    draw_probability = 0.0

    def __init__(self, record: Record) -> None:
        header, footer = record.header, record.footer
        self.name = header.game  # type: ignore[misc]
        self.config = header.config
        self.seats = len(header.seats)
        self.payoff_unit = "round" if footer.payoffs is not None else ""  # type: ignore[misc]
        self.draws = 0
        """The number of draws that were made again from the dice."""
        self.unchecked_draws = 0
        """The number of events whose dice only the rules can throw again."""
        self._match, self._footer, self._recorded_pool = header.match, footer, header.pool
        self._first = next(record.plies, None)
        self._line = self._first

    def follow(self, lines: Iterable[EventLine]) -> Iterator[EventLine]:
        """Yield the lines of the record. Each becomes the line whose event is replayed next."""
        for line in lines:
            if isinstance(line, Ply):
                self._line = line
            yield line

    def find_salt(self, digest: bytes, key: bytes) -> None:
        """Find whether the digests are salted, as in games that hide something. `digest` is D(0), `key` the key of the
        match. The first event shows it.
        """
        first = self._first
        plain = first is None or next_digest(digest, first.event, first.state or {}).hex() == first.digest
        self.hidden = not plain

    # The course of the game.

    def initial(self, dice: Dice) -> tuple[State, Event | None]:
        first = self._first
        if first is None:  # seats may have had strikes before the match was called off
            return {"to_move": list(range(self.seats)), "ply": 0}, None
        event = first.event
        if event.out is not None:
            goes_on = self.seats > 2
            return ({"to_move": list(range(self.seats)), "ply": 0} if goes_on else self._state_after(0)), None
        if event.moves is not None:
            return {"to_move": [seat for seat, move in enumerate(event.moves) if move is not None], "ply": 0}, None
        if event.seat == CHANCE:
            return self.apply_chance({"to_move": CHANCE, "ply": 0}, dice)
        return {"to_move": event.seat, "ply": 0}, None

    def apply(self, state: State, move: Move, dice: Dice) -> tuple[State, Event]:  # type: ignore[override]
        event = self._recorded_event
        self.unchecked_draws += event.dice is not None
        made = Event(ply=state["ply"], seat=state["to_move"], move=dict(move), dice=event.dice, result=event.result)
        return self._state_after(state["ply"] + 1), made

    def resolve_round(self, state: State, moves: Mapping[int, Move], dice: Dice) -> tuple[State, Event]:
        event = self._recorded_event
        self.unchecked_draws += event.dice is not None
        made = Event(
            ply=state["ply"], seat=CHANCE, moves=self.encode_moves(moves), dice=event.dice, result=event.result
        )
        return self._state_after(state["ply"] + 1), made

    def apply_chance(self, state: State, dice: Dice) -> tuple[State, Event]:
        event = self._recorded_event
        drawn = None if event.move is None else draw_outcome(dice, event.move)
        self.draws += drawn is not None
        self.unchecked_draws += drawn is None
        move = event.move if drawn is None else drawn
        made = Event(ply=state["ply"], seat=CHANCE, move=move, dice=event.dice, result=event.result)
        return self._state_after(state["ply"] + 1), made

    def remove_seat(self, state: State, seat: int) -> State:
        return self._state_after(state["ply"])

    @property
    def _recorded_event(self) -> Event:
        assert self._line is not None  # an event is replayed only if the record has it
        return self._line.event

    def _state_after(self, ply: int) -> State:
        """Return the state that the record has after the current line. Raise `BadRecord` if it is not of this ply, or
        does not say who moves.
        """
        where = f"{self._match}: ply {self._recorded_event.ply}"
        state = None if self._line is None else self._line.state
        if state is None:
            raise BadRecord(f"{where}: the record has no state after this event")
        if type(state.get("ply")) is not int or state["ply"] != ply:
            raise BadRecord(f"{where}: the state after this event should have ply {ply}, but has {state.get('ply')}")
        to_move = state.get("to_move", -2)
        seats = to_move if isinstance(to_move, list) else [] if to_move is None else [to_move]
        first = 0 if isinstance(to_move, list) else CHANCE
        if not all(type(seat) is int and first <= seat < self.seats for seat in seats) or to_move == []:
            raise BadRecord(f"{where}: the state after this event does not say whose turn it is")
        return state

    def to_move(self, state: State) -> int | None:
        seat: int | list[int] | None = state["to_move"]
        return seat[0] if isinstance(seat, list) else seat

    def movers(self, state: State) -> tuple[int, ...]:
        seats = state["to_move"]
        return tuple(seats) if isinstance(seats, list) else ()

    def ply(self, state: State) -> int:
        ply: int = state["ply"]
        return ply

    def key(self, state: State) -> Hashable:
        return encode_canonical(state)

    def legal_moves(self, state: State) -> Sequence[Move]:
        return ()

    def legal_moves_of(self, state: State, seat: int) -> Sequence[Move]:
        return ()

    def check_move(self, state: State, seat: int, move: Move) -> None:
        """Accept every move: the rules are missing."""

    # The result, which only the rules can find: the record's.

    def ranks(self, state: State) -> tuple[int, ...]:
        return tuple(self._footer.ranks)

    def reason(self, state: State) -> str:
        reason = self._footer.reason
        if reason not in NATURAL_ENDINGS:
            raise BadRecord(f"{self._match}: the footer says {reason!r}, but the match was played to its end")
        return reason

    def returns(self, state: State) -> tuple[int, ...] | None:
        rounds = self._footer.rounds or [0] * self.seats
        means = self._footer.payoffs or [None] * self.seats
        return tuple(round((mean or 0) * number) for mean, number in zip(means, rounds, strict=True))

    def count_rounds(self, state: State) -> tuple[int, int]:
        rounds = self._footer.rounds or [0]
        return min(rounds), max(rounds) - min(rounds)

    @property
    def least_payoffs(self) -> tuple[int, ...]:
        return (0,) * self.seats

    @property
    def pools(self) -> list[str]:
        pool = self._recorded_pool
        return [pool] if pool is not None and pool.startswith(f"{self.name}/") else []

    # States and moves, as the record has them.

    def encode_state(self, state: State) -> dict[str, Any]:
        return dict(state)

    def decode_state(self, wire: Mapping[str, Any]) -> State:
        return wire

    def encode_move(self, move: Move) -> dict[str, Any]:
        return dict(move)

    def decode_move(self, wire: Any) -> Move:
        if not isinstance(wire, dict):
            raise BadRecord(f"{self._match}: ply {self._recorded_event.ply}: the record has no move")
        return wire

    def draw_board(self, state: State) -> str:
        """Return the fields of a state as lines of text, but for whose turn it is and the ply."""
        fields = [f"{key}: {_plain(value)}" for key, value in state.items() if key not in ("to_move", "ply")]
        return "\n".join(line for field in fields for line in textwrap.wrap(field, BOARD_COLUMNS))

    def notation(self, move: Move) -> str:
        if len(move) == 1:
            return _plain(next(iter(move.values())))
        return ", ".join(f"{key} {_plain(value)}" for key, value in move.items())


def _plain(value: Any) -> str:
    """Return a value as text: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else encode_canonical(value).decode()
