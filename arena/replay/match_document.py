"""A match as one document: its record, with the state after every event."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

import msgspec
from msgspec import Struct

from measuring.luck import Luck
from protocol.errors import BadRecord
from referee.record import Footer, Header, Ply, Record, Strike
from referee.replay import replay


class StatedPly(Ply, frozen=True, kw_only=True, tag="ply"):
    """An event with the state after it, as it travels; None from the first that the rules and dice do not give."""

    state: dict[str, Any] | None = None


class Document(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A finished match. `start` is the state before its first event; `fault` says what is wrong with the record.

    `luck` is there where it was asked for and dice are thrown; `annulled` is the pool in which a match was rated until
    the operator annulled it.
    """

    header: Header
    start: dict[str, Any]
    plies: list[StatedPly]
    strikes: list[Strike]
    footer: Footer
    luck: Luck | None = None
    annulled: str | None = None
    fault: str | None = None


def document(record: Record) -> Document:
    """The match of a record, with states as far as it can be refereed again."""
    start: dict[str, Any] = {}
    states: list[dict[str, Any]] = []
    fault = None
    try:
        for line, course in replay(record):
            if line is None:
                start = course.wire
            elif isinstance(line, Ply):
                states.append(course.wire)
    except BadRecord as exc:
        fault = str(exc)
    return Document(
        header=record.header,
        start=start,
        plies=[_with_state(line, state) for line, state in zip_longest(record.plies, states)],
        strikes=[line for line in record.lines if isinstance(line, Strike)],
        footer=record.footer,
        fault=fault,
    )


def _with_state(line: Ply, state: dict[str, Any] | None) -> StatedPly:
    return StatedPly(**msgspec.structs.asdict(line), state=state)
