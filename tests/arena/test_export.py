"""`arena export`: tables with all that is stored, whole or not there at all."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import polars
import pytest
from sqlalchemy import Connection

from arena.store import export_rows
from arena.store.dialect import execute
from arena.store.export_rows import export_matches
from arena.store.finish import finish_matches
from arena.store.match_search import Search
from arena.store.result_queries import iter_results, record_of
from arena.store.store import Reader, Store
from commands import Done, call
from databases import EVERY_DATABASE, alter, asked
from protocol.messages import CHANCE
from referee import record_reader
from referee_table import Table, header
from seasons import finish, result
from stored_matches import PLAYED, storable, stored

pytestmark = EVERY_DATABASE

Arena = Callable[..., Done]


@pytest.fixture
def arena(tmp_path: Path) -> Arena:
    """Run `arena export` into a folder beside a database with matches that were played."""
    stored(tmp_path / "arena.db").close()
    return partial(call, "arena", "export", ARENA_DB=str(tmp_path / "arena.db"))


def read(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_match_seat_and_ply_is_a_row_in_the_order_of_the_matches(arena: Arena, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = arena("--to", str(out))
    matches, seats, plies = (read(out, name) for name in ("matches", "seats", "plies"))
    assert done.out == f"{out}: {len(matches)} matches, {len(seats)} seats, {len(plies)} plies, as csv\n"
    with closing(Store.open(tmp_path / "arena.db")) as store:
        results = list(store.iterate(iter_results))[::-1]
        records = [record_reader.read_record(store.read(record_of, one.match) or b"", one.match) for one in results]
    assert [row["match"] for row in matches] == [one.match for one in results]
    assert [(row["bot"], row["rank"]) for row in seats] == [(s.bot, str(s.rank)) for one in results for s in one.seats]
    told = [(record.header.match, line.event, line.clock) for record in records for line in record.plies]
    assert len(plies) == len(told)
    for row, (match, event, clock) in zip(plies, told, strict=True):
        assert (row["match"], row["ply"], row["seat"]) == (match, str(event.ply), str(event.seat))
        assert json.loads(row["move"]) == event.move
        assert (json.loads(row["dice"]) if row["dice"] else None) == event.dice
        assert row["clock_ms"] == ("" if event.seat == CHANCE else str(clock[event.seat]))
    assert any(row["dice"] for row in plies)
    thought = Counter[tuple[str, str]]()
    for row in plies:
        thought[row["match"], row["seat"]] += int(row["thought_ms"] or 0)
    assert all(thought[row["match"], row["seat"]] == int(row["thought_ms"]) for row in seats)


def test_a_version_that_is_a_formula_is_text_in_every_csv_and_numbers_stay_numbers(tmp_path: Path) -> None:
    with closing(Store.open(tmp_path / "arena.db")) as store:
        for number, version in enumerate(("=1+1", "@SUM(1)", "-2+3", "'quoted")):
            finish(store, result(f"m{number}", ("ann", "bob"), (1, 2), version=version))
    arena = partial(call, "arena", ARENA_DB=str(tmp_path / "arena.db"))
    assert arena("export", "--to", str(tmp_path / "out"), "--no-plies").code == 0
    seats = read(tmp_path / "out", "seats")
    assert [row["version"] for row in seats[::2]] == ["'=1+1", "'@SUM(1)", "'-2+3", "''quoted"]
    ladder = list(csv.DictReader(arena("leaderboard", "--csv").out.splitlines()))
    assert {row["version"] for row in ladder} == {"''quoted"}
    assert min(float(row["score"]) for row in ladder) < 0


def test_parquet_has_what_csv_has_with_its_types(arena: Arena, tmp_path: Path) -> None:
    arena("--to", str(tmp_path / "text"))
    assert arena("--to", str(tmp_path / "typed"), "--format", "parquet").code == 0
    for name in ("matches", "seats", "plies"):
        typed = polars.read_parquet(tmp_path / "typed" / f"{name}.parquet")
        text = polars.read_csv(
            tmp_path / "text" / f"{name}.csv", schema_overrides=dict.fromkeys(typed.columns, polars.String)
        )
        assert typed.height == text.height
        for column in typed.columns:
            if typed[column].dtype == polars.String:
                assert typed[column].fill_null("").to_list() == text[column].fill_null("").to_list()
            elif typed[column].dtype == polars.Int64:
                assert typed[column].to_list() == text[column].cast(polars.Int64).to_list()
    matches = polars.read_parquet(tmp_path / "typed" / "matches.parquet")
    assert matches["rated"].to_list() == [False] * matches.height
    assert matches["finished"].dtype == polars.Datetime("ms", "UTC")
    assert [f"{moment:%Y-%m-%dT%H:%M:%S}" for moment in matches["finished"]] == [
        row["finished"][:19] for row in read(tmp_path / "text", "matches")
    ]


def test_a_strike_is_counted_with_the_next_event_of_its_seat(tmp_path: Path) -> None:
    table = Table(header=header("nim", {"preset": "classic"}, match="260101-000057-5f0c9a2e")).begin()
    table.play({"heap": 0, "take": 9}, after=0.1)
    table.play({"heap": 0, "take": 3}, after=0.1, info={"value": 0.5, "note": "so"})
    table.play({"heap": 1, "take": 5}, after=0.2)
    table.play({"heap": 2, "take": 7}, after=0.3)
    with closing(Store.open(tmp_path / "arena.db")) as store:
        store.write(finish_matches, [storable(result("struck"), table.packed())])
    assert call("arena", "export", "--to", str(tmp_path / "out"), ARENA_DB=str(tmp_path / "arena.db")).code == 0
    first, second, third = read(tmp_path / "out", "plies")
    assert (first["strikes"], first["value"], json.loads(first["info"])) == ("1", "0.5", {"value": 0.5, "note": "so"})
    assert (second["strikes"], second["value"], second["info"]) == ("0", "", "")
    assert (third["seat"], third["strikes"]) == (first["seat"], "0")


def test_a_selection_is_that_of_arena_matches(arena: Arena, tmp_path: Path) -> None:
    words = ("--bot", "ann", "--lost", "--game", "nim")
    assert arena("--to", str(tmp_path / "out"), "--no-plies", *words).code == 0
    assert sorted(os.listdir(tmp_path / "out")) == ["matches.csv", "seats.csv"]
    listed = json.loads(call("arena", "matches", "--json", *words, ARENA_DB=str(tmp_path / "arena.db")).out)
    assert listed
    assert [row["match"] for row in read(tmp_path / "out", "matches")] == [one["match"] for one in listed[::-1]]


def test_an_export_that_fails_leaves_nothing(arena: Arena, tmp_path: Path) -> None:
    file = tmp_path / "arena.db"
    alter(file, "UPDATE records SET data = substr(data, 1, 60) WHERE match = 6")
    match = asked(file, "SELECT id FROM matches WHERE number = 6")[0]["id"]
    before = set(os.listdir(tmp_path))
    for form in ("csv", "parquet"):
        done = arena("--to", str(tmp_path / "out"), "--format", form)
        assert (done.code, done.out) == (1, "")
        assert done.err == f"arena: the record of match {match} is cut short: its gzip stream has no end\n"
    alter(file, "DELETE FROM records WHERE match = 6")
    assert arena("--to", str(tmp_path / "out")).err == (f"arena: match {match} has no record: run `arena db check`\n")
    assert {name for name in os.listdir(tmp_path) if not name.startswith("arena.db-")} == before


def test_nothing_is_written_over(arena: Arena, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    told = f"arena: {out} already exists and is not overwritten: choose another name\n"
    assert arena("--to", str(out)) == (2, "", told)
    assert os.listdir(out) == ["mine.txt"]
    (out / "mine.txt").unlink()
    assert arena("--to", str(out)).code == 0
    assert arena("--to", str(out / "matches.csv" / "deeper")) == (
        *(1, ""),
        f"arena: {out}/matches.csv/deeper can't be written: Not a directory\n",
    )


def test_without_pyarrow_one_line_says_what_to_install(
    arena: Arena, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    told = "arena: --format parquet needs pyarrow: pip install 'bot-arena[data]'; --format csv needs nothing\n"
    assert arena("--to", str(tmp_path / "out"), "--format", "parquet") == (2, "", told)
    assert arena("--to", str(tmp_path / "out"), "--format", "xlsx") == (
        *(2, ""),
        "arena: --format is 'xlsx': it is one of csv, parquet\n",
    )
    assert not (tmp_path / "out").exists()


def test_matches_come_some_at_a_time_as_they_were_at_one_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_rows, "EXPORT_BATCH_MATCHES", 3)
    with closing(stored(tmp_path / "arena.db")) as store, closing(Reader.open(tmp_path / "arena.db")) as reader:
        batches = reader.iterate(export_matches, Search(), records=True)
        sizes = [len(next(batches).matches)]
        finish(store, result("later"))
        sizes += [len(batch.matches) for batch in batches]
        assert (max(sizes), sum(sizes)) == (3, sum(count for _, count in PLAYED))
        assert sum(len(batch.matches) for batch in reader.iterate(export_matches, Search())) == sum(sizes) + 1


def test_however_many_matches_are_exported_the_statements_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []

    def noted(connection: Connection, statement: str, given: Any = None) -> Any:
        said.append(statement)
        return execute(connection, statement, given)

    monkeypatch.setattr(export_rows, "EXPORT_BATCH_MATCHES", 3)
    monkeypatch.setattr(export_rows, "execute", noted)
    with closing(stored(tmp_path / "arena.db")) as store:
        batches = list(store.iterate(export_matches, Search(), records=True))
    assert len(batches) == 3
    assert len(set(said)) == 3, "each is prepared once"
