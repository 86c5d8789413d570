"""What people call themselves, beside the names of their bots on pages and in the API."""

from __future__ import annotations

import json

from arena.store.registry import add_bots
from arena.store.tokens import hash_token
from seasons import finish, result
from web_client import Visitor

MARKUP = "<b>Zoë & Co"


def test_a_display_name_stands_beside_the_name_wherever_a_page_names_a_bot(visitor: Visitor) -> None:
    hashes = {name: hash_token(name * 8) for name in ("zoe", "bob")}
    visitor.store.write(add_bots, hashes, {"zoe": MARKUP})
    finish(visitor.store, result("m-1", ("zoe", "bob")))
    shown = '<bdi class="display">&lt;b&gt;Zoë &amp; Co</bdi>'
    for address in ("/leaderboard/nim/classic", "/bots/zoe", "/"):
        page = visitor.get(address).text
        assert shown in page, address
        assert MARKUP not in page, address
        assert page.count('class="display"') == page.count(shown), address


def test_the_api_has_display_names_and_null_where_there_is_none(visitor: Visitor) -> None:
    hashes = {name: hash_token(name * 8) for name in ("zoe", "bob")}
    visitor.store.write(add_bots, hashes, {"zoe": MARKUP})
    rows = json.loads(visitor.get("/api/v1/bots").text)["rows"]
    assert [(row["bot"], row["display"]) for row in rows] == [("bob", None), ("zoe", MARKUP)]
    assert json.loads(visitor.get("/api/v1/bots/zoe").text)["display"] == MARKUP
