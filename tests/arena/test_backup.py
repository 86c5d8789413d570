"""`arena db backup`: a whole copy while a server writes, or none; and an arena restored or moved elsewhere."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from arena.builtin_bots import builtin_bot_tokens
from arena.store.backup import back_up as back_up_file
from arena.store.database_url import open_database_url
from arena.store.integrity_check import check_database
from arena.store.result_queries import iter_results, leaderboard_of
from arena.store.store import Store
from commands import Done, call
from later_schema import FIRST, use_later_schema
from machine.atomic_write import file_lock
from seasons import finish, result, season


def back_up(data: Path, to: Path) -> Done:
    return call("arena", "db", "backup", str(to), "--data", str(data))


def filled(data: Path) -> Path:
    with closing(Store.open(data / "arena.db")) as store:
        season(store)
    return data


def test_a_copy_is_a_file_of_its_own_for_its_owner_alone(tmp_path: Path) -> None:
    with closing(Store.open(tmp_path / "arena.db")) as store:  # in use, with a log beside it
        season(store)
        to = tmp_path / "copy.db"
        done = back_up(tmp_path, to)
        assert (done.code, done.err) == (0, "")
        assert done.out == f"{to}: copied the whole database, with 30 matches, and checked the copy\n"
        assert stat.S_IMODE(to.stat().st_mode) == 0o600
        assert to.read_bytes()[18:20] == b"\x01\x01"  # it has no write-ahead log
        assert not list(tmp_path.glob("copy.db?*"))
        finish(store, result("later"))
        board = store.read(leaderboard_of, "tictactoe/classic")
    with closing(Store.open(to)) as copy:
        assert len(list(copy.iterate(iter_results))) == 30
        assert copy.read(leaderboard_of, "tictactoe/classic") == board
        assert list(copy.iterate(check_database)) == []


def test_a_database_of_an_earlier_schema_can_be_kept_before_it_is_upgraded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = filled(tmp_path)
    use_later_schema(monkeypatch, tmp_path / "migrations")
    assert back_up(data, tmp_path / "copy.db").code == 0
    assert open_database_url(tmp_path / "copy.db").revision() == FIRST


def test_what_is_there_is_not_written_over_and_nothing_half_is_left(tmp_path: Path) -> None:
    data = filled(tmp_path / "data")
    (tmp_path / "there.db").write_text("mine")
    (tmp_path / "file").touch()
    (tmp_path / "copy.db.part").write_text("of a backup that was cut off")
    for to, code, says in (
        ("there.db", 2, "there.db already exists and is not overwritten: choose another name"),
        ("none/copy.db", 1, "none/copy.db can't be written: No such file or directory"),
        ("file/copy.db", 1, "file/copy.db can't be written: Not a directory"),
    ):
        done = back_up(data, tmp_path / to)
        assert (done.code, done.out, done.err) == (code, "", f"arena: {tmp_path}/{says}\n")
    assert (tmp_path / "there.db").read_text() == "mine"
    done = back_up(tmp_path / "nowhere", tmp_path / "copy.db")
    assert (done.code, "no arena data in" in done.err) == (1, True)
    assert not (tmp_path / "copy.db").exists()
    assert back_up(data, tmp_path / "copy.db").code == 0


def test_of_two_backups_to_one_name_one_is_made_and_the_other_says_so(tmp_path: Path) -> None:
    data = filled(tmp_path / "data")
    with file_lock(tmp_path / "copy.db"):
        done = back_up(data, tmp_path / "copy.db")
    assert (done.code, done.out) == (2, "")
    assert done.err == f"arena: {tmp_path}/copy.db is being written by another backup: choose another name\n"
    assert back_up(data, tmp_path / "copy.db").code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.db", "data"]


@pytest.mark.parametrize("damaged", ["page", "entry"])
def test_a_damaged_database_is_not_taken_for_a_backup(tmp_path: Path, damaged: str) -> None:
    data = filled(tmp_path / "data")
    with closing(sqlite3.connect(data / "arena.db")) as opened:
        page = opened.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'matches_by_finish'").fetchone()[0]
        size = opened.execute("PRAGMA page_size").fetchone()[0]
    with (data / "arena.db").open("r+b") as file:
        file.seek((page - 1) * size if damaged == "page" else page * size - 8)
        file.write(b"\xff" * (size if damaged == "page" else 8))
    done = back_up(data, tmp_path / "copy.db")
    assert (done.code, done.err.count("\n")) == (1, 1)
    says = {
        "page": "arena.db can't be copied to",
        "entry": "arena.db is damaged, and was not copied: row 1 missing from",
    }
    assert says[damaged] in done.err
    assert not list(tmp_path.glob("copy.db*"))


def test_what_killed_backups_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    data, copies = filled(tmp_path / "data"), tmp_path / "copies"
    copies.mkdir()
    for name in ("monday", "tuesday", "busy", "mine"):
        (copies / f"{name}.db.lock").touch()
    shutil.copy(data / "arena.db", copies / "monday.db.part")
    (copies / "monday.db.part-journal").write_bytes(b"journal")
    (copies / "tuesday.db.part").touch()
    (copies / "busy.db.part").touch()
    (copies / "mine.db.part").write_text("my diary")
    (copies / "other.db.part").touch()
    with file_lock(copies / "busy.db"):
        assert back_up(data, copies / "wednesday.db").code == 0
    left = ["busy.db.part", "mine.db.lock", "mine.db.part", "other.db.part", "wednesday.db"]
    assert sorted(path.name for path in copies.iterdir()) == left


async def test_an_arena_restored_from_a_copy_made_while_it_ran_knows_its_bots(serve: Any, tmp_path: Path) -> None:
    first, tokens = await serve(), tmp_path / "tokens.json"
    season(first.store)
    await first.enter("mine")
    made = builtin_bot_tokens(first.store, tokens, ["random"])
    (tmp_path / "data1").mkdir()
    await asyncio.to_thread(back_up_file, first.store.database, tmp_path / "data1" / "arena.db")
    restored = await serve()
    assert restored.data == tmp_path / "data1"
    intruder = await restored.connect()
    await intruder.send(type="hello", bot="mine", token="x" * 20)
    assert (await intruder.expect("error"))["code"] == "auth_failed"
    assert "token" not in (await restored.enter("mine")).passed[0]
    assert builtin_bot_tokens(restored.store, tokens, ["random"]) == made
    assert len(list(restored.store.iterate(iter_results))) == 30
    assert list(restored.store.iterate(check_database)) == []


async def test_a_match_under_way_goes_on_where_the_whole_folder_was_moved_to(serve: Any, tmp_path: Path) -> None:
    served = await serve()
    first, _, start = await served.begun()
    await first.expect("turn")
    await served.stop()
    served.data = served.data.rename(tmp_path / "elsewhere")
    await served.start()
    back = [await served.enter(player["bot"]) for player in start["seats"]]
    turn = await back[0].expect("turn")
    await back[0].send(type="move", match=turn["match"], ply=0, move=turn["legal"][0])
    ends = await asyncio.gather(*(client.play() for client in back))
    assert ends[0]["match"] == start["match"]
    assert list(served.store.iterate(check_database)) == []
