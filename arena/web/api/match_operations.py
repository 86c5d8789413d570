"""What is told of one finished match: its result, all its states, its grades, and it as files."""

from __future__ import annotations

from functools import lru_cache

from msgspec.structs import replace

from arena.replay import grading
from arena.replay import match_document as documents
from arena.replay.grading import Grades
from arena.replay.match_document import Document
from arena.store.result_queries import record_of, result_of
from arena.web.api.operation import ApiRequest, File
from arena.web.api.query_types import Query
from arena.web.errors import NotFound
from arena.web.offline import offline_page
from protocol.display import shown
from referee import record_reader
from referee.result import Result


def result(asked: ApiRequest[Query]) -> Result:
    """How a match ended: its row among the matches."""
    found = asked.site.reader.read(result_of, asked.path["match"])
    if found is None:
        raise _no_match(asked.path["match"])
    return found


def _no_match(name: str) -> NotFound:
    return NotFound(f"there is no match {shown(name)}: none under way is told here, only finished ones")


def _record(asked: ApiRequest[Query]) -> bytes:
    """A match's record, gzipped. Raises `NotFound`."""
    body = asked.site.reader.read(record_of, asked.path["match"])
    if body is None:
        raise _no_match(asked.path["match"])
    return body


def match(asked: ApiRequest[Query]) -> Document:
    """A match with the state after every event, as `arena replay show --json` has it, without luck."""
    stored = result(asked)
    document = documents.document(record_reader.read(_record(asked), stored.match))
    return replace(document, annulled=stored.annulled)


def grades(asked: ApiRequest[Query]) -> Grades:
    """What each move gave away where the game is solved, and its dice gave, as `arena replay grade --json` has it."""
    return _graded(_record(asked), asked.path["match"])


@lru_cache(maxsize=64)
def _graded(body: bytes, name: str) -> Grades:
    return grading.grade(record_reader.read(body, name))


def packed(asked: ApiRequest[Query]) -> File:
    """The record of a match as it was closed, to be saved."""
    return File(f"{asked.path['match']}.jsonl.gz", _record(asked))


def unpacked(asked: ApiRequest[Query]) -> File:
    """The record of a match as JSON lines, to be saved."""
    name = asked.path["match"]
    return File(f"{name}.jsonl", record_reader.unpack(_record(asked), name))


def whole(asked: ApiRequest[Query]) -> File:
    """A match in one HTML file that plays offline, to be saved."""
    name = asked.path["match"]
    return File(f"{name}.html", offline_page(record_reader.read(_record(asked), name)))
