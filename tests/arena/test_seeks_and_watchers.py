"""Seeks, seats and watchers over real sockets: who meets whom, and who is told what."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from arena.host.spectator_views import ALREADY_WATCHING_MESSAGE

# Seeks and seats


async def test_a_move_in_a_match_that_is_not_yours_is_rejected_and_ready_is_no_bad_message(serve: Any) -> None:
    client = await (await serve()).enter("ann")
    await client.send(type="ready", match="m-0")
    assert (await client.expect("error"))["code"] == "unavailable"
    await client.send(type="move", match="m-0", ply=0, move={})
    assert (await client.expect("rejected"))["code"] == "no_such_match"


async def test_a_ready_that_crosses_with_the_end_of_its_match_means_nothing(serve: Any) -> None:
    served = await serve()
    ann, bob = await served.enter("ann"), await served.enter("bob")
    match = (await served.meet(ann, bob))[0]["match"]
    await bob.send(type="resign", match=match)
    await ann.expect("end")
    await ann.send(type="ready", match=match)
    await ann.send(type="unseek", id="t")
    assert await ann.receive() == {"type": "unseeked", "id": "t"}


# More than two seats


async def test_a_seat_that_drops_out_of_three_is_told_one_end_and_is_free_at_once(serve: Any, dibs: None) -> None:
    served = await serve()
    (first, second, third), start = await served.three()
    await second.send(type="resign", match=start["match"])
    end = await second.expect("end")
    assert (end["ranks"], "seed" in end) == ([1, 3, 1], False)
    await second.send(type="seek", id="s2", game="nim")
    dan = await served.enter("dan")
    await dan.send(type="seek", id="s2", game="nim")
    assert (await second.expect("start"))["seek"] == "s2"
    await second.send(type="move", match=start["match"], ply=0, move={"take": 1})
    assert (await second.expect("rejected"))["code"] == "no_such_match"
    ends = await asyncio.gather(first.play(), third.play())
    assert all(end["seed"] and end["ranks"][1] == 3 for end in ends)
    await second.send(type="unseek", id="none")
    await second.expect("unseeked")
    assert not any(message["type"] == "end" for message in second.passed)


async def test_a_seat_that_dropped_out_of_three_may_watch_for_the_seed(serve: Any, dibs: None) -> None:
    (first, second, third), start = await (await serve()).three()
    await second.send(type="resign", match=start["match"])
    await second.expect("end")
    await second.send(type="watch", match=start["match"])
    await second.expect("start")
    ends = await asyncio.gather(first.play(), third.play())
    assert (await second.expect("end"))["seed"] == ends[0]["seed"]


# Watchers and followers


@pytest.mark.parametrize("bot", [None, "cas"])
async def test_a_client_that_answers_all_it_watches_is_taught_and_not_shut_out(serve: Any, bot: str | None) -> None:
    served = await serve()
    _, _, start, _ = await served.pair()
    naive = await (served.spectator() if bot is None else served.enter(bot))
    match = start["match"]
    for _ in range(25):
        await naive.send(type="watch", match=match)
        await naive.send(type="ready", match=match)
    said = {(await naive.expect("error"))["message"] for _ in range(26)}
    assert said == {ALREADY_WATCHING_MESSAGE, f"ready: you have no seat in '{match}': spectators do not send ready"}


async def test_a_watcher_of_everything_that_unwatches_one_match_still_hears_its_end(serve: Any) -> None:
    served = await serve()
    watcher = await served.spectator()
    await watcher.send(type="watch", match="*")
    first, second, start, _ = await served.pair()
    await watcher.send(type="watch", match=start["match"])
    await watcher.send(type="unwatch", match=start["match"])
    await watcher.expect("start")
    await watcher.expect("start")
    await first.ready(start)
    await second.ready(start)
    await asyncio.gather(first.play(), second.play())
    watcher.passed.clear()
    await watcher.expect("end")
    assert not watcher.passed


async def test_a_watcher_may_not_play_and_an_unknown_match_cannot_be_watched(serve: Any) -> None:
    watcher = await (await serve()).spectator()
    await watcher.send(type="seek", id="s", game="nim")
    assert (await watcher.expect("error"))["code"] == "not_allowed"
    await watcher.send(type="watch", match="m-0")
    error = await watcher.expect("error")
    assert (error["code"], error["ref"]) == ("unavailable", "m-0")
    await watcher.send(type="unseek", id="are you there")
    assert (await watcher.expect("unseeked"))["id"] == "are you there"
