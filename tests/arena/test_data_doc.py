"""docs/data.md keeps its word: its tables are the columns there are, and its program runs."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from arena.replay.ply_rows import PlyRow
from arena.store import export_rows
from arena.store.export_rows import LADDER_COLUMNS, MATCH_COLUMNS, PLY_COLUMNS, SEAT_COLUMNS, Columns
from arena.store.schema import metadata
from arena.store.store import Store
from arena.store.views import VIEW_STATEMENTS
from commands import call
from stored_matches import stored

DOC = (Path(__file__).parents[2] / "docs" / "data.md").read_text()


def table(after: str) -> list[list[str]]:
    """The cells of the table with this head, or of the first one after a heading, without its head."""
    rows = re.search(r"(?:^\|.*\n)+", DOC.split(f"\n{after}\n", 1)[1], re.MULTILINE)
    assert rows is not None
    head = 1 if after.startswith("|") else 2
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in rows[0].splitlines()[head:]]


def columns(after: str) -> list[tuple[str, str]]:
    return [(name, kind) for cells in table(after) for name in re.findall(r"`(\w+)`", cells[0]) for kind in [cells[1]]]


@pytest.mark.parametrize(
    ("heading", "code"),
    [
        ("### Columns of matches", MATCH_COLUMNS),
        ("### Columns of seats", SEAT_COLUMNS),
        ("### Columns of plies", PLY_COLUMNS),
    ],
)
def test_the_columns_of_a_table_are_those_that_are_told(heading: str, code: Columns) -> None:
    told = columns(heading)
    assert [name for name, _ in told] == list(code)
    assert all(kind == code[name] for name, kind in told if kind)
    assert {
        export_rows.TEXT_TYPE,
        export_rows.INTEGER_TYPE,
        export_rows.REAL_TYPE,
        export_rows.BOOLEAN_TYPE,
        export_rows.TIME_TYPE,
    } >= set(code.values())


def test_the_columns_of_a_ply_are_those_of_its_rows() -> None:
    assert list(PLY_COLUMNS) == ["number", "match", *PlyRow._fields]


def test_the_views_have_the_columns_that_are_told(tmp_path: Path) -> None:
    Store.open(tmp_path / "arena.db").close()
    with closing(sqlite3.connect(tmp_path / "arena.db")) as connection:
        found = {view: [row[1] for row in connection.execute(f"PRAGMA table_info({view})")] for view in VIEW_STATEMENTS}
    assert found == {
        "match_results": list(MATCH_COLUMNS),
        "match_seats": list(SEAT_COLUMNS),
        "ladder": list(LADDER_COLUMNS),
    }
    assert [cells[0] for cells in table("## Querying the database with SQL")] == [
        f"`{view}`" for view in VIEW_STATEMENTS
    ]
    assert columns("### Columns of the view ladder") == list(LADDER_COLUMNS.items())


def test_every_table_is_named() -> None:
    named = [name for cells in table("| table | what is in it |") for name in re.findall(r"`(\w+)`", cells[0])]
    assert sorted(named) == sorted(metadata.tables)


def test_every_option_that_chooses_matches_is_told() -> None:
    told = {option for cells in table("| option | only matches |") for option in re.findall(r"`(--\w+)", cells[0])}
    for command in ("matches", "export"):
        offered = set(re.findall(r"^\s+(--[a-z]+)", call("arena", command, "--help").out, re.MULTILINE))
        beside = {"--limit", "--json", "--csv", "--db", "--data", "--help", "--to", "--format", "--plies"}
        assert offered - beside == told


def test_the_program_for_polars_runs(tmp_path: Path) -> None:
    stored(tmp_path / "arena.db").close()
    done = call("arena", "export", "--to", str(tmp_path / "autumn"), ARENA_DB=str(tmp_path / "arena.db"))
    assert done.code == 0, done.err
    program = re.search(r"^```python\n(.*?)^```$", DOC, re.DOTALL | re.MULTILINE)
    assert program is not None
    ran = subprocess.run([sys.executable, "-c", program[1]], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("ann") >= 3
