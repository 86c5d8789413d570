"""What a visitor may cost: slow ones end, and whoever opens too many connections is in nobody's way but their own."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from arena.network import http_server
from arena.network.connection_limits import ConnectionBounds
from arena.store.store import Store
from arena.web import http_connections
from timeouts import WITHIN, rest_of
from web_client import page_server

ASK = b"GET /favicon.ico HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture
async def port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[int]:
    """A page that takes two connections of an address, and has patience with them."""
    monkeypatch.setattr(http_server, "REQUEST_TIMEOUT_S", 2 * WITHIN)
    monkeypatch.setattr(http_connections, "CONNECTION_LIMITS", ConnectionBounds(waiting=10, waiting_per_address=2))
    Store.open(tmp_path / "arena.db").close()
    async with page_server(tmp_path, proxies="127.0.0.7") as port:
        yield port


async def came(port: int, address: str = "127.0.0.1") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))


async def answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    writer.write(ASK)
    async with asyncio.timeout(WITHIN):
        return (await reader.readline()).startswith(b"HTTP/1.1 200")


async def test_a_bot_is_told_that_it_can_connect_to_no_stored_arena(port: int) -> None:
    with pytest.raises(InvalidStatus) as refused:
        await connect(f"ws://127.0.0.1:{port}/socket")
    answer = refused.value.response
    assert answer.status_code == 404
    assert answer.body.startswith(b"these pages show stored data: bots cannot connect here")


async def test_the_oldest_connection_of_an_address_makes_room_for_its_third(port: int) -> None:
    first, second, other = await came(port), await came(port), await came(port, "127.0.0.2")
    third = await came(port)
    assert await rest_of(first[0]) == b""
    for one in (second, third, other):
        assert await answered(*one)
        one[1].close()


async def test_a_proxy_that_is_trusted_has_as_many_connections_as_it_wants(port: int) -> None:
    ones = [await came(port, "127.0.0.7") for _ in range(4)]
    for one in ones:
        assert await answered(*one)
        one[1].close()


async def test_a_request_that_does_not_end_is_ended(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "REQUEST_TIMEOUT_S", 0.05)
    reader, writer = await came(port)
    writer.write(ASK[:-2])
    assert await rest_of(reader) == b""
    writer.close()


async def test_what_is_no_http_or_too_large_is_refused_and_not_logged(
    port: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    for said in (b"\x16\x03\x01 hello\r\n\r\n", ASK[:-2] + b"X: " + b"x" * 20_000):
        reader, writer = await came(port)
        writer.write(said)
        async with asyncio.timeout(WITHIN):
            assert b" 400 " in await reader.readline()
        writer.close()
    assert caplog.text == ""
