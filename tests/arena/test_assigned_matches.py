"""Bots that the operator calls to a match."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from arena.server.arena import Arena
from arena.store.result_queries import record_of
from databases import EVERY_DATABASE
from protocol.dice import SEED_BYTES
from protocol.errors import ArenaFault, UsageFault
from protocol.games import load_game
from referee.record import Header

pytestmark = EVERY_DATABASE

SEED = bytes(SEED_BYTES)


def call(served: Any, *bots: str, wait_s: float = 9.0, match: str = "t1-00000", tournament: str = "t1") -> Any:
    """Have bots called to a match of a tournament; the task in which it is played."""
    arena: Arena = served.arena

    def made() -> tuple[Header, bytes]:
        rules = load_game("nim")
        return arena.headers.make("t1-00000", rules, bots, SEED, pool=None, tournament="t1", place=0), SEED

    return asyncio.create_task(arena.assigned.play(match, tournament, list(bots), made, wait_s))


async def test_a_bot_whose_slots_are_all_sought_with_is_called_and_told_that_its_seek_is_over(serve: Any) -> None:
    served = await serve()
    ann, bob = await served.enter("ann"), await served.enter("bob")
    await ann.send(type="seek", id="waits", game="risk-duel")
    await bob.send(type="list")
    while not any("seeks" in bot for bot in (await bob.expect("listing"))["bots"]):
        await bob.send(type="list")
    played = call(served, "ann", "bob")
    assert (await ann.expect("error"))["ref"] == "waits"
    start = await ann.expect("start")
    assert "seek" not in start
    for client in (ann, bob):
        await client.ready(start)
    await bob.send(type="resign", match="t1-00000")
    assert [seat.reason for seat in (await played).result.seats] == ["win", "resigned"]
    assert served.store.read(record_of, "t1-00000") is None, "it is handed over, and stored by whoever asked for it"


async def test_a_bot_that_is_busy_is_waited_for_and_one_that_never_comes_has_lost(serve: Any) -> None:
    served = await serve()
    first, second, start = await served.begun()
    played = call(served, "ann", "zoe", wait_s=0.01)
    await first.expect("turn")
    await asyncio.sleep(0)
    assert not played.done()
    await second.send(type="resign", match=start["match"])
    assert [seat.reason for seat in (await played).result.seats] == ["win", "no_show"]


async def test_a_match_called_like_one_that_is_under_way_is_refused(serve: Any) -> None:
    served = await serve()
    first, second, start = await served.begun()
    with pytest.raises(UsageFault, match=f"^{start['match']} is a match of the ladder: "):
        await call(served, "ann", "bob", match=start["match"])
    await second.send(type="resign", match=start["match"])
    played = call(served, "ann", "bob")
    await first.expect("end")
    await first.expect("start")
    with pytest.raises(
        UsageFault, match=r"^t1-00000 is under way for another tournament of these names and this seed, t1: "
    ):
        await call(served, "ann", "bob", tournament="t2")
    await first.send(type="resign", match="t1-00000")
    assert (await played).result.tournament == "t1"


async def test_a_match_whose_journal_can_not_be_read_is_a_fault_and_leaves_none(serve: Any) -> None:
    served = await serve()
    ann, bob = await served.enter("ann"), await served.enter("bob")
    played = call(served, "ann", "bob")
    start = await ann.expect("start")
    for client in (ann, bob):
        await client.ready(start)
    await ann.expect("turn")
    (file,) = (served.data / "journal").glob("*.jsonl")
    file.write_bytes(b"")
    await bob.send(type="resign", match="t1-00000")
    with pytest.raises(ArenaFault):
        await played
    await ann.expect("end")
    await served.stop()
    assert list((served.data / "journal").iterdir()) == []
    await served.start()


async def test_after_a_restart_nothing_is_left_of_a_called_match(serve: Any) -> None:
    served = await serve()
    ann, _ = await served.enter("ann"), await served.enter("bob")
    played = call(served, "ann", "bob")
    await ann.expect("start")
    played.cancel()
    await served.restart()
    assert list((served.data / "journal").iterdir()) == []
    assert (await served.enter("ann")).passed[-1]["resumed"] == []


async def test_who_was_not_there_when_it_was_called_may_seek_as_before(serve: Any) -> None:
    served = await serve()
    await served.enter("ann")
    await call(served, "ann", "zoe", wait_s=0.0)
    zoe = await served.enter("zoe")
    await zoe.send(type="seek", id="s", game="nim")
    await zoe.send(type="unseek", id="s")
    assert (await zoe.receive())["type"] == "unseeked"


async def test_asked_for_again_a_match_that_is_under_way_goes_on(serve: Any) -> None:
    served = await serve()
    ann, bob = await served.enter("ann"), await served.enter("bob")
    left = call(served, "ann", "bob")
    start = await ann.expect("start")
    left.cancel()
    again = call(served, "ann", "bob")
    for client in (ann, bob):
        await client.ready(start)
    await bob.send(type="resign", match="t1-00000")
    assert (await again).result.reason == "resigned"
