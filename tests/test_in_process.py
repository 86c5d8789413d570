"""An arena in the process of the test, which many tests share one after the other."""

from __future__ import annotations

from pathlib import Path

from in_process import hosting
from players import player


async def test_a_match_that_is_left_before_it_begins_keeps_no_newcomer_from_playing(tmp_path: Path) -> None:
    async with hosting(tmp_path) as served:
        async with player(served.url, "ann") as ann, player(served.url, "bob") as bob:
            for one, other in ((ann, "bob"), (bob, "ann")):
                await one.seek(opponent=other)
            await ann.begin()
            await bob.expect("start")
        async with player(served.url, "cid") as cid, player(served.url, "dan") as dan:
            for one, other in ((cid, "dan"), (dan, "cid")):
                await one.seek(opponent=other)
            await cid.begin()
            await dan.begin()
