"""The server over real sockets, seen by clients that know nothing but the protocol."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from arena import lobby as lobbies
from arena import match as referee
from arena import record as records
from arena import server as servers
from arena.server import PortFault
from arena.store.database import StoreFailed


async def ready(start: dict[str, Any], *clients: Any) -> None:
    """Every seat of a match says that it is ready."""
    for client in clients:
        await client.send(type="ready", match=start["match"])


async def played(serve: Any, **seek: Any) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    served = await serve()
    first, second, start, _ = await served.pair(**seek)
    await ready(start, first, second)
    ends = await asyncio.gather(first.play(), second.play())
    return served, *ends


async def test_a_match_is_played_rated_and_recorded(serve: Any) -> None:
    served, end, other = await played(serve)
    assert end["reason"] == "win"
    assert sorted(end["ranks"]) == [1, 2]
    assert end["digest"] == other["digest"]
    assert all(seat["sigma_after"] < seat["sigma_before"] for seat in end["seats"])
    record = records.read(served.store.record(end["match"]), "record")
    records.verify(record)
    assert record.footer.seed == end["seed"]
    assert [row.bot for row in served.store.leaderboard("nim")] == [
        seat["bot"] for seat in sorted(end["seats"], key=lambda seat: seat["rank"])
    ]


async def test_the_journal_of_a_stored_match_is_removed(serve: Any) -> None:
    served, end, _ = await played(serve)
    assert served.store.record(end["match"])
    assert not list((served.data / "journal").glob("*.jsonl"))


async def test_a_config_that_is_no_preset_makes_the_match_unrated(serve: Any) -> None:
    _, end, _ = await played(serve, config={"heaps": [2, 2]})
    assert all("mu_after" not in seat for seat in end["seats"])


async def test_start_tells_everything_fixed_before_the_match(serve: Any) -> None:
    served = await serve()
    _, _, start, other = await served.pair(config={"preset": "sticks"})
    assert start["config"] == {"heaps": [21], "take": [1, 2, 3], "misere": True, "start": "given"}
    assert start["seek"] == "s1"
    assert start["rated"] is True
    assert start["clock"] == {"bank_ms": 60_000, "increment_ms": 0}
    assert len(start["commitment"]) == 64
    assert {player["bot"] for player in start["seats"]} == {"ann", "bob"}
    assert (start["seat"], other["seat"]) == (0, 1)


async def test_a_turn_carries_what_the_protocol_says(serve: Any) -> None:
    served = await serve()
    first, second, start, _ = await served.pair()
    await first.send(type="ready", match=start["match"], nonce="ab" * 16)
    await second.send(type="ready", match=start["match"])
    turn = await first.expect("turn")
    assert turn["nonces"] == ["ab" * 16, ""]
    assert turn["state"] == {"heaps": [3, 5, 7], "to_move": 0, "ply": 0}
    assert len(turn["legal"]) == 15
    assert turn["events"] == []
    await first.send(type="move", match=start["match"], ply=0, move={"heap": 2, "take": 6})
    turn = await second.expect("turn")
    assert turn["events"] == [{"ply": 0, "seat": 0, "move": {"heap": 2, "take": 6}}]
    assert turn["state"]["heaps"] == [3, 5, 1]


async def test_an_illegal_move_is_explained_and_the_third_loses(serve: Any) -> None:
    served = await serve()
    first, second, start, _ = await served.pair()
    await ready(start, first, second)
    await first.expect("turn")
    for left, move in ((2, {"heap": 0, "take": 9}), (1, ["no map"]), (0, {"heap": 0})):
        await first.send(type="move", match=start["match"], ply=0, move=move)
        rejected = await first.expect("rejected")
        assert rejected["strikes_left"] == left
    end = await second.expect("end")
    assert end["reason"] == "illegal"
    assert end["ranks"] == [2, 1]


@pytest.mark.parametrize(
    ("seek", "code", "words"),
    [
        ({"game": "chess"}, "unknown_game", "nim, grundy, tictactoe"),
        ({"game": "nim", "config": {"heaps": [-1]}}, "bad_config", "heaps[0] is -1: it is an integer from 0 to 1000"),
        ({"game": "nim", "config": {"heapz": [1]}}, "bad_config", "heaps, take, misere, start, preset"),
        ({"game": "nim", "opponent": "ann"}, "not_allowed", "name another opponent"),
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


async def three(served: Any, **hello: Any) -> tuple[list[Any], dict[str, Any]]:
    """Three bots whose match of Dibs has begun, in seat order, and the match's id; it is the first one's turn."""
    clients = [await served.enter(name, **hello) for name in ("ann", "bob", "cid")]
    for client in clients:
        await client.send(type="seek", id="s1", game="dibs", config={"sticks": [99]})
    starts = [await client.expect("start") for client in clients]
    await ready(starts[0], *clients)
    seats = dict(sorted((start["seat"], client) for start, client in zip(starts, clients, strict=True)))
    return list(seats.values()), starts[0]


async def test_a_game_for_three_begins_when_three_seek_it(serve: Any, dibs: None) -> None:
    served = await serve()
    seats, start = await three(served)
    assert {player["bot"] for player in start["seats"]} == {"ann", "bob", "cid"}
    ends = await asyncio.gather(*(client.play() for client in seats))
    assert [sorted(end["ranks"]) for end in ends] == [[1, 2, 2]] * 3
    records.verify(records.read(served.store.record(start["match"]), "record"))


async def test_a_seat_that_drops_out_of_three_is_told_one_end_and_is_free_at_once(serve: Any, dibs: None) -> None:
    served = await serve()
    (first, second, third), start = await three(served)
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
    (first, second, third), start = await three(await serve())
    await second.send(type="resign", match=start["match"])
    await second.expect("end")
    await second.send(type="watch", match=start["match"])
    await second.expect("start")
    ends = await asyncio.gather(first.play(), third.play())
    assert (await second.expect("end"))["seed"] == ends[0]["seed"]


async def test_a_seat_that_dropped_out_of_three_is_not_told_the_match_again_after_a_restart(
    serve: Any, dibs: None
) -> None:
    served = await serve()
    seats, start = await three(served)
    await seats[1].send(type="resign", match=start["match"])
    await seats[1].expect("end")
    await served.restart()
    back = [await served.enter(player["bot"]) for player in start["seats"]]
    assert [client.passed[0]["resumed"] for client in back] == [[start["match"]], [], [start["match"]]]
    ends = await asyncio.gather(back[0].play(), back[2].play())
    assert ends[0]["ranks"][1] == 3


async def test_nobody_is_named_where_three_play(serve: Any, dibs: None) -> None:
    client = await (await serve()).enter("ann")
    await client.send(type="seek", id="s1", game="dibs", opponent="bob")
    error = await client.expect("error")
    assert (error["code"], error["message"]) == (
        "not_allowed",
        "seek: an opponent is named where two play: this match has 3 seats",
    )


async def test_the_same_name_without_its_token_stays_out(serve: Any) -> None:
    served = await serve()
    await served.enter("ann")
    for token, code in ((None, "name_taken"), ("x" * 16, "auth_failed")):
        client = await served.connect()
        await client.send(type="hello", bot="ANN", **({} if token is None else {"token": token}))
        error = await client.expect("error")
        assert (error["code"], error["fatal"]) == (code, True)
        assert await client.closed() == 4001


async def test_a_new_bot_without_a_token_is_given_one_once(serve: Any) -> None:
    served = await serve()
    client = await served.connect()
    await client.send(type="hello", bot="ann")
    token = (await client.expect("welcome"))["token"]
    again = await served.connect()
    await again.send(type="hello", bot="ann", token=token)
    assert "token" not in await again.expect("welcome")


async def test_with_closed_registration_a_new_name_stays_out(serve: Any) -> None:
    served = await serve(registration="closed")
    client = await served.connect()
    await client.send(type="hello", bot="ann")
    assert (await client.expect("error"))["code"] == "not_allowed"
    assert await client.closed() == 4001


async def test_a_newer_connection_of_a_bot_supersedes_the_older(serve: Any) -> None:
    served = await serve()
    older = await served.enter("ann")
    newer = await served.enter("ann")
    assert await older.closed() == 4003
    await newer.send(type="seek", id="s", game="chess")
    assert (await newer.expect("error"))["code"] == "unknown_game"


async def test_what_a_superseded_connection_still_sends_is_not_acted_on(serve: Any) -> None:
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


async def test_two_connections_of_a_new_bot_at_once_are_both_let_in(serve: Any) -> None:
    served = await serve()
    clients = [await served.connect() for _ in range(2)]
    for client in clients:
        await client.send(type="hello", bot="ann", token="a" * 16)
    for client in clients:
        assert (await client.receive())["type"] == "welcome"


async def test_a_store_that_fails_lets_nobody_in_and_says_to_come_back(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(name: str) -> None:
        raise StoreFailed("arena.db: disk I/O error")

    served = await serve()
    monkeypatch.setattr(served.store, "bot", fails)
    client = await served.connect()
    await client.send(type="hello", bot="ann", token="a" * 16)
    assert await client.closed() == 1012
    assert [(error["code"], error["fatal"]) for error in client.passed] == [("unavailable", True)]


async def test_a_result_that_cannot_be_stored_ends_the_match_all_the_same(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(batch: Any) -> None:
        raise ZeroDivisionError("unforeseen")

    served = await serve()
    with monkeypatch.context() as patched:
        patched.setattr(served.store, "finish", fails)
        first, second, start, _ = await served.pair()
        await ready(start, first, second)
        ends = await asyncio.gather(first.play(), second.play())
    assert all("mu_after" not in seat for end in ends for seat in end["seats"])
    assert not served.arena.lobby.runners
    await served.restart()
    await served.arena.close()
    assert served.store.matches()[0].match == start["match"]


async def test_a_journal_that_cannot_be_removed_ends_the_match_all_the_same(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(path: Path, missing_ok: bool) -> None:
        raise PermissionError(13, "Permission denied")

    served = await serve()
    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", fails)
        first, second, start, _ = await served.pair()
        await ready(start, first, second)
        ends = await asyncio.gather(first.play(), second.play())
    assert all("mu_after" in seat for end in ends for seat in end["seats"])
    await served.restart()
    assert not list((served.data / "journal").glob("*.jsonl"))


async def test_a_connection_without_hello_is_closed(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "HELLO_WITHIN", 0.05)
    client = await (await serve()).connect()
    assert await client.closed() == 4002


async def test_the_first_message_is_hello(serve: Any) -> None:
    client = await (await serve()).connect()
    await client.send(type="unseek", id="s")
    assert "first message" in (await client.expect("error"))["message"]
    assert await client.closed() == 4002


async def test_twenty_bad_messages_close_the_connection(serve: Any) -> None:
    client = await (await serve()).enter("ann")
    for _ in range(20):
        await client.wire.send(b"\xc1")
    assert await client.closed() == 4000


async def test_moves_that_cross_with_the_end_of_their_match_are_not_held_against_a_bot(serve: Any) -> None:
    served = await serve()
    first, second, start, _ = await served.pair()
    await ready(start, first, second)
    await first.expect("turn")
    await second.send(type="resign", match=start["match"])
    await first.expect("end")
    for _ in range(30):
        await first.send(type="move", match=start["match"], ply=0, move={"heap": 0, "take": 1})
        assert (await first.expect("rejected"))["code"] == "no_such_match"


async def test_two_bots_alone_do_not_wait_for_a_better_match(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lobbies, "LOOK_AGAIN", 3600.0)
    served = await serve()
    for bot, mu in (("ann", 45.0), ("bob", 5.0)):
        served.arena._ratings[bot, "nim"] = (mu, 1.0)
    ann, bob = await served.enter("ann"), await served.enter("bob")
    for client in (ann, bob):
        await client.send(type="seek", id="s", game="nim")
    assert (await ann.expect("start"))["match"] == (await bob.expect("start"))["match"]


async def test_a_frame_that_is_too_large_closes_the_connection(serve: Any) -> None:
    client = await (await serve()).enter("ann")
    await client.wire.send(bytes(20_000))
    assert await client.closed() == 1009


async def test_more_connections_than_allowed_are_closed(serve: Any) -> None:
    served = await serve(max_connections=1)
    await served.enter("ann")
    client = await served.connect()
    assert await client.closed() == 4004


async def test_unknown_subprotocols_are_refused_with_those_there_are(serve: Any) -> None:
    served = await serve()
    with pytest.raises(InvalidStatus) as refused:
        await served.connect(subprotocols=["chess.v1"])
    assert refused.value.response.status_code == 400
    assert b"arena.v1.msgpack, arena.v1.json" in (refused.value.response.body or b"")


async def test_json_is_spoken_in_text_frames(serve: Any) -> None:
    served = await serve()
    async with connect(f"ws://127.0.0.1:{served.port}", subprotocols=["arena.v1.json"]) as wire:
        await wire.send(json.dumps({"type": "hello", "bot": "ann", "token": "x" * 16}))
        welcome = json.loads(await wire.recv())
        assert welcome["type"] == "welcome"
        assert welcome["limits"] == {"max_message": 16384, "strikes": 3, "slots": 1}


async def test_a_bot_that_comes_back_is_told_where_its_match_stands(serve: Any) -> None:
    served = await serve()
    first, second, start, _ = await served.pair()
    await ready(start, first, second)
    await first.expect("turn")
    await first.send(type="move", match=start["match"], ply=0, move={"heap": 0, "take": 1})
    await second.expect("turn")
    await second.wire.close()
    back = await served.enter(start["seats"][1]["bot"])
    assert back.passed[-1]["resumed"] == [start["match"]]
    resumed = await back.expect("start")
    assert (resumed["resumed"], resumed["seat"]) == (True, 1)
    turn = await back.expect("turn")
    assert turn["ply"] == 1
    assert turn["events"] == [{"ply": 0, "seat": 0, "move": {"heap": 0, "take": 1}}]
    ends = await asyncio.gather(first.play(), _answer(back, turn))
    assert ends[0]["reason"] == "win"


async def _answer(client: Any, turn: dict[str, Any]) -> dict[str, Any]:
    await client.send(type="move", match=turn["match"], ply=turn["ply"], move=turn["legal"][0])
    end: dict[str, Any] = await client.play()
    return end


async def test_a_match_goes_on_after_the_server_was_restarted(serve: Any) -> None:
    served = await serve()
    first, second, start, _ = await served.pair()
    await ready(start, first, second)
    await first.expect("turn")
    await first.send(type="move", match=start["match"], ply=0, move={"heap": 0, "take": 1})
    turn = await second.expect("turn")
    await served.restart()
    assert await first.closed() == 1012
    back = [await served.enter(player["bot"]) for player in start["seats"]]
    again = await back[1].expect("turn")
    assert {key: again[key] for key in ("ply", "digest", "state", "legal")} == {
        key: turn[key] for key in ("ply", "digest", "state", "legal")
    }
    ends = await asyncio.gather(back[0].play(), _answer(back[1], again))
    assert ends[0]["reason"] == "win"
    records.verify(records.read(served.store.record(start["match"]), "record"))


async def test_after_a_restart_start_tells_the_ratings_that_the_seats_bring(serve: Any) -> None:
    served, end, _ = await played(serve)
    for client in served.clients:
        await client.send(type="seek", id="s2", game="nim")
    start = await served.clients[0].expect("start")
    await served.restart()
    back = await served.enter("ann")
    again = await back.expect("start")
    assert again["seats"] == start["seats"]
    assert {seat["mu"] for seat in again["seats"]} == {seat["mu_after"] for seat in end["seats"]}


async def test_a_seat_that_never_gets_ready_is_a_no_show_and_nobody_is_rated(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(referee, "READY_WITHIN", 0.2)
    served = await serve()
    first, _, start, _ = await served.pair()
    await first.send(type="ready", match=start["match"])
    end = await first.expect("end")
    assert (end["reason"], end["ranks"]) == ("no_show", [1, 2])
    assert "mu_after" not in end["seats"][0]


async def test_a_watcher_sees_start_turns_and_end_but_no_legal_moves(serve: Any) -> None:
    served = await serve()
    first, second, start, _ = await served.pair()
    watcher = await served.connect()
    await watcher.send(type="hello")
    await watcher.expect("welcome")
    await watcher.send(type="watch", match=start["match"])
    assert "seat" not in await watcher.expect("start")
    await ready(start, first, second)
    await asyncio.gather(first.play(), second.play())
    end = await watcher.expect("end")
    turns = [message for message in watcher.passed if message["type"] == "turn"]
    assert [turn["ply"] for turn in turns] == list(range(end["ply"]))
    assert not any("legal" in turn for turn in turns)
    assert [event["ply"] for turn in turns for event in turn["events"]] == list(range(end["ply"] - 1))


async def test_a_watcher_of_everything_hears_starts_and_ends_only(serve: Any) -> None:
    served = await serve()
    watcher = await served.connect()
    await watcher.send(type="hello")
    await watcher.expect("welcome")
    await watcher.send(type="watch", match="*")
    first, second, start, _ = await served.pair()
    await ready(start, first, second)
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
    await ready(start, first, second)
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
    assert (await watcher.expect("error"))["code"] == "unavailable"


async def test_a_follower_is_told_the_turns_of_others_without_legal_moves(serve: Any) -> None:
    served = await serve()
    ann, bob = await served.enter("ann", follow=True), await served.enter("bob", follow=True)
    for client in (ann, bob):
        await client.send(type="seek", id="s", game="nim")
    starts = [await client.expect("start") for client in (ann, bob)]
    for client in (ann, bob):
        await client.send(type="ready", match=starts[0]["match"])
    other = ann if starts[0]["seat"] == 1 else bob
    turn = await other.expect("turn")
    assert (turn["to_move"], "legal" in turn) == (0, False)


async def test_a_bot_that_is_out_of_time_loses(serve: Any) -> None:
    from protocol.messages import Clock

    served = await serve(clock=Clock(bank_ms=150, increment_ms=0))
    first, second, start, _ = await served.pair()
    await ready(start, first, second)
    end = await first.expect("end")
    assert (end["reason"], end["ranks"]) == ("timeout", [2, 1])


async def test_a_move_in_a_match_that_is_not_yours_is_rejected(serve: Any) -> None:
    client = await (await serve()).enter("ann")
    await client.send(type="move", match="m-0", ply=0, move={})
    assert (await client.expect("rejected"))["code"] == "no_such_match"


async def test_ready_for_a_match_that_is_over_is_no_bad_message(serve: Any) -> None:
    client = await (await serve()).enter("ann")
    await client.send(type="ready", match="m-0")
    assert (await client.expect("error"))["code"] == "unavailable"


async def test_a_port_in_use_is_one_clear_line(serve: Any) -> None:
    served = await serve()
    other = await serve()
    with pytest.raises(PortFault, match=f"port {served.port} on 127.0.0.1 is in use"):
        await other.arena.listen("127.0.0.1", served.port)


async def test_a_reader_that_does_not_read_is_dropped_and_the_match_goes_on(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from arena import session

    monkeypatch.setattr(session, "MOST_UNREAD", 64 * 1024)
    served = await serve()
    watcher = await served.connect(max_queue=1)
    await watcher.send(type="hello")
    await watcher.expect("welcome")
    watcher.wire.transport.pause_reading()
    await watcher.send(type="watch", match="*")
    slow = await served.enter("slow")
    first, second, start, _ = await served.pair()
    flood = next(iter(served.arena.lobby.news))
    while flood.wire.state.name == "OPEN":
        flood.wire.push(bytes(1024))
        await asyncio.sleep(0)  # a turn of the loop, in which what was pushed is written
    await ready(start, first, second)
    ends = await asyncio.gather(first.play(), second.play())
    assert ends[0]["reason"] == "win"
    assert slow.wire.state.name == "OPEN"
    watcher.wire.transport.abort()
