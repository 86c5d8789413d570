"""What is told, and what is logged, where something is wrong that nobody foresaw."""

from __future__ import annotations

import json
import logging
import sys

import pytest
from sqlalchemy import Connection

from web_client import Visitor


@pytest.mark.parametrize("address", ["/leaderboard", "/api/v1/pools"])
def test_what_nobody_foresaw_is_a_sentence_for_people_and_a_line_in_the_log(
    visitor: Visitor, address: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(connection: Connection, game: str | None = None, season: str | None = None) -> list[str]:
        raise ZeroDivisionError("by <b>\n")

    for user in ("arena.web.pages.leaderboard", "arena.web.api.operations"):
        monkeypatch.setattr(sys.modules[user], "pools_with_results", fail)
    with caplog.at_level(logging.INFO):
        answer = visitor.get(address)
    assert answer.status == 500
    assert "because of an internal error of the arena" in answer.text
    assert "ZeroDivisionError" not in answer.text
    assert answer.headers["x-content-type-options"] == "nosniff"
    (line,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert line.getMessage().startswith(f"{address} failed: ZeroDivisionError: by <b>\\n, in {__file__} line ")
    assert line.exc_info is None


def test_of_what_is_wrong_a_program_is_told_in_json(visitor: Visitor) -> None:
    for address in ("/api/v1/nothing", "/api/v2"):
        told = json.loads(visitor.get(address).body)
        assert told == {"error": {"message": f"there is nothing at {address}"}}


def test_a_page_answers_no_method_but_reading(visitor: Visitor) -> None:
    answer = visitor.get("/", "POST")
    assert (answer.status, "accepts only GET and HEAD" in answer.text) == (405, True)
    head = visitor.get("/", "HEAD")
    assert (head.status, head.body) == (200, b"")
