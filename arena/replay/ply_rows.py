"""A record's events as rows of a table: one for each ply, and one before it for each move of a round."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from protocol.messages import CHANCE, Event
from referee.record import Record, Sealed, Strike

_json = msgspec.json.Encoder().encode


class PlyRow(NamedTuple):
    """What happened at a ply. Moves, dice, results and info are JSON, as in the record; None is what there is not.

    Where several move at once each has a row with its move, in the order in which they came, and what came of the round
    follows in one of no seat, with no move. Of the bot whose event it is: `clock_ms` is left in its bank after it,
    `thought_ms` were taken off it for it, `given_ms` given back before; `strikes` are its moves that were refused since
    its last event, `value` is what it said of its prospects.
    """

    ply: int
    seat: int
    bot: str | None
    move: str | None
    dice: str | None
    result: str | None
    out: str | None
    clock_ms: int | None
    thought_ms: int | None
    given_ms: int | None
    strikes: int | None
    value: float | None
    info: str | None


def rows(record: Record) -> Iterator[PlyRow]:
    """The plies of a match in their order. Raises `BadRecord` where a line can't be read."""
    clock, seats = record.header.clock, record.header.seats
    banks = [clock.bank_ms] * len(seats)
    strikes = [0] * len(seats)
    for line in record.lines:
        if isinstance(line, Strike):
            strikes[line.seat] += 1
            continue
        event = Event(ply=line.ply, seat=line.seat, move=line.move) if isinstance(line, Sealed) else line.event
        seat, info = event.seat, line.info
        told = (_text(event.move), _text(event.dice), _text(event.result), event.out)
        if seat == CHANCE:
            yield PlyRow(event.ply, seat, None, *told, *(None,) * 6)
            continue
        left = line.clock[seat]
        added = clock.increment_ms if event.out is None else 0
        yield PlyRow(
            *(event.ply, seat, seats[seat].bot, *told),
            *(left, max(0, banks[seat] + added - left), line.given, strikes[seat]),
            *((None, None) if info is None else (info.value, _text(info))),
        )
        banks[seat] = left
        strikes[seat] = 0


def _text(value: object) -> str | None:
    return None if value is None else _json(value).decode()
