"""Matches over real sockets, through faults and restarts, seen by clients that know nothing but the protocol."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from arena.host.timeouts import HostTimeouts
from arena.network.binding import PortFault
from arena.replay.verify import verify_record
from arena.store.result_queries import iter_results, leaderboard_of, record_of
from databases import EVERY_DATABASE
from protocol.messages import Clock
from referee import record_reader
from virtual_time import advance

pytestmark = EVERY_DATABASE


async def played(serve: Any, **seek: Any) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    served = await serve()
    first, second, _ = await served.begun(**seek)
    ends = await asyncio.gather(first.play(), second.play())
    return served, *ends


async def test_a_match_is_played_rated_and_recorded(serve: Any) -> None:
    served, end, other = await played(serve)
    assert end["reason"] == "win"
    assert sorted(end["ranks"]) == [1, 2]
    assert end["digest"] == other["digest"]
    assert all(seat["sigma_after"] < seat["sigma_before"] for seat in end["seats"])
    record = record_reader.read_record(served.store.read(record_of, end["match"]), "record")
    verify_record(record)
    assert record.footer.seed == end["seed"]
    assert [row.bot for row in served.store.read(leaderboard_of, "nim/classic")] == [
        seat["bot"] for seat in sorted(end["seats"], key=lambda seat: seat["rank"])
    ]


async def test_the_journal_of_a_stored_match_is_removed(serve: Any) -> None:
    served, end, _ = await played(serve)
    assert served.store.read(record_of, end["match"])
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
    await second.ready(start)
    turn = await first.expect("turn")
    assert turn["nonces"] == ["ab" * 16, ""]
    assert turn["state"] == {"heaps": [3, 5, 7], "to_move": 0, "ply": 0}
    assert len(turn["legal"]) == 15
    assert turn["events"] == []
    await first.send(type="move", match=start["match"], ply=0, move={"heap": 2, "take": 6})
    turn = await second.expect("turn")
    assert turn["events"] == [{"ply": 0, "seat": 0, "move": {"heap": 2, "take": 6}, "strikes": []}]
    assert turn["state"]["heaps"] == [3, 5, 1]


async def test_an_illegal_move_is_explained_and_the_third_loses(serve: Any) -> None:
    served = await serve()
    first, second, start = await served.begun()
    await first.expect("turn")
    for left, move in ((2, {"heap": 0, "take": 9}), (1, ["no map"]), (0, {"heap": 0})):
        await first.send(type="move", match=start["match"], ply=0, move=move)
        rejected = await first.expect("rejected")
        assert rejected["strikes_left"] == left
    end = await second.expect("end")
    assert end["reason"] == "illegal"
    assert end["ranks"] == [2, 1]


async def test_a_seat_that_dropped_out_of_three_is_not_told_the_match_again_after_a_restart(
    serve: Any, dibs: None
) -> None:
    served = await serve()
    seats, start = await served.three()
    await seats[1].send(type="resign", match=start["match"])
    await seats[1].expect("end")
    await served.restart()
    back = [await served.enter(player["bot"]) for player in start["seats"]]
    assert [client.passed[0]["resumed"] for client in back] == [[start["match"]], [], [start["match"]]]
    ends = await asyncio.gather(back[0].play(), back[2].play())
    assert ends[0]["ranks"][1] == 3


async def test_a_result_that_cannot_be_stored_ends_the_match_all_the_same(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(connection: Any, batch: Any) -> None:
        raise ZeroDivisionError("unforeseen")

    served = await serve()
    with monkeypatch.context() as patched:
        patched.setattr("arena.store.async_store.finish_matches", fails)
        first, second, start = await served.begun()
        ends = await asyncio.gather(first.play(), second.play())
    assert all("mu_after" not in seat for end in ends for seat in end["seats"])
    assert [served.arena.lobby.free_slots(bot) for bot in ("ann", "bob")] == [1, 1]
    await served.restart()
    await served.arena.close()
    assert next(iter(served.store.iterate(iter_results))).match == start["match"]


async def test_a_journal_that_cannot_be_removed_ends_the_match_all_the_same(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(path: Path, missing_ok: bool) -> None:
        raise PermissionError(13, "Permission denied")

    served = await serve()
    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", fails)
        first, second, _ = await served.begun()
        ends = await asyncio.gather(first.play(), second.play())
    assert all("mu_after" in seat for end in ends for seat in end["seats"])
    await served.restart()
    assert not list((served.data / "journal").glob("*.jsonl"))


async def test_a_bot_that_comes_back_is_told_where_its_match_stands(serve: Any) -> None:
    served = await serve()
    first, second, start = await served.begun()
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
    assert turn["events"] == [{"ply": 0, "seat": 0, "move": {"heap": 0, "take": 1}, "strikes": []}]
    ends = await asyncio.gather(first.play(), _answer(back, turn))
    assert ends[0]["reason"] == "win"


async def _answer(client: Any, turn: dict[str, Any]) -> dict[str, Any]:
    await client.send(type="move", match=turn["match"], ply=turn["ply"], move=turn["legal"][0])
    end: dict[str, Any] = await client.play()
    return end


async def test_a_match_goes_on_after_the_server_was_restarted(serve: Any) -> None:
    served = await serve()
    first, second, start = await served.begun()
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
    verify_record(record_reader.read_record(served.store.read(record_of, start["match"]), "record"))


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


@pytest.mark.virtual_time
async def test_a_seat_that_never_gets_ready_has_lost(serve: Any) -> None:
    served = await serve(timeouts=HostTimeouts())
    first, _, start, _ = await served.pair()
    await first.ready(start)
    await first.heard()
    await advance(9.99)
    assert served.arena.host.clients.runners
    await advance(0.01)
    end = await first.expect("end")
    assert (end["reason"], end["ranks"]) == ("no_show", [1, 2])
    here, absent = end["seats"]
    assert here["mu_after"] > here["mu_before"] == absent["mu_before"] > absent["mu_after"]


async def test_a_bot_that_is_out_of_time_loses(serve: Any) -> None:
    served = await serve(clock=Clock(bank_ms=150, increment_ms=0))
    first, _, _ = await served.begun()
    end = await first.expect("end")
    assert (end["reason"], end["ranks"]) == ("timeout", [2, 1])


async def test_a_port_in_use_is_one_clear_line(serve: Any) -> None:
    served = await serve()
    other = await serve()
    with pytest.raises(PortFault, match=f"port {served.port} on 127.0.0.1 is in use"):
        await other.arena.host.listener.listen("127.0.0.1", served.port)
