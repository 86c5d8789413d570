"""What is told of one finished match: its result, all its states, its grades, and it as files."""

from __future__ import annotations

from functools import lru_cache

from arena.referee import reading
from arena.referee.result import Result
from arena.replay import document as documents
from arena.replay import grading
from arena.replay.document import Document
from arena.replay.grading import Grades
from arena.web.api.operation import File, Inquiry
from arena.web.api.queries import Query
from arena.web.faults import NotFound
from arena.web.offline import offline_page
from protocol.errors import UsageFault
from protocol.shown import shown


def result(asked: Inquiry[Query]) -> Result:
    """How a match ended."""
    found = asked.site.reader.match(asked.path["match"])
    if found is None:
        raise _no_match(asked.path["match"])
    return found


def _no_match(name: str) -> NotFound:
    return NotFound(f"there is no match {shown(name)}: none under way is told here, only finished ones")


def _record(asked: Inquiry[Query]) -> bytes:
    """A match's record, gzipped. Raises `NotFound`."""
    body = asked.site.reader.record(asked.path["match"])
    if body is None:
        raise _no_match(asked.path["match"])
    return body


def match(asked: Inquiry[Query]) -> Document:
    """A match with the state after every event."""
    return documents.document(reading.read(_record(asked), asked.path["match"]))


def grades(asked: Inquiry[Query]) -> Grades:
    """What each move of a solved game gave away."""
    return _graded(_record(asked), asked.path["match"])


@lru_cache(maxsize=64)
def _graded(body: bytes, name: str) -> Grades:
    return grading.grade(reading.read(body, name))


def packed(asked: Inquiry[Query]) -> File:
    """The record as it was closed."""
    return File(f"{asked.path['match']}.jsonl.gz", _record(asked))


def unpacked(asked: Inquiry[Query]) -> File:
    """The record as JSON lines."""
    name = asked.path["match"]
    return File(f"{name}.jsonl", reading.unpack(_record(asked), name))


def whole(asked: Inquiry[Query]) -> File:
    """The match as one page that plays offline."""
    name, body = asked.path["match"], _record(asked)
    made = documents.document(reading.read(body, name))
    try:
        graded = None if made.fault else _graded(body, name)
    except UsageFault:  # its game is not solved
        graded = None
    return File(f"{name}.html", offline_page(made, graded))
