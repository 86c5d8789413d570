"""Connections that are reset or cut off at a moment when the arena has something to do with them."""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosedError

from arena.network.admission import Access
from arena.network.connection_limits import ConnectionBounds
from protocol.close_codes import TOO_MANY_BAD_MESSAGES
from timeouts import WITHIN, rest_of

pytestmark = pytest.mark.uvloop_too  # what is closed refuses more on the one loop than on the other
RESET = struct.pack("ii", 1, 0)
"""How a socket lingers that is to be reset when it is closed."""


async def test_a_reset_right_behind_the_hello_is_a_bot_that_came_and_left(
    serve: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, "arena.events")
    served = await serve()
    client = await served.connect()
    authenticate = served.arena.authenticate
    listener = served.arena.host.listener

    async def reset_meanwhile(*args: Any) -> Any:
        bot = await authenticate(*args)
        [wire] = listener.connections
        client.wire.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        client.wire.transport.abort()
        await asyncio.wait_for(wire.wait_closed(), WITHIN)
        await asyncio.sleep(0)  # uvloop forgets the socket a turn later
        return bot

    monkeypatch.setattr(served.arena, "authenticate", reset_meanwhile)
    await client.send(type="hello", bot="ann", token="*" * 16)
    async with asyncio.timeout(WITHIN):
        while listener.connections:  # noqa: ASYNC110
            await asyncio.sleep(0)
    assert [getattr(record, "event", record.exc_info) for record in caplog.records] == ["registered", "came", "left"]


async def test_what_is_still_sent_on_a_connection_that_is_closed_is_dropped(
    serve: Any, caplog: pytest.LogCaptureFixture
) -> None:
    served = await serve()
    client = await served.enter("ann")
    [session] = served.arena.host.clients.sessions.values()
    session.connection.transport.abort()
    await asyncio.wait_for(session.connection.wait_closed(), WITHIN)
    await asyncio.sleep(0)  # uvloop closes its handle a turn later
    session.connection.send_frame(b"one")
    session.connection.flush(0.0, 0.0)
    session.close(TOO_MANY_BAD_MESSAGES, "too many bad messages")
    with pytest.raises(ConnectionClosedError):
        await asyncio.wait_for(client.wire.recv(), WITHIN)
    assert caplog.messages == []


async def test_who_is_cut_off_while_the_handshake_begins_is_no_longer_waited_for(serve: Any) -> None:
    served = await serve(access=Access(bounds=ConnectionBounds(waiting=1, waiting_per_address=1)))
    listener = served.arena.host.listener
    accepted = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(20)]  # by several at a time
    strangers = [await asyncio.open_connection(sock=one) for one in accepted]
    for reader, _ in strangers[:-1]:
        assert await rest_of(reader) == b""
    for _ in range(10):
        await asyncio.sleep(0)
    assert len(listener._handshaking) == 1
    for _, writer in strangers:
        writer.close()
