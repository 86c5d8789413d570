"""An arena whose PostgreSQL goes away in the middle of play, or takes no such text: what bots and visitors are told."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import web_client
from arena.commands.db import check_match
from arena.store.integrity_check import check_database
from arena.store.result_queries import iter_results
from arena.store.store import Reader, Store
from arena.web.site import Site
from players import meet, player
from postgres import PostgresServer, new_database, postgres_server
from processes import Served, serving
from timeouts import WITHIN
from web_client import Answer, answer

EVERY = 0.2
"""Seconds between two questions: who comes more often than ten times a second is turned away."""


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A server of these tests' own, with an empty database."""
    with postgres_server() as server:
        server.execute("CREATE DATABASE arena")
        yield server


async def asked(served: Served, path: str) -> Answer:
    return await asyncio.to_thread(answer, served.url.replace("ws://", "http://") + path)


async def ready(served: Served, status: int) -> str:
    """Ask whether it is ready until it answers so, and whether it is alive as often; what it says."""
    async with asyncio.timeout(WITHIN):
        while (told := await asked(served, "/readyz")).status != status:
            assert (await asked(served, "/healthz")).text == "ok\n"
            await asyncio.sleep(EVERY)
    alive = await asked(served, "/healthz")
    assert (alive.status, alive.text) == (200, "ok\n")
    return told.text


async def test_while_the_database_is_away_a_server_is_not_ready_and_a_match_that_ends_is_told_once_it_is_stored(
    server: PostgresServer, tmp_path: Path
) -> None:
    async with (
        serving(tmp_path, "--db", server.url("arena")) as served,
        player(served.url, "ann") as ann,
        player(served.url, "bob") as bob,
    ):
        assert await ready(served, 200) == "ok\n"
        start = await meet(ann, bob)
        await asyncio.to_thread(server.stop)
        told = await ready(served, 503)
        assert re.fullmatch(r"the database is unreachable: it last answered \d+ s ago\n", told)
        await served.says("the database is unreachable: ")
        playing = [asyncio.create_task(one.play()) for one in (ann, bob)]
        await served.says("new matches are paused, retrying every second: results can't be stored: postgresql://")
        assert not any(one.done() for one in playing)
        await asyncio.to_thread(server.start)
        assert await ready(served, 200) == "ok\n"
        await served.says("the database answers again after ")
        ends = await asyncio.gather(*playing)
        assert {end["match"] for end in ends} == {start["match"]}
        assert await meet(ann, bob) != start
        await asyncio.gather(ann.play(), bob.play())
        assert served.process.poll() is None
    assert all(line.startswith("arena main: ") for line in served.said)
    with closing(Store.open(server.url("arena"))) as store:
        stored = list(store.iterate(iter_results))
        assert [one.match for one in stored][-1] == start["match"]
        assert len(stored) == 2
        assert list(store.iterate(check_database, check_match)) == []


def test_pages_say_that_the_database_is_away_and_are_back_with_it(server: PostgresServer) -> None:
    Store.open(server.url("arena")).close()
    with closing(Reader.open(server.url("arena"))) as reader, web_client.served(Site(reader)) as url:
        assert answer(url + "/api/v1/matches").status == 200
        server.stop()
        away = answer(url + "/api/v1/matches")
        assert (away.status, list(json.loads(away.body))) == (503, ["error"])
        assert answer(url + "/matches").status == answer(url + "/readyz").status == 503
        server.start()
        assert answer(url + "/matches").status == answer(url + "/readyz").status == 200


def test_a_nul_in_an_address_is_refused_in_a_sentence() -> None:
    with closing(Reader.open(new_database())) as reader, web_client.served(Site(reader)) as url:
        for address in ("/bots/%00", "/matches?bot=%00", "/api/v1/matches?bot=a%00", "/api/v1/matches/%00"):
            refused = answer(url + address)
            assert refused.status == 400
            assert "has a NUL in it" in refused.text
