"""Records of old matches removed: which go, what stays, and what is said where one would be needed."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import Connection

from arena.commands.config import read_settings, retention_of
from arena.operations import thinning
from arena.store.annulment import annul_matches
from arena.store.async_store import AsyncStore
from arena.store.bot_logs import add_log, list_logs
from arena.store.database import StoreError
from arena.store.finish import finish_matches
from arena.store.integrity_check import check_database
from arena.store.rating_rebuild import rebuild_ratings
from arena.store.result_queries import RecordRemoved, iter_results, leaderboard_of, record_of, result_of
from arena.store.retention_clock import check_clock, is_steady
from arena.store.store import Store
from arena.store.thinning import (
    RecordsOfBot,
    RemovalCutoffs,
    RemovalTotals,
    Retention,
    count_removed,
    find_removable,
    remove_all,
    remove_records,
)
from commands import Done, call
from databases import EVERY_DATABASE, SQLITE_ALONE, alter
from machine.event_loop import background_task
from machine.timestamps import utc_now
from machine.units import MIB
from protocol.match_logs import MatchLog
from seasons import result
from stored_matches import storable, stored
from virtual_time import advance

pytestmark = EVERY_DATABASE

Call = Callable[..., Done]
FOR_EVER = Retention(unrated_days=0, rated_days=0, max_unrated_mib=0)
GONE = "was removed: its result is what is left"


@pytest.fixture
def store(store: Store) -> Store:
    """Each kind of match at each age: `rated-9` was rated and ended nine days ago."""
    for days in (90, 40, 20, 0):
        ended = utc_now(days_ago=days)
        keep(store, f"rated-{days}", finished=ended)
        keep(store, f"unrated-{days}", rated=False, finished=ended)
        keep(store, f"annulled-{days}", finished=ended)
        keep(store, f"placed-{days}", rated=False, finished=ended, tournament="t1", place=days)
    store.write(annul_matches, [f"annulled-{days}" for days in (90, 40, 20, 0)])
    return store


def keep(store: Store, match: str, size: int = 100, **options: Any) -> None:
    store.write(finish_matches, [storable(result(match, **options), bytes(size))])


def thin(store: Store, limits: Retention) -> set[str]:
    """The matches that have no record any more once what is not to be kept was removed."""
    remove_all(store, remove_records, store.read(find_removable, limits))
    return {one.match for one in list(store.iterate(iter_results)) if not has_record(store, one.match)}


def has_record(store: Store, match: str) -> bool:
    try:
        return store.read(record_of, match) is not None
    except RecordRemoved:
        return False


def pages(store: Store) -> int:
    return int(store.read(lambda connection: connection.exec_driver_sql("PRAGMA page_count").scalar_one()))


@pytest.mark.parametrize(
    ("limits", "removed"),
    [
        (Retention(), {"unrated-90", "unrated-40"}),
        (FOR_EVER, set()),
        (replace(FOR_EVER, unrated_days=60), {"unrated-90"}),
        (replace(FOR_EVER, rated_days=30), {"rated-90", "rated-40", "annulled-90", "annulled-40"}),
        (Retention(rated_days=60), {"unrated-90", "unrated-40", "rated-90", "annulled-90"}),
    ],
)
def test_records_go_by_age_those_of_unrated_matches_first_and_none_of_a_tournament(
    store: Store, limits: Retention, removed: set[str]
) -> None:
    assert thin(store, limits) == removed


def test_the_oldest_unrated_records_go_where_all_of_them_are_too_much(tmp_path: Path) -> None:
    with closing(Store.open(tmp_path / "arena.db")) as store:
        for minute in range(5):
            keep(store, f"m{minute}", MIB // 2, rated=False, finished=f"2026-01-01T00:0{minute}:00.000Z")
            keep(store, f"rated-{minute}", MIB // 2, finished=f"2026-01-01T00:0{minute}:00.000Z")
        assert thin(store, replace(FOR_EVER, max_unrated_mib=3)) == set()
        assert thin(store, replace(FOR_EVER, max_unrated_mib=1)) == {"m0", "m1", "m2"}


@pytest.mark.parametrize(
    "removal", [lambda: partial(remove_records, cutoffs=RemovalCutoffs("3", "")), lambda: RecordsOfBot("Ann").remove]
)
def test_a_batch_is_small_whatever_the_records_have(
    tmp_path: Path, removal: Callable[[], Callable[[Connection], RemovalTotals]]
) -> None:
    remove = removal()
    with closing(Store.open(tmp_path / "arena.db")) as store:
        for number, size in enumerate((2 * MIB, MIB // 2, MIB // 2, MIB // 2)):
            keep(store, f"m{number}", size, rated=False, finished=f"2026-01-01T00:0{number}:00.000Z")
        assert [store.write(remove) for _ in range(4)] == [
            RemovalTotals(records=1, bytes=2 * MIB),
            RemovalTotals(records=2, bytes=MIB),
            RemovalTotals(records=1, bytes=MIB // 2),
            RemovalTotals(),
        ]


def test_without_their_records_results_and_ratings_stay_and_the_database_adds_up(store: Store) -> None:
    before = list(store.iterate(iter_results)), store.read(leaderboard_of, "nim/classic")
    thin(store, Retention(unrated_days=1, rated_days=1))
    assert (list(store.iterate(iter_results)), store.read(leaderboard_of, "nim/classic")) == before
    assert store.read(count_removed) == 9
    assert list(store.iterate(check_database)) == []
    assert store.write(annul_matches, ["rated-90"]).matches == 1
    assert store.write(rebuild_ratings) == 0


@SQLITE_ALONE
def test_the_room_is_taken_by_what_comes_or_given_back(tmp_path: Path) -> None:
    with closing(Store.open(tmp_path / "arena.db")) as store:
        for number in range(8):
            keep(store, f"m{number}", MIB // 2, rated=False)
        size = pages(store)
        thin(store, Retention())
        for number in range(8, 15):
            keep(store, f"m{number}", MIB // 2, rated=False)
        assert pages(store) == size
        thin(store, Retention())
        assert store.vacuum() > 3 * MIB
        assert pages(store) < size / 2
        assert store.read(result_of, "m3") is not None


@pytest.fixture
def played(tmp_path: Path) -> Path:
    """A database of unrated matches that were played; the newest is of risk-duel, and only that has its record."""
    with closing(stored(tmp_path / "arena.db")) as store:
        newest = next(store.iterate(iter_results)).match
        alter(store.database, f"UPDATE matches SET finished = '2026-01-01T00:00:00.000Z' WHERE id <> '{newest}'")
    return tmp_path / "arena.db"


@pytest.fixture
def arena(played: Path) -> Call:
    return partial(call, "arena", ARENA_DB=str(played), ARENA_DATA=str(played.parent))


def test_commands_say_that_a_record_was_removed(arena: Call, tmp_path: Path) -> None:
    done = arena("db", "thin")
    assert re.match("7 records removed, [1-9] KiB; the database file keeps its size", done.out)
    match = json.loads(arena("matches", "--game", "nim", "--limit", "1", "--json").out)[0]["match"]
    for words in (
        ("show", match),
        ("verify", match),
        ("grade", match),
        ("export", match, "--to", str(tmp_path / "m.json")),
    ):
        assert arena("replay", *words) == (1, "", f"arena: the record of match {match} {GONE}\n")
    assert arena("replay", "verify").out == "1 record verified; 7 matches no longer have one\n"
    assert arena("db", "check", "--quick").code == 1, "the times of the others' results were changed here"
    told = arena("replay", "grade", "--bot", "ann", "--game", "nim")
    assert (told.code, told.err) == (0, "arena: 4 matches of ann have no record any more\n")
    done = arena("export", "--to", str(tmp_path / "out"))
    assert done.err == "arena: 7 matches have no plies, their records were removed\n"
    assert done.out.startswith(f"{tmp_path}/out: 8 matches, 16 seats, ")
    assert arena("db", "thin", "--keep-unrated-records", "0", "--vacuum").out.startswith("0 records removed, 0 KiB; ")


def test_a_wrong_number_of_days_is_one_line(arena: Call) -> None:
    done = arena("db", "thin", "--keep-rated-records", "99999")
    assert (done.code, done.err) == (2, "arena: keep_rated_records is 99999: it is days from 0 to 36500, 0 for never\n")


def test_what_is_kept_by_default_is_said_in_one_place() -> None:
    assert retention_of(read_settings({}, None, {})) == Retention()


async def test_a_running_server_removes_them_when_it_is_asked(serve: Any) -> None:
    served = await serve()
    keep(served.store, "old", rated=False)
    request = thinning.Thin(unrated_days=30, rated_days=0, max_unrated_mib=0)
    assert await served.perform(request) == RemovalTotals(records=1, bytes=100)
    assert not has_record(served.store, "old")


@pytest.mark.parametrize("days_ago", [1.1, 40, -40])
@pytest.mark.virtual_time
async def test_nothing_is_removed_for_its_age_for_a_day_after_the_clock_has_jumped(
    store: Store, caplog: pytest.LogCaptureFixture, days_ago: float
) -> None:
    store.write(check_clock)
    alter(store.database, f"UPDATE retention_clock SET looked = '{utc_now(days_ago=days_ago)}'")
    store.write(add_log, "ann", 1, MatchLog(match="m-1", text="said"))
    alter(store.database, f"UPDATE bot_logs SET written = '{utc_now(days_ago=15)}'")
    archive = AsyncStore(store)
    warned: list[str | None] = []
    async with background_task(thinning.run_retention(archive, Retention(), warned.append, log_days=14)):
        await advance(thinning.REMOVAL_INTERVAL_S)
        assert (warned[-1] or "").startswith("the clock of the database was set, or no server ran for more than 1 day")
        assert not store.read(is_steady)
        assert has_record(store, "unrated-90")
        assert store.read(list_logs, "ann", "", 1)
        alter(store.database, f"UPDATE retention_clock SET steady_since = '{utc_now(days_ago=1)}'")
        await advance(thinning.REMOVAL_INTERVAL_S)
    await archive.drain()
    assert warned[-1] is None
    assert store.read(is_steady)
    assert not has_record(store, "unrated-90")
    assert not store.read(list_logs, "ann", "", 1)


@pytest.mark.virtual_time
async def test_what_is_too_much_goes_whatever_the_clock_says(store: Store) -> None:
    keep(store, "large", size=MIB, rated=False, finished=utc_now(days_ago=50))
    keep(store, "larger", size=MIB, rated=False, finished=utc_now(days_ago=45))
    store.write(check_clock)
    alter(store.database, f"UPDATE retention_clock SET looked = '{utc_now(days_ago=40)}'")
    archive = AsyncStore(store)
    async with background_task(thinning.run_retention(archive, Retention(max_unrated_mib=1))):
        await advance(thinning.REMOVAL_INTERVAL_S)
    await archive.drain()
    assert not has_record(store, "large")
    assert has_record(store, "unrated-40")


@pytest.mark.virtual_time
async def test_it_does_so_by_itself_and_goes_on_after_a_fault(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    archive = AsyncStore(store)
    done: asyncio.Future[RemovalTotals] = asyncio.get_running_loop().create_future()
    faults = [ZeroDivisionError(), StoreError("the disk is full")]
    real = thinning.remove_old_records

    async def thin(*words: Any, **options: Any) -> RemovalTotals:
        if faults:
            raise faults.pop()
        removed = await real(*words, **options)
        if not done.done():
            done.set_result(removed)
        return removed

    monkeypatch.setattr(thinning, "remove_old_records", thin)
    async with background_task(thinning.run_retention(archive, Retention())):
        await advance(2 * thinning.REMOVAL_INTERVAL_S)
        assert done.result() == RemovalTotals(records=2, bytes=200)
    await archive.drain()
    assert [one.getMessage() for one in caplog.records] == [
        "records of old matches can't be removed: the disk is full",
        "records of old matches can't be removed",
    ]
