"""Tables of bounded Risk that are solved once and mapped: right within their bounds, whatever ends the solving."""

from __future__ import annotations

import errno
import multiprocessing
import os
import random
import signal
from functools import cache
from pathlib import Path
from typing import Any

import numpy
import pytest

from commands import call
from exact_boards import PAIR, PATH, STAR, TRIANGLE, board, some
from games.risk.exact import file as duel_file
from games.risk.exact import rows as duel_rows
from games.risk.exact import solving as duel_solving
from games.risk.exact.file import WIN_VALUE, MappedValues, place_of
from games.risk.exact.shape import Shape, small_shape_of, symmetries
from games.risk.exact.solving import MAX_FINAL_CHANGE, DuelSolver, SolvingProgress, open_values, solve_mapped
from games.risk.exact.sweeps import MARGINS_PER_UNIT, MAX_MARGIN
from games.risk.exact.table import Table, load_mapped, solve
from games.risk.rules.board import Board
from games.risk.rules.duel import Duel, Position
from games.risk.rules.maps import load_map
from machine.atomic_write import file_lock
from machine.compiled import HAS_NUMBA
from protocol.errors import ArenaFault, UsageFault
from protocol.games.base import NO_DICE

pytestmark = pytest.mark.skipif(not HAS_NUMBA, reason="numba is not installed")
AFRICA = load_map("africa")
SQUARE = [(0, 1), (0, 3), (1, 2), (2, 3)]


solved = cache(solve)
"""A table that was solved once in memory, for all tests that compare with it."""


def told_nobody(step: SolvingProgress) -> None:
    """Hears of a sweep."""


def mapped(where: Board, max_troops: int, folder: Path, jobs: int = 1) -> Table:
    solve_mapped(small_shape_of(where, max_troops), folder, jobs, told_nobody)
    table = load_mapped(where, max_troops, folder)
    assert table is not None
    return table


