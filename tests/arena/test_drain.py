"""A server that ends by itself when its matches are over: what clients hear, what waits, and how it is taken back."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from arena.lobby.lobby import DRAIN_CANCELLED_MESSAGE, DRAINING_MESSAGE
from arena.operations.draining import DrainReply, DrainRequest
from arena.operator.status import StatusRequest
from arena.server.nodes import SingleNode
from commands import call
from processes import serving
from protocol.errors import ArenaFault
from timeouts import WITHIN


async def test_no_match_begins_and_the_server_stops_when_those_under_way_are_told(serve: Any) -> None:
    over = asyncio.Event()
    served = await serve(drained=over)
    first, second, start = await served.begun()
    assert await served.perform(DrainRequest()) == DrainReply(under_way=1)
    for client in (first, second):
        assert await client.expect("error") == {"type": "error", "code": "unavailable", "message": DRAINING_MESSAGE}
    late = [await served.enter(name) for name in ("cid", "dan")]
    for client in late:
        assert (await client.expect("error"))["message"] == DRAINING_MESSAGE
        await client.send(type="seek", id="s1", game="nim")
        await client.send(type="list")
        await client.expect("listing")
    with pytest.raises(ArenaFault, match="starts no new matches"):
        await served.arena.assigned.play("t-1", "t", ["cid", "dan"], lambda: pytest.fail("it starts"), 0.0)
    assert not over.is_set()
    (warning,) = (await served.perform(StatusRequest())).warnings
    assert warning.startswith("draining: no new match begins")
    assert served.arena.host.unready_reason() == warning
    await first.send(type="resign", match=start["match"])
    await second.expect("end")
    await asyncio.wait_for(over.wait(), WITHIN)
    assert not served.arena.host.clients.runners
    assert not any(message["type"] == "start" for client in late for message in client.passed)


async def test_seeks_that_waited_are_paired_when_it_is_taken_back(serve: Any) -> None:
    over = asyncio.Event()
    served = await serve(drained=over)
    await served.begun()
    await served.perform(DrainRequest())
    late = [await served.enter(name) for name in ("cid", "dan")]
    for client in late:
        await client.send(type="seek", id="s1", game="nim")
        await client.send(type="list")
        await client.expect("listing")
    assert await served.perform(DrainRequest(undo=True)) == DrainReply(under_way=1)
    assert (await served.perform(StatusRequest())).warnings == []
    for client in late:
        await client.expect("start")
        told = [message["message"] for message in client.passed if message["type"] == "error"]
        assert told == [DRAINING_MESSAGE, DRAIN_CANCELLED_MESSAGE]
    assert not (await served.perform(DrainRequest(undo=True))).changed
    assert not over.is_set()


async def test_after_a_time_it_stops_whatever_is_under_way(serve: Any) -> None:
    over = asyncio.Event()
    served = await serve(drained=over)
    await served.begun()
    await served.perform(DrainRequest(within_s=3600))
    await served.perform(DrainRequest(within_s=0))
    await asyncio.wait_for(over.wait(), WITHIN)
    assert len(served.arena.host.clients.runners) == 1


async def test_a_node_that_the_operator_drains_pairs_nobody(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SingleNode, "is_draining", True)
    ticks = asyncio.Queue[bytes]()
    log = Mock(write=lambda line: ticks.put_nowait(line) if b'"Tick"' in line else None)
    served = await serve(lobby_log=log)
    for name in ("ann", "bob"):
        await (await served.enter(name)).send(type="seek", id="s1", game="nim")
    assert b'"is_paused":true' in await asyncio.wait_for(ticks.get(), WITHIN)


async def test_a_server_that_is_drained_ends_by_itself(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        undone = await asyncio.to_thread(call, "arena", "drain", "--data", str(tmp_path), "--undo")
        assert undone.out == "nothing to do: the server is not draining\n"
        done = await asyncio.to_thread(call, "arena", "drain", "--data", str(tmp_path), "--within", "60")
        said = (
            "the server starts no new matches; 0 matches are under way, and it stops when all are over, or after 60 s\n"
        )
        assert (done.code, done.out) == (0, said)
        assert await asyncio.to_thread(served.process.wait, WITHIN) == 0


def test_without_a_server_or_with_wrong_words_it_is_one_line(tmp_path: Path) -> None:
    done = call("arena", "drain", "--data", str(tmp_path))
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert done.err.startswith(f"arena: no server runs on {tmp_path}")
    assert call("arena", "drain", "--within", "-1").err == "arena: --within is -1: it is 0 seconds or more\n"
    assert call("arena", "drain", "--within", "1", "--undo").err == "arena: --within and --undo don't go together\n"
