"""One connection over a real socket: its handshake, its frames, and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from websockets.protocol import State

from arena.host.timeouts import HostTimeouts
from arena.network import connection
from timeouts import WITHIN
from virtual_time import advance


@pytest.mark.virtual_time
async def test_a_connection_without_hello_is_closed(serve: Any) -> None:
    client = await (await serve(timeouts=HostTimeouts())).connect()
    await client.heard()
    await advance(4.99)
    assert client.wire.state is State.OPEN
    await advance(0.01)
    assert await client.closed() == 4002


async def test_the_first_message_is_hello(serve: Any) -> None:
    client = await (await serve()).connect()
    await client.send(type="unseek", id="s")
    assert "first message" in (await client.expect("error"))["message"]
    assert await client.closed() == 4002


async def test_a_newer_connection_of_a_bot_supersedes_the_older_which_is_not_heard_any_more(serve: Any) -> None:
    served = await serve()
    older = await served.enter("ann")
    older.wire.transport.pause_reading()  # it has not heard yet that it is closed
    newer = await served.enter("ann")
    await older.send(type="seek", id="late", game="nim")
    older.wire.transport.resume_reading()
    assert await older.closed() == 4003
    await newer.send(type="seek", id="s1", game="nim")
    bob = await served.enter("bob")
    await bob.send(type="seek", id="s1", game="nim")
    assert (await newer.expect("start"))["seek"] == "s1"


async def test_moves_that_cross_with_the_end_of_their_match_are_not_held_against_a_bot(serve: Any) -> None:
    served = await serve()
    first, second, start = await served.begun()
    await first.expect("turn")
    await second.send(type="resign", match=start["match"])
    await first.expect("end")
    for _ in range(30):
        await first.send(type="move", match=start["match"], ply=0, move={"heap": 0, "take": 1})
        assert (await first.expect("rejected"))["code"] == "no_such_match"


async def test_a_frame_that_is_too_large_closes_the_connection(serve: Any) -> None:
    client = await (await serve()).enter("ann")
    await client.wire.send(bytes(20_000))
    assert await client.closed() == 1009


async def test_a_reader_that_does_not_read_is_dropped_and_the_match_goes_on(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "MAX_WRITE_BUFFER_BYTES", 64 * 1024)
    served = await serve()
    watcher = await served.spectator(max_queue=1)
    watcher.wire.transport.pause_reading()
    await watcher.send(type="watch", match="*")
    slow = await served.enter("slow")
    first, second, start, _ = await served.pair()
    flood = next(iter(served.arena.host.clients.subscribers))
    while not flood.connection.is_gone:
        flood.connection.send_frame(bytes(1024))
        await asyncio.sleep(0)  # a turn of the loop, in which what was pushed is written
    await first.ready(start)
    await second.ready(start)
    ends = await asyncio.gather(first.play(), second.play())
    assert ends[0]["reason"] == "win"
    assert slow.wire.state.name == "OPEN"
    watcher.wire.transport.abort()


async def turns_until(condition: Callable[[], Any]) -> None:
    """Return when the event loop, which has nothing to tell of it, has come to where this holds."""
    async with asyncio.timeout(WITHIN):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0)


async def test_of_those_that_do_not_read_the_greedy_are_dropped_when_all_together_leave_too_much(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "MAX_TOTAL_WRITE_BUFFER_BYTES", 256 * 1024)
    monkeypatch.setattr(connection, "SOFT_WRITE_BUFFER_BYTES", 64 * 1024)
    served = await serve()
    watchers = [await served.connect(max_queue=1) for _ in range(8)]
    for watcher in watchers:
        await watcher.send(type="hello")
        await watcher.expect("welcome")
        watcher.wire.transport.pause_reading()
        await watcher.send(type="watch", match="*")
    await turns_until(lambda: len(served.arena.host.clients.subscribers) == len(watchers))
    sessions = list(served.arena.host.clients.subscribers)
    while not any(session.connection.is_gone for session in sessions):
        for session in sessions:
            session.connection.send_frame(bytes(8192))
        await asyncio.sleep(0)
    assert 256 * 1024 < served.arena.host.listener.scheduler.unread_bytes < 1024 * 1024
    for watcher in watchers:
        watcher.wire.transport.abort()
    await turns_until(lambda: served.arena.host.listener.scheduler.unread_bytes == 0)


async def test_a_client_that_does_not_read_is_answered_when_it_does(serve: Any) -> None:
    served = await serve()
    ann = await served.enter("ann")
    (session,) = served.arena.host.clients.sessions.values()
    session.connection.pause_writing()
    await ann.send(type="unseek", id="x")
    await turns_until(lambda: session.connection._unread)
    await (await served.enter("bob")).send(type="unseek", id="y")
    await served.clients[-1].expect("unseeked")
    assert session.connection._unread
    session.connection.resume_writing()
    assert (await ann.receive())["type"] == "unseeked"
