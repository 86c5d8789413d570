"""Sealed bids: each seat is dealt what a lot is worth to it alone, both bid at once, and the higher bid pays.

This is an example of a game with hidden information and simultaneous moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

from protocol.dice import Dice
from protocol.display import short_repr
from protocol.errors import MalformedMove
from protocol.games.parsing import parse_integer, parse_whole_number, raise_illegal, read_config, read_move_fields
from protocol.games.simultaneous import SimultaneousGame
from protocol.messages import CHANCE, Event

MOST = 10
"""The maximum worth of a lot to a seat, and the maximum bid."""


class Sale(NamedTuple):
    """A state. `worth` is what the lot is worth to each seat: None before the deal, and in a view for the other."""

    at: int
    lots: int
    """The number of lots that were sold or that nobody got."""
    gains: tuple[int, int]
    worth: tuple[int | None, int | None] | None


class Auction(SimultaneousGame[Sale, int]):
    """The rules of sealed bids. The config has the number of `lots`. A move is a bid from 0 to `MOST`. If both bids are
    equal, nobody gets the lot. The seat with the higher total gain wins."""

    name = "auction"
    title = "Sealed bids"
    about = "Both bid at once for what is worth something else to each."
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"classic": {"lots": 10}}
    preset_titles: ClassVar[Mapping[str, str]] = {"classic": "ten lots"}
    draw_probability = 0.05
    hidden = True
    move_syntax = "7: what you bid"

    def __init__(self, config: Mapping[str, Any]) -> None:
        given = read_config(Auction, config, {"lots": 10})
        self.lots = parse_integer("auction", "lots", given["lots"], 1, 1000)
        self.config = {"lots": self.lots}

    def initial(self, dice: Dice) -> tuple[Sale, Event]:
        return self.apply_chance(Sale(0, 0, (0, 0), None), dice)

    def to_move(self, state: Sale) -> int | None:
        if state.lots == self.lots:
            return None
        return CHANCE if state.worth is None else 0

    def movers(self, state: Sale) -> tuple[int, ...]:
        return () if state.worth is None else (0, 1)

    def legal_moves_of(self, state: Sale, seat: int) -> range:
        return range(MOST + 1)

    def check_move(self, state: Sale, seat: int, move: int) -> None:
        if not 0 <= move <= MOST:
            raise_illegal(f"{move} can't be bid: 0 to {MOST}")

    def apply_chance(self, state: Sale, dice: Dice) -> tuple[Sale, Event]:
        one, two = (1 + dice.choice(f"worth-{seat}", MOST) for seat in range(2))
        event = Event(ply=state.at, seat=CHANCE, move={"worth": [one, two]})
        return state._replace(at=state.at + 1, worth=(one, two)), event

    def chance_outcomes(self, state: Sale) -> list[tuple[Fraction, Sale]]:
        each = range(1, MOST + 1)
        after = [state._replace(at=state.at + 1, worth=(one, two)) for one in each for two in each]
        return [(Fraction(1, len(after)), one) for one in after]

    def resolve_round(self, state: Sale, moves: Mapping[int, int], dice: Dice) -> tuple[Sale, Event]:
        assert state.worth is not None
        got = [0, 0]
        winner = None if moves[0] == moves[1] else int(moves[1] > moves[0])
        if winner is not None:
            got[winner] = (state.worth[winner] or 0) - moves[winner]
        event = Event(ply=state.at, seat=CHANCE, moves=self.encode_moves(moves), result={"gained": got})
        gains = state.gains[0] + got[0], state.gains[1] + got[1]
        return Sale(state.at + 1, state.lots + 1, gains, None), event

    def ply(self, state: Sale) -> int:
        return state.at

    def key(self, state: Sale) -> Sale:
        return state._replace(at=0)

    def ranks(self, state: Sale) -> tuple[int, ...]:
        one, two = state.gains
        return (1 + (one < two), 1 + (two < one))

    # What a seat may see, and what it knows.

    def view(self, wire: dict[str, Any], seat: int | None) -> dict[str, Any]:
        return wire if wire["worth"] is None else {**wire, "worth": _seen(wire["worth"], seat)}

    def view_event(self, event: Event, seat: int | None) -> Event:
        if event.move is None:
            return event
        return Event(ply=event.ply, seat=CHANCE, move={"worth": _seen(event.move["worth"], seat)})

    def information_set(self, state: Sale, seat: int) -> tuple[Any, ...]:
        return state.lots, state.gains, None if state.worth is None else state.worth[seat]

    # How it travels, and how people read it.

    def encode_state(self, state: Sale) -> dict[str, Any]:
        worth, to_move = state.worth and list(state.worth), self.to_move(state)
        waits = [0, 1] if to_move == 0 else to_move
        return {"lots": state.lots, "gains": list(state.gains), "worth": worth, "to_move": waits, "ply": state.at}

    def decode_state(self, wire: Mapping[str, Any]) -> Sale:
        (one, two), worth = wire["gains"], wire["worth"]
        return Sale(wire["ply"], wire["lots"], (one, two), None if worth is None else (worth[0], worth[1]))

    def encode_move(self, move: int) -> dict[str, Any]:
        return {"bid": move}

    def decode_move(self, wire: Any) -> int:
        return read_move_fields(wire, '{"bid": 7}', "bid")[0]

    def draw_board(self, state: Sale) -> str:
        worth = (
            "" if state.worth is None else "; worth {} and {}".format(*("?" if w is None else w for w in state.worth))
        )
        return f"{state.lots} of {self.lots} lots gone, gains {state.gains[0]} and {state.gains[1]}{worth}"

    def notation(self, move: int) -> str:
        return str(move)

    def parse_move(self, text: str) -> int:
        bid = parse_whole_number(text)
        if bid is None:
            raise MalformedMove(f"{short_repr(text)} is no bid: a number from 0 to {MOST}")
        return bid

    def describe_event(self, event: Event) -> str:
        return f"gained {event.result['gained']}" if event.result else f"worth {(event.move or {})['worth']}"


def _seen(worth: list[int | None], seat: int | None) -> list[int | None]:
    return [value if at == seat else None for at, value in enumerate(worth)]
