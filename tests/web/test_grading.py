"""Grades of matches on maps of their own: by a process beside the page, that ends with whoever waits for it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec
import numpy
import pytest
from starlette.requests import ClientDisconnect

from arena.replay.grading import Grades, grade_match
from arena.store.result_queries import record_of
from arena.web import grading, site
from arena.web.api import operations
from arena.web.grader import CACHE_FOLDER, GradeRequest
from arena.web.grading import GradeCache, Grading, GradingTimeouts, grading_method
from exact_boards import PAIR, board
from games.risk.exact import table as duel
from games.risk.exact.shape import small_shape_of
from games.risk.exact.table import BoundedFolder, write_values
from library import ANN, BOB, Library
from machine.cache import cache_folder
from machine.compiled import HAS_NUMBA
from machine.exact.graders import may_need_solving, store_new_tables_in
from protocol.errors import ArenaFault, UsageFault
from protocol.games import load_game
from referee.record import Record
from web_client import Visitor, open_pages

OWN = {"map": board(PAIR).encoded, "max_troops": 3}
solving = pytest.mark.skipif(not HAS_NUMBA, reason="numba is not installed")


def data_of(visitor: Visitor, match: str) -> bytes:
    data = visitor.store.read(record_of, match)
    assert data is not None
    return data


async def stays() -> bool:
    return False


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test a cache of its own, in which compiled code is that of all: compiling takes ten seconds."""
    compiled = list(cache_folder().glob("compiled-*"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    folder = cache_folder()
    folder.mkdir(parents=True)
    for code in compiled:
        (folder / code.name).symlink_to(code)
    return folder


@pytest.mark.parametrize(
    ("game", "config", "may"),
    [
        ("risk-duel", {"preset": "south-america"}, False),
        ("risk-duel", {"preset": "south-america", "max_plies": 7}, False),
        ("risk-duel", {"preset": "south-america", "max_troops": 7}, True),
        ("risk-duel", OWN, True),
        ("nim", {"heaps": [3, 4]}, False),
    ],
)
def test_only_a_map_or_cap_of_its_own_may_have_to_be_solved(game: str, config: dict[str, object], may: bool) -> None:
    assert may_need_solving(game, load_game(game, config).config) == may


@solving
def test_a_process_of_its_own_grades_a_match_on_a_map_of_its_own(visitor: Visitor, cache: Path) -> None:
    match = Library(visitor.store).play("risk-duel", [ANN, BOB], OWN, rated=False)
    shape = small_shape_of(board(PAIR), 3)
    write_values(cache / CACHE_FOLDER / f"duel-{shape.key}", shape.key, numpy.full(shape.positions, 0.5), 1)
    told = msgspec.json.decode(visitor.get(f"/api/v1/matches/{match}/grades").body, type=Grades)
    assert {move.value for move in told.moves} == {-0.5}
    assert b'id="match-grades"' in visitor.get(f"/api/v1/matches/{match}/match.html").body


@solving
def test_a_table_that_is_solved_for_a_visitor_is_kept_with_those_of_visitors(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duel, "_bounded", None)
    monkeypatch.setattr(duel, "_solve_values", lambda shape: (numpy.zeros(shape.positions), 7))
    store_new_tables_in(cache / CACHE_FOLDER, 1_000_000)
    duel.load_or_solve(board(PAIR), 3)
    assert list(cache.rglob("duel-*")) == [cache / CACHE_FOLDER / f"duel-{small_shape_of(board(PAIR), 3).key}"]
    monkeypatch.delattr(duel, "_solve_values")
    assert duel.load_or_solve(board(PAIR), 3).values.sweeps == 7


@pytest.fixture
def hasty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Visitor]:
    """Return a visitor of an empty arena that gives no time to solve a map."""
    monkeypatch.setattr(site, "Grading", partial(Grading, GradingTimeouts(solve_timeout_s=0.0)))
    with open_pages(tmp_path) as visitor:
        yield visitor


def test_grades_that_take_too_long_are_refused_and_the_file_goes_without_them(hasty: Visitor) -> None:
    match = Library(hasty.store).play("risk-duel", [ANN, BOB], OWN, rated=False)
    told = hasty.get(f"/api/v1/matches/{match}/grades")
    assert told.status == 503
    assert f"the map of {match} takes more than 0 s to solve: `arena replay grade`" in told.text
    file = hasty.get(f"/api/v1/matches/{match}/match.html")
    assert file.status == 200
    assert b'id="match-grades"' not in file.body


async def test_what_nobody_can_grade_is_told_as_without_that_process(visitor: Visitor) -> None:
    match = Library(visitor.store).play("tictactoe", [ANN, BOB])
    with pytest.raises(UsageFault, match="tictactoe is not solved"):
        await Grading().grade("a", data_of(visitor, match), match, GradeRequest(), stays)


def test_grades_are_kept_for_who_asks_again_and_made_anew_where_what_is_kept_is_damaged(
    visitor: Visitor, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    match = Library(visitor.store).play("nim", [ANN, BOB])
    address = f"/api/v1/matches/{match}/grades"
    first = visitor.get(address)
    (kept,) = cache.rglob("grades-*")
    made = []

    def making(record: Record, seat: None) -> Grades:
        made.append(record)
        return grade_match(record)

    monkeypatch.setattr(grading, "grade_match", making)
    assert visitor.get(address).body == first.body
    assert made == []
    kept.write_bytes(kept.read_bytes()[:-9])
    assert visitor.get(address).body == first.body
    assert len(made) == 1


@solving
async def test_the_grades_of_a_map_that_was_solved_are_there_at_once_the_next_time(
    visitor: Visitor, cache: Path, started: list[asyncio.subprocess.Process]
) -> None:
    match = Library(visitor.store).play("risk-duel", [ANN, BOB], OWN, rated=False)
    record = data_of(visitor, match)
    GradeCache(cache / CACHE_FOLDER, 1_000_000).write(
        record, GradeRequest(), Grades(match=match, game="risk-duel", moves=[], seats=[])
    )
    assert (await Grading().grade("a", record, match, GradeRequest(), stays)).match == match
    assert started == []


def test_of_the_grades_that_are_kept_those_asked_for_last_stay(tmp_path: Path) -> None:
    grades = Grades(match="x" * 1000, game="nim", moves=[], seats=[])
    kept = GradeCache(tmp_path, 2500)
    for record in (b"a", b"b"):
        kept.write(record, GradeRequest(), grades)
    for file in tmp_path.iterdir():
        os.utime(file, (0, 0))
    assert kept.read(b"a", GradeRequest()) == grades
    kept.write(b"c", GradeRequest(), grades)
    assert [kept.read(record, GradeRequest()) is not None for record in (b"a", b"b", b"c")] == [True, False, True]


def test_the_moves_of_a_seat_are_estimated_where_the_game_is_not_solved_and_kept(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARENA_PLAIN", "1")
    monkeypatch.setattr(operations, "ESTIMATE_SIMULATIONS", 80)
    config = {"map": "south-america", "max_rounds": 1}
    match = Library(visitor.store).play("risk-campaign", [ANN, BOB], config, rated=False)
    address = f"/api/v1/matches/{match}/grades"
    assert visitor.get(address).status == 400
    first = visitor.get(f"{address}?estimated=true&seat=1")
    told = msgspec.json.decode(first.body, type=Grades)
    assert told.estimate == "uct, 80 simulations a move"
    assert {move.seat for move in told.moves} == {1}
    monkeypatch.setattr(grading, "_run_grader", None)
    assert visitor.get(f"{address}?estimated=true&seat=1").body == first.body
    assert "its seats are 0 to 1" in visitor.get(f"{address}?estimated=true&seat=2").text


def test_of_a_solved_game_the_moves_of_a_seat_are_graded_exactly(visitor: Visitor) -> None:
    match = Library(visitor.store).play("nim", [ANN, BOB])
    told = msgspec.json.decode(visitor.get(f"/api/v1/matches/{match}/grades?estimated=true&seat=0").body, type=Grades)
    assert told.estimate is None
    assert {move.seat for move in told.moves} == {0}


@pytest.mark.parametrize(
    ("game", "config", "how"),
    [
        ("nim", {}, "exact"),
        ("risk-duel", {}, "exact"),
        ("risk-duel", {"preset": "asia"}, "estimated"),
        ("risk-campaign", {}, "estimated"),
        ("tictactoe", {}, "estimated"),
        ("dilemma", {}, ""),
        ("nim", {"heaps": [-1]}, ""),
    ],
)
def test_how_a_match_can_be_graded_is_known_without_grading_it(game: str, config: dict[str, object], how: str) -> None:
    assert grading_method(game, config) == how


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[asyncio.subprocess.Process]:
    """The processes that grade, each of which takes for ever."""
    begun = []
    start = asyncio.create_subprocess_exec

    async def sleeper(*_: str, **pipes: int) -> asyncio.subprocess.Process:
        begun.append(await start("sleep", "1000", **pipes))  # type: ignore[arg-type]
        return begun[-1]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", sleeper)
    return begun


async def test_the_process_is_killed_when_nobody_waits_for_it_or_it_takes_too_long(
    started: list[asyncio.subprocess.Process],
) -> None:
    async def goes() -> bool:
        return bool(started)

    with pytest.raises(ClientDisconnect):
        await Grading().grade("a", b"", "x", GradeRequest(), goes)
    with pytest.raises(ArenaFault, match=r"takes more than 0\.05 s"):
        await Grading(GradingTimeouts(solve_timeout_s=0.05)).grade("a", b"", "x", GradeRequest(), stays)
    assert [await process.wait() for process in started] == [-signal.SIGKILL] * 2


def test_of_the_tables_solved_for_visitors_those_read_last_are_kept(cache: Path) -> None:
    tables = cache / CACHE_FOLDER
    values = numpy.zeros(1000)
    folder = BoundedFolder(tables, 20_000)
    for at, key in enumerate(("a", "b")):
        folder.write(key, values, 1)
        os.utime(tables / f"duel-{key}", (at, at))  # long ago: the clock of files is coarse
    assert folder.read("a") is not None
    folder.write("c", values, 1)
    assert sorted(path.name for path in tables.iterdir()) == ["duel-a", "duel-c"]
