"""What visitors may not know of a tournament: its seed while it is played, and the command lines of its bots."""

from __future__ import annotations

import pytest
from msgspec import json

from arena.store.tournament_state import finish_tournament, open_tournament
from seasons import ROUND_ROBIN
from web_client import Visitor

SEED = "5eed" * 8
ARGUMENTS = {
    **ROUND_ROBIN,
    "bots": ["ann", "bob=python /home/me/bob.py --key s3cret", "cid=./cid.py", "uct:nodes=20"],
}


@pytest.mark.parametrize("is_over", [False, True])
def test_visitors_read_no_seed_of_a_tournament_under_way_and_no_command_line(
    visitor: Visitor, *, is_over: bool
) -> None:
    name, _ = visitor.store.write(open_tournament, json.encode(ARGUMENTS, order="sorted").decode(), SEED)
    if is_over:
        visitor.store.write(finish_tournament, name)
    one = json.decode(visitor.get(f"/api/v1/tournaments/{name}").text)
    (listed,) = json.decode(visitor.get("/api/v1/tournaments").text)["rows"]
    for answer in (one, listed):
        assert answer["seed"] == (SEED if is_over else None)
        assert answer["arguments"] == {**ARGUMENTS, "bots": ["ann", "bob", "cid", "uct:nodes=20"]}
    page = visitor.get(f"/tournaments/{name}").text
    assert (SEED in page) is is_over
    assert "s3cret" not in page
