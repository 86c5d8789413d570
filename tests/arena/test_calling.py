"""Bots that the operator calls to a match."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from arena.server.arena import Arena
from protocol.dice import SEED_BYTES
from protocol.games import load
from referee.record import Header

SEED = bytes(SEED_BYTES)


def header_of(arena: Arena, *bots: str) -> Callable[[], tuple[Header, bytes]]:
    rules = load("nim")
    return lambda: (arena.header("t1-00000", rules, bots, SEED, pool=None, tournament="t1", place=0), SEED)


async def test_a_bot_whose_slots_are_all_sought_with_is_called_and_told_that_its_seek_is_over(serve: Any) -> None:
    served = await serve()
    ann, bob = await served.enter("ann"), await served.enter("bob")
    await ann.send(type="seek", id="waits", game="risk-duel")
    await bob.send(type="list")
    while not any("seeks" in bot for bot in (await bob.expect("listing"))["bots"]):
        await bob.send(type="list")
    played = asyncio.create_task(
        served.arena.calls.play("t1-00000", ["ann", "bob"], header_of(served.arena, "ann", "bob"), 9.0)
    )
    assert (await ann.expect("error"))["ref"] == "waits"
    start = await ann.expect("start")
    assert "seek" not in start
    for client in (ann, bob):
        await client.ready(start)
    await bob.send(type="resign", match="t1-00000")
    assert [seat.reason for seat in (await played).result.seats] == ["win", "resigned"]
    assert served.store.record("t1-00000") is None, "it is handed over, and stored by whoever asked for it"


async def test_a_bot_that_is_busy_is_waited_for_and_one_that_never_comes_has_lost(serve: Any) -> None:
    served = await serve()
    first, second, start = await served.begun()
    played = asyncio.create_task(
        served.arena.calls.play("t1-00000", ["ann", "zoe"], header_of(served.arena, "ann", "zoe"), 0.01)
    )
    await first.expect("turn")
    await asyncio.sleep(0)
    assert not played.done()
    await second.send(type="resign", match=start["match"])
    assert [seat.reason for seat in (await played).result.seats] == ["win", "no_show"]


async def test_who_was_not_there_when_it_was_called_may_seek_as_before(serve: Any) -> None:
    served = await serve()
    await served.enter("ann")
    calls, made = served.arena.calls, header_of(served.arena, "ann", "zoe")
    await calls.play("t1-00000", ["ann", "zoe"], made, 0.0)
    zoe = await served.enter("zoe")
    await zoe.send(type="seek", id="s", game="nim")
    await zoe.send(type="unseek", id="s")
    assert (await zoe.receive())["type"] == "unseeked"


async def test_asked_for_again_a_match_that_is_under_way_goes_on(serve: Any) -> None:
    served = await serve()
    ann, bob = await served.enter("ann"), await served.enter("bob")
    made = header_of(served.arena, "ann", "bob")
    left = asyncio.create_task(served.arena.calls.play("t1-00000", ["ann", "bob"], made, 9.0))
    start = await ann.expect("start")
    left.cancel()
    again = asyncio.create_task(served.arena.calls.play("t1-00000", ["ann", "bob"], made, 9.0))
    for client in (ann, bob):
        await client.ready(start)
    await bob.send(type="resign", match="t1-00000")
    assert (await again).result.reason == "resigned"
