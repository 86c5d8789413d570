"""What a server says of itself to whoever watches over it: whether it is alive, and whether it may take play."""

from __future__ import annotations

import asyncio
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from postgres import PostgresServer
from processes import Served, serving
from timeouts import WITHIN

EVERY = 0.2
"""Seconds between two questions: who comes more often than ten times a second is turned away."""


@pytest.fixture
def database() -> Iterator[PostgresServer]:
    """A server of databases, which may be stopped."""
    server = PostgresServer()
    try:
        server.start()
        yield server
    finally:
        server.remove()


async def asked(served: Served, path: str) -> tuple[int, str]:
    """What is answered at the port of bots."""

    def ask() -> tuple[int, str]:
        address = served.url.replace("ws://", "http://") + path
        try:
            with urllib.request.urlopen(address, timeout=WITHIN) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode()

    return await asyncio.to_thread(ask)


async def until(served: Served, status: int) -> str:
    """Ask whether it is ready until it answers so, and whether it is alive as often; what it says."""
    async with asyncio.timeout(WITHIN):
        while (answer := await asked(served, "/readyz"))[0] != status:
            assert await asked(served, "/healthz") == (200, "ok\n")
            await asyncio.sleep(EVERY)
    assert await asked(served, "/healthz") == (200, "ok\n")
    return answer[1]


async def test_a_server_whose_database_is_away_is_alive_but_not_ready_until_it_is_back(
    tmp_path: Path, database: PostgresServer
) -> None:
    async with serving(tmp_path, "--db", database.url("postgres")) as served:
        assert await until(served, 200) == "ok\n"
        await asyncio.to_thread(database.stop)
        told = await until(served, 503)
        assert re.fullmatch(r"the database is away: it last answered \d+ s ago\n", told)
        await served.says("the database is away: ")
        await asyncio.to_thread(database.start)
        assert await until(served, 200) == "ok\n"
        await served.says("the database is back after ")
        assert served.process.returncode is None
    assert all(line.startswith("arena main: ") for line in served.said)
