"""What an arena does while it can't keep what it referees: nothing begins, nothing is told, and then it goes on."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from contextlib import closing
from typing import Any

import pytest

from arena.host.timeouts import HostTimeouts
from arena.lobby.policy import PAIRING_INTERVAL_S
from arena.replay.verify import verify_record
from arena.store import sqlite_database
from arena.store.async_store import MAX_RETRY_DELAY_S
from arena.store.registry import all_bots
from arena.store.result_queries import iter_results, record_of
from referee import record_reader
from timeouts import WITHIN
from virtual_time import advance, settle

pytestmark = pytest.mark.virtual_time
RETRY_DELAY_S = HostTimeouts().record_retry_delay_s
UNSTORED_NOTICE_DELAY_S = HostTimeouts().unstored_notice_delay_s


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that another process has locked is given up soon: SQLite waits in real time."""
    monkeypatch.setattr(sqlite_database, "BUSY_TIMEOUT_MS", 1)


async def asked(served: Any, path: str) -> tuple[int, str]:
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    head, _, body = (await reader.read()).decode().partition("\r\n\r\n")
    writer.close()
    return int(head.split()[1]), body


async def held(served: Any, *, wanted: bool = True) -> str:
    """Return what the arena says of itself once all has settled: it is held, or not any more. It is alive."""
    await settle()
    status, text = await asked(served, "/readyz")
    assert (status, await asked(served, "/healthz")) == (503 if wanted else 200, (200, "ok\n"))
    return text


async def test_seeks_wait_while_no_journal_can_be_made(serve: Any) -> None:
    served = await serve()
    clients = [await served.enter("ann"), await served.enter("bob")]
    (served.data / "journal").rename(served.data / "elsewhere")
    for client in clients:
        await client.send(type="seek", id="s1", game="nim")
    await served.matched(*clients)
    assert "No such file" in await held(served)
    (served.data / "elsewhere").rename(served.data / "journal")
    await advance(RETRY_DELAY_S + PAIRING_INTERVAL_S)
    starts = [await client.expect("start") for client in clients]
    assert [start["seek"] for start in starts] == ["s1", "s1"]
    assert await held(served, wanted=False) == "ok\n"
    assert not [message for client in clients for message in client.passed if message["type"] == "error"]


