"""What the kernel is asked of a connection: real sockets, whose peer sends at known times."""

from __future__ import annotations

import asyncio
import socket
import sys
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvloop

from arena.network.tcp_info import min_round_trip_s, seconds_unread

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="other kernels don't say")
RUN = [pytest.param(asyncio.run, id="asyncio"), pytest.param(uvloop.run, id="uvloop")]
Run = Callable[[Coroutine[Any, Any, Any]], Any]


async def connected() -> tuple[asyncio.StreamReader, asyncio.StreamWriter, socket.socket]:
    """The arena's end of a TCP connection, and the peer's, which blocks."""
    taken: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
    server = await asyncio.start_server(lambda *ends: taken.put_nowait(ends), "127.0.0.1", 0)
    peer = socket.create_connection(server.sockets[0].getsockname())
    reader, writer = await taken.get()
    server.close()
    return reader, writer, peer


@on_linux
@pytest.mark.parametrize("run", RUN)
def test_the_kernel_knows_how_long_what_is_read_late_had_lain_there(run: Run) -> None:
    async def read_late() -> float | None:
        reader, writer, peer = await connected()
        peer.send(b"1")
        await reader.readexactly(1)
        time.sleep(0.2)  # noqa: ASYNC251
        peer.send(b"2")
        time.sleep(0.1)  # noqa: ASYNC251
        await reader.readexactly(1)
        waited = seconds_unread(writer.transport)
        peer.close()
        writer.close()
        return waited

    waited = run(read_late())
    assert waited is not None
    assert waited > 0.08


@on_linux
@pytest.mark.parametrize("run", RUN)
def test_what_was_sent_at_the_end_of_a_stall_had_not_lain_there(run: Run) -> None:
    async def send_late() -> tuple[float, float | None]:
        reader, writer, peer = await connected()
        peer.send(b"1")
        time.sleep(0.3)  # noqa: ASYNC251
        sent = time.monotonic()
        peer.send(b"2")
        await reader.readexactly(2)
        waited, most = seconds_unread(writer.transport), time.monotonic() - sent
        peer.close()
        writer.close()
        return most, waited

    most, waited = run(send_late())
    assert waited is not None
    assert waited <= most + 0.02  # ticks


@on_linux
@pytest.mark.parametrize("run", RUN)
def test_the_kernel_knows_a_round_trip_before_the_peer_has_said_anything(run: Run) -> None:
    async def connect() -> float:
        _, writer, peer = await connected()
        measured = min_round_trip_s(writer.transport)
        peer.close()
        writer.close()
        return measured

    assert 0 < run(connect()) < 1


@pytest.mark.parametrize("run", RUN)
def test_of_what_is_no_tcp_connection_and_of_one_that_is_closed_nothing_is_known(run: Run) -> None:
    async def ask() -> list[float | None]:
        here, there = socket.socketpair()
        _, local = await asyncio.open_connection(sock=here)
        _, writer, peer = await connected()
        writer.transport.abort()
        await writer.wait_closed()
        answers = [ask(end.transport) for end in (local, writer) for ask in (seconds_unread, min_round_trip_s)]
        local.close()
        there.close()
        peer.close()
        return answers

    assert run(ask()) == [None, 0.0, None, 0.0]
