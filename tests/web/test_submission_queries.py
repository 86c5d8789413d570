"""The query of a request about a hosted bot says one thing."""

from __future__ import annotations

import pytest
from starlette.requests import Request

from arena.web.submissions import _check_query
from protocol.errors import UsageFault


def test_a_field_of_the_hosting_of_a_bot_that_is_given_twice_changes_nothing() -> None:
    for query in (b"version=1&version=2", b"paused=true&paused=false", b"game=nim&version=1&version=1"):
        request = Request({"type": "http", "query_string": query})
        with pytest.raises(UsageFault, match="is given twice: give it once or not at all"):
            _check_query(request, ("paused", "version", "game"))
    _check_query(Request({"type": "http", "query_string": b"game=nim&game=tictactoe"}), ("game",))