async def test_no_match_begins_while_another_is_held_and_both_are_played_to_their_end(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = await serve()
    first, second, start = await served.begun()
    others = [await served.enter("cid"), await served.enter("dan")]
    turn = await first.expect("turn")
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        await first.send(type="move", match=start["match"], ply=0, move=turn["legal"][0])
        await first.heard()
        assert "No space left on device" in await held(served)
        for client in others:
            await client.send(type="seek", id="s2", game="nim")
        await served.matched(*others)
        await advance(RETRY_DELAY_S)
        told = await second.expect("error")
        assert (told["code"], told["ref"]) == ("unavailable", start["match"])
        assert list((served.data / "journal").iterdir()) == [served.data / "journal" / f"{start['match']}.jsonl"]
    await advance(RETRY_DELAY_S + PAIRING_INTERVAL_S)
    ends = await asyncio.gather(*(client.play() for client in (first, second, *others)))
    assert [end["reason"] for end in ends] == ["win"] * 4
    assert len(list(served.store.iterate(iter_results))) == 2


async def test_a_match_that_was_held_at_a_stop_goes_on_after_it_and_ends_once(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = await serve()
    first, second, start = await served.begun()
    turn = await first.expect("turn")
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        await first.send(type="move", match=start["match"], ply=0, move=turn["legal"][0])
        await first.heard()
        await held(served)
        await served.stop()
    await served.start()
    assert not [message for client in (first, second) for message in client.passed if message["type"] == "end"]
    clients = [await served.enter("ann"), await served.enter("bob")]
    ends = await asyncio.gather(*(client.play() for client in clients))
    assert [(end["match"], end["reason"]) for end in ends] == [(start["match"], "win")] * 2
    assert [result.match for result in list(served.store.iterate(iter_results))] == [start["match"]]


def full(file: int, data: bytes) -> int:
    raise OSError(28, "No space left on device")


async def test_a_result_that_can_not_be_stored_is_told_with_its_ratings_when_it_is(serve: Any) -> None:
    served = await serve()
    first, second, start = await served.begun()
    others = [await served.enter("cid"), await served.enter("dan")]
    with closing(sqlite3.connect(served.data / "arena.db", isolation_level=None)) as beside:
        beside.execute("BEGIN IMMEDIATE")
        await first.send(type="resign", match=start["match"])
        await first.heard()
        await advance(UNSTORED_NOTICE_DELAY_S)
        for client in (first, second):
            told = await client.expect("error")
            assert (told["code"], told["ref"]) == ("unavailable", start["match"])
        assert "database is locked" in await held(served)
        for client in others:
            await client.send(type="seek", id="s2", game="nim")
        await served.matched(*others)
    await advance(MAX_RETRY_DELAY_S)
    ends = [await client.expect("end") for client in (first, second)]
    assert all("mu_after" in seat for end in ends for seat in end["seats"])
    assert [result.match for result in list(served.store.iterate(iter_results))] == [start["match"]]
    ends = await asyncio.gather(*(client.play() for client in others))
    assert [end["reason"] for end in ends] == ["win"] * 2


async def test_a_stop_while_results_can_not_be_stored_loses_none(serve: Any) -> None:
    served = await serve()
    first, second, start = await served.begun()
    with closing(sqlite3.connect(served.data / "arena.db", isolation_level=None)) as beside:
        beside.execute("BEGIN IMMEDIATE")
        await first.send(type="resign", match=start["match"])
        await first.heard()
        await held(served)
        await served.stop()
    for client in (first, second):
        await client.closed()
        assert not [message for message in client.passed if message["type"] == "end"]
    await served.start()
    async with asyncio.timeout(WITHIN):
        while list((served.data / "journal").iterdir()):
            await served.archive.read(all_bots)
    (result,) = list(served.store.iterate(iter_results))
    assert (result.match, result.reason) == (start["match"], "resigned")


async def test_a_journal_that_was_deleted_keeps_no_match_from_being_stored(serve: Any) -> None:
    served = await serve()
    first, second, start = await served.begun()
    (served.data / "journal" / f"{start['match']}.jsonl").unlink()
    ends = await asyncio.gather(first.play(), second.play())
    assert [end["reason"] for end in ends] == ["win"] * 2
    verify_record(record_reader.read_record(served.store.read(record_of, start["match"]), "record"))


async def test_a_database_that_was_moved_away_holds_play_until_it_is_back(serve: Any) -> None:
    served = await serve()
    first, second, start = await served.begun()
    for name in ("arena.db", "arena.db-wal", "arena.db-shm"):
        (served.data / name).rename(served.data / f"{name}.away")
    await first.send(type="resign", match=start["match"])
    await first.heard()
    assert "arena.db was removed while it was in use" in await held(served)
    await advance(UNSTORED_NOTICE_DELAY_S)
    await second.expect("error")
    for name in ("arena.db", "arena.db-wal", "arena.db-shm"):
        (served.data / f"{name}.away").rename(served.data / name)
    await advance(MAX_RETRY_DELAY_S)
    end = await second.expect("end")
    assert all("mu_after" in seat for seat in end["seats"])
    assert [result.match for result in list(served.store.iterate(iter_results))] == [start["match"]]


async def test_that_bots_wait_long_to_be_let_in_is_said_though_matches_go_on(serve: Any) -> None:
    served = await serve()
    first, second, start = await served.begun()
    done = threading.Event()
    busy = asyncio.create_task(served.archive.read(lambda connection: done.wait(WITHIN)))
    newcomer = await served.connect()
    await newcomer.send(type="hello", bot="cid")
    await newcomer.heard()
    await advance(4.99, held_jobs=2)
    assert await asked(served, "/readyz") == (200, "ok\n")
    await advance(0.01, held_jobs=2)
    told = "new connections waiting to be admitted: 1, the first for 5 s: the database is slow\n"
    assert await asked(served, "/readyz") == (503, told)
    assert await asked(served, "/healthz") == (200, "ok\n")
    turn = await first.expect("turn")
    await first.send(type="move", match=start["match"], ply=0, move=turn["legal"][0])
    assert (await second.expect("turn"))["ply"] == 1
    done.set()
    await busy
    await newcomer.expect("welcome")
    assert await held(served, wanted=False) == "ok\n"


async def test_the_pings_of_a_newcomer_are_answered_while_it_waits_to_be_let_in(serve: Any) -> None:
    served = await serve()
    done = threading.Event()
    busy = asyncio.create_task(served.archive.read(lambda connection: done.wait(WITHIN)))
    newcomer = await served.connect()
    await newcomer.send(type="hello", bot="ann")
    await newcomer.send(type="seek", id="s1", game="nim")  # which is kept until then
    async with asyncio.timeout(WITHIN):
        for _ in range(3):
            await (await newcomer.wire.ping())
    done.set()
    await busy
    await newcomer.expect("welcome")
    await newcomer.send(type="unseek", id="s1")
    assert (await newcomer.expect("unseeked"))["id"] == "s1"
    assert [message["type"] for message in newcomer.passed] == []
