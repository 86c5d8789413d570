"""A server whose PostgreSQL goes away in the middle of play: what ends meanwhile is told once it is stored."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path

from arena.commands.db import look
from arena.store.integrity_check import check_database
from arena.store.result_queries import iter_results
from arena.store.store import Store
from players import meet, player
from postgres import PostgresServer
from processes import serving


async def test_a_match_that_ends_while_the_database_is_away_is_told_once_it_is_stored(tmp_path: Path) -> None:
    server = PostgresServer()
    try:
        server.start()
        server.execute("CREATE DATABASE arena")
        async with (
            serving(tmp_path, "--db", server.url("arena")) as served,
            player(served.url, "ann") as ann,
            player(served.url, "bob") as bob,
        ):
            start = await meet(ann, bob)
            await asyncio.to_thread(server.stop)
            playing = [asyncio.create_task(one.play()) for one in (ann, bob)]
            await served.says("new matches paused; retrying every second: results can't be stored: postgresql://")
            assert not any(one.done() for one in playing)
            await asyncio.to_thread(server.start)
            ends = await asyncio.gather(*playing)
            assert {end["match"] for end in ends} == {start["match"]}
            assert await meet(ann, bob) != start
            await asyncio.gather(ann.play(), bob.play())
        with closing(Store.open(server.url("arena"))) as store:
            stored = list(store.iterate(iter_results))
            assert [one.match for one in stored][-1] == start["match"]
            assert len(stored) == 2
            assert list(store.iterate(check_database, look)) == []
    finally:
        server.remove()
