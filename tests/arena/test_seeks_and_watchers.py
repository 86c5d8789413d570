"""Seeks, seats and watchers over real sockets: who meets whom, and who is told what."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from arena.host.runner import ALREADY_WATCHING_MESSAGE
from arena.replay.verify import verify_record
from arena.store.finish import finish_matches
from arena.store.result_queries import record_of
from referee import record_reader
from referee.result import Result, SeatResult
from stored_matches import storable


def won(match: str, winner: str, loser: str) -> Result:
    """The result of a rated match of Nim."""
    seats = [SeatResult(bot=bot, version="1", rank=rank, reason="win") for rank, bot in enumerate((winner, loser), 1)]
    return Result(
        match=match,
        game="nim",
        config={},
        rated=True,
        pool="nim/classic",
        seats=tuple(seats),
        reason="win",
        plies=1,
        digest="",
        started="2026-01-01T00:00:00Z",
        finished="2026-01-01T00:00:09Z",
    )


# Seeks and seats


@pytest.mark.parametrize(
    ("seek", "code", "words"),
    [
        ({"game": "chess"}, "unknown_game", "nim, grundy, tictactoe"),
        ({"game": "nim", "config": {"heaps": [999, 999], "start": "p-position"}}, "bad_config", "too rare to be dealt"),
        ({"game": 5}, "bad_message", "game"),
        ({"game": "nim", "clock": 3}, "bad_message", "clock"),
    ],
)
async def test_a_seek_that_cannot_be_is_answered_with_the_reason(
    serve: Any, seek: dict[str, Any], code: str, words: str
) -> None:
    client = await (await serve()).enter("ann")
    await client.send(type="seek", id="s1", **seek)
    error = await client.expect("error")
    assert (error["code"], error["ref"]) == (code, "s1")
    assert words in error["message"]


async def test_seeks_and_matches_never_exceed_the_slots(serve: Any) -> None:
    client = await (await serve()).enter("ann", slots=2)
    for number in range(3):
        await client.send(type="seek", id=f"s{number}", game="nim")
    error = await client.expect("error")
    assert (error["code"], error["ref"]) == ("no_slots", "s2")
    await client.send(type="unseek", id="s0")
    assert (await client.expect("unseeked"))["id"] == "s0"
    await client.send(type="seek", id="s3", game="nim")
    await client.send(type="unseek", id="s3")
    assert (await client.expect("unseeked"))["id"] == "s3"
    assert not any(message["type"] == "error" for message in client.passed)


async def test_a_named_opponent_is_waited_for_and_the_match_is_unrated(serve: Any) -> None:
    served = await serve()
    ann, bob, cid = [await served.enter(name) for name in ("ann", "bob", "cid")]
    await ann.send(type="seek", id="a", game="nim", opponent="CID")
    await bob.send(type="seek", id="b", game="nim", rated=False)
    await cid.send(type="seek", id="c", game="nim", rated=False)
    start = await ann.expect("start")
    assert {player["bot"] for player in start["seats"]} <= {"ann", "cid"}
    assert start["rated"] is False


@pytest.mark.virtual_time
async def test_two_bots_alone_do_not_wait_for_a_better_match(serve: Any) -> None:
    served = await serve()
    for bot in ("ann", "bob"):
        await served.enter(bot)
    served.store.write(finish_matches, [storable(won(f"m-{number}", "ann", "bob"), b"") for number in range(20)])
    ann, bob = await served.enter("ann"), await served.enter("bob")
    for client in (ann, bob):
        await client.send(type="seek", id="s", game="nim")
    await served.matched(ann, bob)
    assert (await ann.expect("start"))["match"] == (await bob.expect("start"))["match"]


async def test_a_move_in_a_match_that_is_not_yours_is_rejected(serve: Any) -> None:
    client = await (await serve()).enter("ann")
    await client.send(type="move", match="m-0", ply=0, move={})
    assert (await client.expect("rejected"))["code"] == "no_such_match"


async def test_a_ready_that_crosses_with_the_end_of_its_match_means_nothing(serve: Any) -> None:
    served = await serve()
    ann, bob = await served.enter("ann"), await served.enter("bob")
    for client in (ann, bob):
        await client.send(type="seek", id="s", game="nim")
    match = (await ann.expect("start"))["match"]
    await bob.send(type="resign", match=match)
    await ann.expect("end")
    await ann.send(type="ready", match=match)
    await ann.send(type="unseek", id="t")
    assert await ann.receive() == {"type": "unseeked", "id": "t"}


async def test_ready_for_a_match_that_is_not_yours_is_no_bad_message(serve: Any) -> None:
    client = await (await serve()).enter("ann")
    await client.send(type="ready", match="m-0")
    assert (await client.expect("error"))["code"] == "unavailable"


# More than two seats


async def test_a_game_for_three_begins_when_three_seek_it(serve: Any, dibs: None) -> None:
    served = await serve()
    seats, start = await served.three()
    assert {player["bot"] for player in start["seats"]} == {"ann", "bob", "cid"}
    ends = await asyncio.gather(*(client.play() for client in seats))
    assert [sorted(end["ranks"]) for end in ends] == [[1, 2, 2]] * 3
    verify_record(record_reader.read_record(served.store.read(record_of, start["match"]), "record"))


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


async def test_a_watcher_sees_start_turns_and_end_but_no_legal_moves(serve: Any) -> None:
    served = await serve()
    first, second, start, _ = await served.pair()
    watcher = await served.connect()
    await watcher.send(type="hello")
    await watcher.expect("welcome")
    await watcher.send(type="watch", match=start["match"])
    assert "seat" not in await watcher.expect("start")
    await first.ready(start)
    await second.ready(start)
    await asyncio.gather(first.play(), second.play())
    end = await watcher.expect("end")
    turns = [message for message in watcher.passed if message["type"] == "turn"]
    assert [turn["ply"] for turn in turns] == list(range(end["ply"]))
    assert not any("legal" in turn for turn in turns)
    assert [event["ply"] for turn in turns for event in turn["events"]] == list(range(end["ply"] - 1))


@pytest.mark.parametrize("bot", [None, "cas"])
async def test_a_client_that_answers_all_it_watches_is_taught_and_not_shut_out(serve: Any, bot: str | None) -> None:
    served = await serve()
    _, _, start, _ = await served.pair()
    naive = await (served.connect() if bot is None else served.enter(bot))
    if bot is None:
        await naive.send(type="hello")
    match = start["match"]
    for _ in range(25):
        await naive.send(type="watch", match=match)
        await naive.send(type="ready", match=match)
    said = {(await naive.expect("error"))["message"] for _ in range(26)}
    assert said == {ALREADY_WATCHING_MESSAGE, f"ready: you have no seat in '{match}': spectators do not send ready"}


async def test_a_watcher_of_everything_hears_starts_and_ends_only(serve: Any) -> None:
    served = await serve()
    watcher = await served.connect()
    await watcher.send(type="hello")
    await watcher.expect("welcome")
    await watcher.send(type="watch", match="*")
    first, second, start = await served.begun()
    await asyncio.gather(first.play(), second.play())
    end = await watcher.expect("end")
    assert [message["type"] for message in watcher.passed] == ["start"]
    assert end["match"] == start["match"]


async def test_a_watcher_of_everything_that_unwatches_one_match_still_hears_its_end(serve: Any) -> None:
    served = await serve()
    watcher = await served.connect()
    await watcher.send(type="hello")
    await watcher.send(type="watch", match="*")
    await watcher.expect("welcome")
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
    watcher = await (await serve()).connect()
    await watcher.send(type="hello")
    await watcher.expect("welcome")
    await watcher.send(type="seek", id="s", game="nim")
    assert (await watcher.expect("error"))["code"] == "not_allowed"
    await watcher.send(type="watch", match="m-0")
    error = await watcher.expect("error")
    assert (error["code"], error["ref"]) == ("unavailable", "m-0")


async def test_a_watcher_is_answered_what_a_bot_is_that_had_no_such_seek(serve: Any) -> None:
    watcher = await (await serve()).connect()
    await watcher.send(type="hello")
    await watcher.send(type="unseek", id="are you there")
    assert (await watcher.expect("unseeked"))["id"] == "are you there"


async def test_a_follower_is_told_the_turns_of_others_without_legal_moves(serve: Any) -> None:
    served = await serve()
    ann, bob = await served.enter("ann", follow=True), await served.enter("bob", follow=True)
    for client in (ann, bob):
        await client.send(type="seek", id="s", game="nim")
    starts = [await client.expect("start") for client in (ann, bob)]
    for client in (ann, bob):
        await client.ready(starts[0])
    other = ann if starts[0]["seat"] == 1 else bob
    turn = await other.expect("turn")
    assert (turn["to_move"], "legal" in turn) == (0, False)
