"""A bot whose program can't go on: the match is lost as failed, and the operator is told why."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from arena.store.registry import latest_incidents
from arena.store.result_queries import match_failures
from arena.store.store import Reader
from commands import call
from referee.effects import Resignation
from referee_table import Table

WHY = "raised ValueError: no plan, in mine.py line 5"


async def test_the_operator_is_told_why_a_program_failed_and_others_that_it_did(serve: Any) -> None:
    served = await serve()
    first, second, start = await served.begun()
    await first.send(type="resign", match=start["match"], failure=f"{WHY}\n\tat last")
    end = await second.expect("end")
    loser = start["seats"][0]["bot"]
    assert (end["reason"], end["seats"][0]["reason"], end["ranks"]) == ("failed", "failed", [2, 1])
    assert WHY not in str(end)
    told = [failure.text for failure in served.arena.host.events.failures if failure.who == loser]
    assert told == [f"failed in {start['match']}: {WHY}\\n\\tat last"]
    await served.arena.close()
    shown = call("arena", "replay", "show", start["match"], "--data", str(served.data)).out
    assert f"  2. {loser} (its program failed: {WHY}\\n\\tat last)" in shown
    assert f"{loser}  its program failed" in shown
    with closing(Reader.open(served.data / "arena.db")) as reader:
        assert reader.read(match_failures, start["match"]) == {0: f"{WHY}\n\tat last"}
        (incident,) = reader.read(latest_incidents, loser)
    assert (incident.code, incident.text) == (
        "failed",
        f"its program failed in {start['match']}: see the output of the program",
    )


@pytest.mark.parametrize("begun", [False, True])
def test_a_program_that_fails_loses_whenever_it_does(begun: bool) -> None:
    table = Table("nim")
    if begun:
        table.begin()
    table.send(Resignation(0, failed=True))
    assert [(seat.rank, seat.reason) for seat in table.match.result("").seats] == [(2, "failed"), (1, "win")]