def after(folder: Path, part: int, happens: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have something happen when the rows of africa were swept so many times, 100 at a time."""
    sweep, parts = duel_solving.sweep, [0]

    def counted(*args: Any) -> int:
        parts[0] += 1
        if parts[0] == part:
            happens()
        return sweep(*args)

    monkeypatch.setattr(duel_solving, "_ROWS_PER_TASK", 100)
    monkeypatch.setattr(duel_solving, "sweep", counted)
    solve_mapped(small_shape_of(AFRICA, 3), folder, 1, told_nobody)


def interrupt() -> None:
    raise KeyboardInterrupt


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(
    ("where", "max_troops"),
    [
        (board(PAIR), 8),
        (board(PATH), 4),
        (board(TRIANGLE), 5),
        (board(STAR), 5),
        (board(SQUARE), 4),
        (load_map("south-america"), 6),
        (AFRICA, 3),
    ],
    ids=["pair", "path", "triangle", "star", "square", "south-america", "africa"],
)
def test_a_mapped_table_has_the_values_and_the_best_moves_of_one_in_memory(
    where: Board, max_troops: int, tmp_path: Path
) -> None:
    table, exact = mapped(where, max_troops, tmp_path), solved(where, max_troops)
    assert table.values.error < 1e-7
    assert table.start == pytest.approx(exact.start, abs=table.values.error)
    for position in some(300, len(where), max_troops, seed=1):
        assert table.value(position) == pytest.approx(exact.value(position), abs=table.values.error + 1e-9)
        assert set(table.best_moves(position)) >= set(exact.best_moves(position))
    first = Duel({"map": where.encoded, "max_troops": max_troops}).initial(NO_DICE)[0]
    assert table.best_moves(first) == exact.best_moves(first)


def test_two_threads_find_the_same_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duel_solving, "_ROWS_PER_TASK", 20)
    table, exact = mapped(AFRICA, 3, tmp_path, jobs=2), solved(AFRICA, 3)
    for position in some(300, 6, 3, seed=2):
        assert table.value(position) == pytest.approx(exact.value(position), abs=table.values.error + 1e-9)


@pytest.mark.parametrize(
    ("where", "many"),
    [
        (board(PAIR), 2),
        (board(PATH), 2),
        (board(TRIANGLE), 6),
        (board(STAR), 6),
        (board(SQUARE), 8),
        (load_map("south-america"), 4),
        (AFRICA, 2),
    ],
    ids=["pair", "path", "triangle", "star", "square", "south-america", "africa"],
)
def test_every_symmetry_leads_borders_to_borders_and_none_is_missed(where: Board, many: int) -> None:
    shape = small_shape_of(where, 3)
    found = symmetries(shape)
    assert (len(set(found)), found[0]) == (many, tuple(range(len(where))))
    for image in found:
        assert {tuple(sorted((image[a], image[b]))) for a, b in shape.edges} == set(shape.edges)


def test_of_very_many_symmetries_those_are_used_that_leave_the_first_places_alone() -> None:
    found = symmetries(Shape(tuple((a, b) for b in range(6) for a in range(b)), tuple(range(6)), 3))
    assert len(found) == 120
    assert {image[0] for image in found} == {0}


def test_symmetries_save_positions_and_change_no_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_them = mapped(AFRICA, 3, tmp_path / "with")
    for module in (duel_rows, duel_file):
        monkeypatch.setattr(module, "symmetries", lambda shape: [tuple(range(len(shape.places)))])
    without = mapped(AFRICA, 3, tmp_path / "without")
    for position in some(300, 6, 3, seed=3):
        assert with_them.value(position) == pytest.approx(without.value(position), abs=2 * with_them.values.error)
    sizes = [place_of(small_shape_of(AFRICA, 3), tmp_path / name).stat().st_size - 4096 for name in ("with", "without")]
    assert sizes == [(3**6 + 3**4) // 2 * 65 * 4, 3**6 * 65 * 4]


@pytest.mark.parametrize("tolerance", [30, pytest.param(100, marks=pytest.mark.ci)])
def test_of_sweeps_that_end_too_early_values_are_off_by_no_more_than_what_was_proven(
    tolerance: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By more than the margins that are begun with, which must not be proven."""
    monkeypatch.setattr(duel_solving, "MAX_FINAL_CHANGE", tolerance)
    table, exact = mapped(AFRICA, 3, tmp_path), solved(AFRICA, 3)
    off = max(abs(table.value(position) - exact.value(position)) for position in some(1000, 6, 3, seed=8))
    assert 6e-8 < off <= table.values.error + 1e-9
    assert table.values.error < 30 * tolerance / WIN_VALUE


def test_margins_that_reach_to_the_true_values_still_do_after_a_sweep(tmp_path: Path) -> None:
    solving = DuelSolver(small_shape_of(load_map("south-america"), 4), tmp_path / "values", 1, told_nobody)
    while solving.sweep_rows(0, solving.length) > MAX_FINAL_CHANGE:
        """Comes to stand."""
    boards = solving.values[: 16 * solving.length].reshape(-1, 16)[:, 1:-1]
    margins = solving.margins[: 16 * solving.length].reshape(-1, 16)[:, 1:-1]
    true = boards.copy()
    boards += numpy.random.default_rng(1).integers(-2000, 2001, boards.shape, numpy.int32)
    margins[:] = 2100 * MARGINS_PER_UNIT
    for _ in range(5):
        solving.sweep_margins(0, solving.length)
        assert (margins >= MARGINS_PER_UNIT * (abs(boards - true) - 100)).all()
    assert margins.min() < 2100 * MARGINS_PER_UNIT


def test_values_that_nothing_proves_make_no_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duel_solving, "MAX_FINAL_CHANGE", WIN_VALUE // 1000)
    with pytest.raises(ArenaFault, match="the values no longer change, but are not proven right"):
        mapped(AFRICA, 3, tmp_path)
    assert not list(tmp_path.glob("*.table"))


def test_of_margins_that_had_no_room_nothing_is_proven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once cut off they may narrow to where they began, and say nothing: wider ones are begun with."""
    sweep_bounds, parts = duel_solving.sweep_bounds, [0]

    def cut_off(*args: Any) -> int:
        parts[0] += 1
        widest = sweep_bounds(*args)
        return MAX_MARGIN if parts[0] == 2 else widest

    monkeypatch.setattr(duel_solving, "sweep_bounds", cut_off)
    assert 6e-8 < mapped(AFRICA, 3, tmp_path).values.error < 2.4e-7


@pytest.mark.parametrize("place", [1000, *(pytest.param(place, marks=pytest.mark.ci) for place in (0, 7777))])
def test_a_single_value_that_is_wrong_is_not_proven(
    place: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its board has to be one that somebody still moves on."""
    sweep_bounds, parts = duel_solving.sweep_bounds, [0]

    def spoil(values: Any, *more: Any) -> int:
        if parts[0] == 1:
            values[64 * (place // 62) + 1 + place % 62] -= WIN_VALUE // 100_000
        parts[0] += 1
        return sweep_bounds(values, *more)

    monkeypatch.setattr(duel_solving, "sweep_bounds", spoil)
    with pytest.raises(ArenaFault, match="are not proven right"):
        mapped(AFRICA, 3, tmp_path)


def test_stopped_between_sweeps_it_goes_on_from_there_by_more_threads_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = -(-duel_rows.build_rows(small_shape_of(AFRICA, 3)).heads.size // 100)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        after(tmp_path, 2 + 40 * parts, interrupt, patch)
    first: list[SolvingProgress] = []
    solve_mapped(small_shape_of(AFRICA, 3), tmp_path, 2, first.append)
    assert first[0].sweeps == 41
    assert first[0].change is not None
    assert first[0].change < 0.01
    assert [path.name for path in tmp_path.iterdir()] == [place_of(small_shape_of(AFRICA, 3), tmp_path).name]


def test_an_unfinished_file_keeps_its_values_where_fewer_are_asked_for(tmp_path: Path) -> None:
    """Of fewer threads, which need less room behind them."""
    open_values(tmp_path / "values", 9)[1][:] = range(9)
    assert list(open_values(tmp_path / "values", 5)[1]) == [0, 1, 2, 3, 4]
    assert list(open_values(tmp_path / "values", 7)[1]) == [0, 1, 2, 3, 4, 0, 0]


def test_killed_in_a_sweep_it_goes_on_from_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = solved(AFRICA, 3)
    child = multiprocessing.get_context("fork").Process(target=after, args=(tmp_path, 203, kill, monkeypatch))
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL
    first: list[SolvingProgress] = []
    solve_mapped(small_shape_of(AFRICA, 3), tmp_path, 1, first.append)
    assert first[0].sweeps > 40
    table = load_mapped(AFRICA, 3, tmp_path)
    assert table is not None
    for position in some(300, 6, 3, seed=4):
        assert table.value(position) == pytest.approx(exact.value(position), abs=table.values.error + 1e-9)


def test_whatever_an_unfinished_file_holds_leads_to_the_same_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        after(tmp_path, 42, interrupt, patch)
    (unfinished,) = tmp_path.glob("*.unfinished")
    content = unfinished.read_bytes()
    unfinished.write_bytes(content[:24] + random.Random(5).randbytes(len(content) - 24))
    table, exact = mapped(AFRICA, 3, tmp_path), solved(AFRICA, 3)
    for position in some(300, 6, 3, seed=5):
        assert table.value(position) == pytest.approx(exact.value(position), abs=table.values.error + 1e-9)


def test_a_table_is_solved_by_one_process_at_a_time(tmp_path: Path) -> None:
    path = place_of(small_shape_of(AFRICA, 3), tmp_path)
    with file_lock(path), pytest.raises(UsageFault, match="is being solved by another process"):
        solve_mapped(small_shape_of(AFRICA, 3), tmp_path, 1, told_nobody)


def test_a_full_disk_is_told_before_the_first_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: int, first: int, size: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(ArenaFault, match="can't hold the table: No space left on device"):
        solve_mapped(small_shape_of(AFRICA, 3), tmp_path, 1, told_nobody)


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:-1],
        lambda content: content + b"\0",
        lambda content: b"{}" + content[2:],
        lambda content: content.replace(b'"key": "', b'"key": "0', 1),
        lambda content: content[:4096].replace(b'"rows": ', b'"rows":-', 1) + content[4096:],
        lambda content: content.replace(b'"error"', b'"erroR"', 1),
        lambda content: b"[]".ljust(4095) + b"\n" + content[4096:],
    ],
    ids=["empty", "cut short", "too long", "no JSON", "another table's", "a negative number", "untold", "a list"],
)
def test_a_damaged_table_is_one_line_that_says_what_to_do(tmp_path: Path, damage: Any) -> None:
    path = place_of(small_shape_of(board(PAIR), 5), tmp_path)
    mapped(board(PAIR), 5, tmp_path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(UsageFault, match="is damaged: remove it and run `arena-bot solve` again"):
        load_mapped(board(PAIR), 5, tmp_path)


def test_a_bit_that_has_changed_is_found_where_all_is_read(tmp_path: Path) -> None:
    values = mapped(board(PAIR), 5, tmp_path).values
    assert isinstance(values, MappedValues)
    values.check()
    content = values.path.read_bytes()
    values.path.write_bytes(content[:-5] + bytes([content[-5] ^ 1]) + content[-4:])
    with pytest.raises(UsageFault, match="is damaged"):
        values.check()


def test_solve_makes_a_table_that_analyze_reads_and_checks_it_the_next_time(tmp_path: Path) -> None:
    words = ("solve", "risk-duel", "--config", "map=africa", "--config", "max_troops=3")
    code, out, err = call("arena-bot", *words, XDG_CACHE_HOME=str(tmp_path))
    assert (code, err.splitlines()[0]) == (0, "arena-bot: sweep 1, values change by 1, 9e-10 to reach")
    assert "117,649, stored in " in out
    assert "-0.064884, expected result of seat 0" in out
    code, out, err = call("arena-bot", "analyze", "duel", "africa", "--max-troops", "3", XDG_CACHE_HOME=str(tmp_path))
    assert "sweeps, before; values off by 6e-08 at most" in out
    (path,) = (tmp_path / "bot-arena").glob("*.table")
    path.write_bytes(path.read_bytes()[:-1] + b"\x7f")
    code, out, err = call("arena-bot", *words, XDG_CACHE_HOME=str(tmp_path))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "is damaged" in err


def test_solve_stopped_by_ctrl_c_says_that_the_same_command_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duel_solving, "sweep", lambda *args: interrupt())
    code, out, err = call("arena-bot", "solve", "risk-duel", "--preset", "africa", XDG_CACHE_HOME=str(tmp_path))
    assert (code, out, err) == (130, "", "arena-bot: stopped; the same command continues\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nim"], "this command does not solve nim: give risk-duel, kuhn or leduc"),
        (["chess"], "there is no game 'chess'"),
        (["risk-duel", "--preset", "asia"], "asia with 10 troops has more than 715,827,882 boards to store"),
        (["risk-duel", "--jobs", "0"], "--jobs is 0: it must be 1 to 64"),
    ],
)
def test_solve_says_in_one_line_what_it_cannot_do(words: list[str], said: str) -> None:
    code, out, err = call("arena-bot", "solve", *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_a_position_that_is_not_full_is_worth_its_best_invasion(tmp_path: Path) -> None:
    table = mapped(AFRICA, 3, tmp_path)
    position = Position((0, 1, -1, 0, 1, -1), (3, 2, 0, 1, 3, 0), 0, 9)
    assert table.value(position) == max(value for _, value in table.move_values(position))


def test_values_that_rounding_keeps_going_are_proven_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duel_solving, "MAX_FINAL_CHANGE", -1)
    monkeypatch.setattr(duel_solving, "_MAX_STALLED_SWEEPS", 20)
    table = mapped(board(TRIANGLE), 5, tmp_path)
    assert table.start == pytest.approx(solved(board(TRIANGLE), 5).start, abs=table.values.error + 1e-9)
