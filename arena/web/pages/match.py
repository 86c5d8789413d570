"""A match: who played, how it ended, what it did to the ratings; the viewer of it, live or from its record."""

from __future__ import annotations

import re

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from arena.store.result_queries import record_of, result_of
from arena.web.errors import NotFound
from arena.web.formatting import result_sentence
from arena.web.rendering import render_page, site_of
from machine.exact.graders import has_judge
from protocol.errors import BadRecord, Fault
from protocol.games import load
from protocol.names import MATCH_PATTERN
from referee import record_reader
from referee.record import Record

_is_id = re.compile(MATCH_PATTERN).match


def match(request: Request) -> Response:
    """A stored match; or one that may be under way, which the page itself finds out where the arena is live."""
    site, name = site_of(request), request.path_params["match"]
    result = site.reader.read(result_of, name)
    if result is None:
        if not site.socket or not _is_id(name):
            raise NotFound(f"there is no match {name} here")
        return render_page(request, "live_match.html", match=name)
    record, damage = _record(site.reader.read(record_of, name), name)
    config = msgspec.json.format(msgspec.json.encode(result.config)).decode()
    return render_page(
        request,
        "match.html",
        result=result,
        told=result_sentence(result.reason, result.plies, result.seats),
        config=config,
        record=record,
        damage=damage,
        graded=record is not None and _is_graded(record),
    )


def _is_graded(record: Record) -> bool:
    try:
        return has_judge(load(record.header.game, record.header.config))
    except Fault:  # a game or a config of another version
        return False


def _record(body: bytes | None, name: str) -> tuple[Record | None, str | None]:
    """The record of a match, or what is wrong with it."""
    if body is None:
        return None, f"match {name} has no record"
    try:
        return record_reader.read(body, f"the record of {name}"), None
    except BadRecord as exc:
        return None, str(exc)
