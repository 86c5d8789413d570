"""The events of a record as rows of a table: one row per ply, preceded by one for each move of a simultaneous round."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from protocol.messages import CHANCE, Event
from referee.record import Record, Sealed, Strike

_json = msgspec.json.Encoder().encode


class PlyRow(NamedTuple):
    """A row of a table of events. `move`, `dice`, `result` and `info` are JSON, as in the record; None if there is
    none.

    In a simultaneous round, each seat has a row with its move, in order of arrival. Then a row without seat and move
    has the round's result.

    The other fields concern the bot of the row. `clock_ms` is the time left in its bank after the event. `thought_ms`
    is the time that it thought, `given_ms` the time given back to it before the event. `strikes` counts its refused
    moves since its previous event. `value` is its own evaluation.
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


def iter_ply_rows(record: Record) -> Iterator[PlyRow]:
    """Yield the rows of a match in order. Raise `BadRecord` if a line of the record cannot be read."""
    clock, seats = record.header.clock, record.header.seats
    banks = [clock.bank_ms] * len(seats)
    strikes = [0] * len(seats)
    for line in record.lines:
        if isinstance(line, Strike):
            strikes[line.seat] += 1
            continue
        event = Event(ply=line.ply, seat=line.seat, move=line.move) if isinstance(line, Sealed) else line.event
        seat, info = event.seat, line.info
        told = (_to_json(event.move), _to_json(event.dice), _to_json(event.result), event.out)
        if seat == CHANCE:
            yield PlyRow(event.ply, seat, None, *told, *(None,) * 6)
            continue
        left = line.clock[seat]
        added = clock.increment_ms if event.out is None else 0
        yield PlyRow(
            *(event.ply, seat, seats[seat].bot, *told),
            *(left, max(0, banks[seat] + added - left), line.given, strikes[seat]),
            *((None, None) if info is None else (info.value, _to_json(info))),
        )
        banks[seat] = left
        strikes[seat] = 0


def _to_json(value: object) -> str | None:
    return None if value is None else _json(value).decode()
