"""A match as one JSON document: its record, with the state after every event."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct, field

from measuring.luck import Luck
from protocol.errors import BadRecord, MissingRules
from referee.course import Course
from referee.record import Footer, Header, Ply, Record, Sealed, Strike, describe_other_rules
from referee.replay import replay

_encode = msgspec.json.Encoder().encode


class StatedPly(Ply, frozen=True, kw_only=True, tag="ply"):
    """An event, with the state after it. From the first event that contradicts the rules or the dice, `state` is the
    one in the record, or None if the record has none.

    `sealed` are the sealed moves since the previous event.
    """

    sealed: list[Sealed] = field(default_factory=list)


class Document(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A finished match. `start` is the state before its first event. `sealed` are the moves of a last round that did
    not end, because the match was called off. `fault` is an error in the record.

    `luck` is present on request, in games with dice. `annulled` is the pool that rated the match until the operator
    annulled it.
    """

    header: Header
    start: dict[str, Any]
    plies: list[StatedPly]
    strikes: list[Strike]
    sealed: list[Sealed] = []
    footer: Footer
    luck: Luck | None = None
    annulled: str | None = None
    fault: str | None = None


class ReplayedMatch:
    """The match of a record, replayed while its plies are read. It can be read only once."""

    def __init__(self, record: Record) -> None:
        self.start: dict[str, Any] = {}
        self.fault: str | None = None
        """The first error in the part of the record read so far; None if there is none."""
        self.strikes: list[Strike] = []
        """The strikes in the part of the record read so far."""
        self.sealed: list[Sealed] = []
        """The sealed moves since the last event in the part of the record read so far."""
        self.record = record
        self._courses = replay(record)
        course = self._next()
        if course is not None:
            self.start = course.encoded_state

    def plies(self) -> Iterator[StatedPly]:
        """Yield every event, with the state after it as long as the replay succeeds."""
        for line in self.record.lines:
            course = self._next()
            if isinstance(line, Strike):
                self.strikes.append(line)
            elif isinstance(line, Sealed):
                self.sealed.append(line)
            else:
                sealed, self.sealed = self.sealed, []
                yield StatedPly(
                    **{**msgspec.structs.asdict(line), "state": self._state_after(line, course)}, sealed=sealed
                )

    def _state_after(self, line: Ply, course: Course | None) -> dict[str, Any] | None:
        if course is not None:
            return course.encoded_state
        return None if self.record.header.rules is None else line.state

    def _next(self) -> Course | None:
        if self.fault is None:
            try:
                return next(self._courses)[1]
            except MissingRules as exc:
                self.fault = str(exc)
            except BadRecord as exc:
                other_rules = describe_other_rules(self.record.header)
                self.fault = f"{exc}; it was refereed {other_rules}" if other_rules else str(exc)
        return None


def make_document(record: Record) -> Document:
    """Return a record as a document. Each event has the state after it, as long as the replay succeeds."""
    refereed = ReplayedMatch(record)
    plies = list(refereed.plies())
    return Document(
        header=record.header,
        start=refereed.start,
        plies=plies,
        strikes=refereed.strikes,
        sealed=refereed.sealed,
        footer=record.footer,
        fault=refereed.fault,
    )


def iter_document_json(replayed: ReplayedMatch, annulled: str | None = None) -> Iterator[bytes]:
    """Yield the document as JSON, one chunk per ply, so that it is never in memory as a whole."""
    record = replayed.record
    yield b'{"header":%b,"start":%b,"plies":[' % (_encode(record.header), _encode(replayed.start))
    comma = b""
    for ply in replayed.plies():
        yield comma + _encode(ply)
        comma = b","
    yield b'],"strikes":%b' % _encode(replayed.strikes)
    if replayed.sealed:
        yield b',"sealed":%b' % _encode(replayed.sealed)
    yield b',"footer":%b' % _encode(record.footer)
    for name, value in (("annulled", annulled), ("fault", replayed.fault)):
        if value is not None:
            yield b',"%b":%b' % (name.encode(), _encode(value))
    yield b"}"
