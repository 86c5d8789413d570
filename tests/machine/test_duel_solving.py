"""Tables of bounded Risk that are solved once and mapped: right within their bounds, whatever ends the solving."""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from commands import call
from exact_boards import PAIR, PATH, STAR, TRIANGLE, board, some
from machine.atomic_write import locked
from machine.compiled import FAST
from machine.exact import duel_file, duel_solving
from machine.exact.duel import Table, load_mapped, solve
from machine.exact.duel_file import MappedValues, Spent, place_of
from machine.exact.duel_shape import Shape, shape_of, symmetries
from machine.exact.duel_solving import CLOSE, solve_mapped
from protocol.errors import ArenaFault, UsageFault
from protocol.games.base import NO_DICE
from protocol.games.risk.board import Board
from protocol.games.risk.duel import Duel, Position
from protocol.games.risk.maps import load_map

pytestmark = pytest.mark.skipif(not FAST, reason="numba is not installed")
AFRICA = load_map("africa")
SQUARE = [(0, 1), (0, 3), (1, 2), (2, 3)]


def told_nobody(spent: Spent) -> None:
    """Hears of a sweep."""


def mapped(where: Board, max_troops: int, folder: Path, jobs: int = 1) -> Table:
    solve_mapped(shape_of(where, max_troops), folder, jobs, told_nobody)
    table = load_mapped(where, max_troops, folder)
    assert table is not None
    return table


def contents(path: Path) -> bytes:
    """A table without what is said of it, the seconds among it."""
    return path.read_bytes()[4096:]


def after(folder: Path, part: int, happens: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have something happen when the rows of africa were drawn closer so many times, 100 at a time."""
    draw, parts = duel_solving.draw_closer, [0]

    def counted(*args: Any) -> float:
        parts[0] += 1
        if parts[0] == part:
            happens()
        return draw(*args)

    monkeypatch.setattr(duel_solving, "_AT_ONCE", 100)
    monkeypatch.setattr(duel_solving, "draw_closer", counted)
    solve_mapped(shape_of(AFRICA, 3), folder, 1, told_nobody)


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
        (load_map("south-america"), 10),
        (AFRICA, 3),
    ],
    ids=["pair", "path", "triangle", "star", "square", "south-america", "africa"],
)
def test_a_mapped_table_has_the_values_and_the_best_moves_of_one_in_memory(
    where: Board, max_troops: int, tmp_path: Path
) -> None:
    table, exact = mapped(where, max_troops, tmp_path), solve(where, max_troops)
    assert table.values.error < 1.3e-7
    assert table.start == pytest.approx(exact.start, abs=table.values.error)
    for position in some(300, len(where), max_troops, seed=1):
        assert table.value(position) == pytest.approx(exact.value(position), abs=table.values.error + 1e-9)
        assert set(table.best_moves(position)) >= set(exact.best_moves(position))
    first = Duel({"map": where.wire, "max_troops": max_troops}).initial(NO_DICE)[0]
    assert table.best_moves(first) == exact.best_moves(first)


def test_two_threads_find_the_same_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duel_solving, "_AT_ONCE", 20)
    table, exact = mapped(AFRICA, 3, tmp_path, jobs=2), solve(AFRICA, 3)
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
    shape = shape_of(where, 3)
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
    for module in (duel_solving, duel_file):
        monkeypatch.setattr(module, "symmetries", lambda shape: [tuple(range(len(shape.places)))])
    without = mapped(AFRICA, 3, tmp_path / "without")
    for position in some(300, 6, 3, seed=3):
        assert with_them.value(position) == pytest.approx(without.value(position), abs=2 * CLOSE)
    sizes = [place_of(shape_of(AFRICA, 3), tmp_path / name).stat().st_size - 4096 for name in ("with", "without")]
    assert sizes == [(3**6 + 3**4) // 2 * 65 * 4, 3**6 * 65 * 4]


@pytest.mark.parametrize("sweeps", [1, 10, 40])
def test_the_bounds_are_right_at_any_time(sweeps: int, tmp_path: Path) -> None:
    shape, exact = shape_of(AFRICA, 3), solve(AFRICA, 3)

    def stop(spent: Spent) -> None:
        if spent.sweeps == sweeps:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve_mapped(shape, tmp_path, 1, stop)
    (unfinished,) = tmp_path.glob("*.unfinished")
    chances = duel_solving.opened(unfinished, unfinished.stat().st_size // 8)[3:]
    rows = duel_solving.rows_of(shape)
    for row in range(0, len(rows.heads), 7):
        troops = [3 - rows.heads[row] // 3**place % 3 for place in range(6)]
        for held in range(64):
            won, lost = chances[2 * (64 * row + held) : 2 * (64 * row + held) + 2]
            value = exact.values.at([t if held >> place & 1 else 3 + t for place, t in enumerate(troops)])
            assert 2 * won - 1 <= value + 1e-9
            assert value - 1e-9 <= 1 - 2 * lost


def test_stopped_between_sweeps_it_goes_on_to_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = mapped(AFRICA, 3, tmp_path / "whole")
    parts = -(-duel_solving.rows_of(shape_of(AFRICA, 3)).heads.size // 100)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        after(tmp_path / "stopped", 2 + 40 * parts, interrupt, patch)
    again = mapped(AFRICA, 3, tmp_path / "stopped")
    assert again.values.sweeps == whole.values.sweeps
    one, other = (place_of(shape_of(AFRICA, 3), tmp_path / name) for name in ("whole", "stopped"))
    assert contents(one) == contents(other)
    assert [path.name for path in other.parent.iterdir()] == [other.name]


def test_killed_in_a_sweep_it_goes_on_from_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = solve(AFRICA, 3)
    child = multiprocessing.get_context("fork").Process(target=after, args=(tmp_path, 203, kill, monkeypatch))
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL
    first: list[Spent] = []
    solve_mapped(shape_of(AFRICA, 3), tmp_path, 1, first.append)
    assert first[0].sweeps > 40
    assert first[0].widest < 0.5
    table = load_mapped(AFRICA, 3, tmp_path)
    assert table is not None
    for position in some(300, 6, 3, seed=4):
        assert table.value(position) == pytest.approx(exact.value(position), abs=table.values.error + 1e-9)


def test_bounds_that_exclude_each_other_are_told_and_make_no_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        after(tmp_path, 42, interrupt, patch)
    (unfinished,) = tmp_path.glob("*.unfinished")
    chances = duel_solving.opened(unfinished, unfinished.stat().st_size // 8)
    chances[3 + 2 * 10 : 3 + 2 * 10 + 2] = 0.6
    with pytest.raises(ArenaFault, match="unfinished is damaged: remove it, and the same command begins anew"):
        solve_mapped(shape_of(AFRICA, 3), tmp_path, 1, told_nobody)
    assert list(tmp_path.iterdir()) == [unfinished]


def test_a_table_is_solved_by_one_process_at_a_time(tmp_path: Path) -> None:
    path = place_of(shape_of(AFRICA, 3), tmp_path)
    with locked(path), pytest.raises(UsageFault, match="is being solved by another process"):
        solve_mapped(shape_of(AFRICA, 3), tmp_path, 1, told_nobody)


def test_a_full_disk_is_told_before_the_first_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: int, first: int, size: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(ArenaFault, match="can't hold the table: No space left on device"):
        solve_mapped(shape_of(AFRICA, 3), tmp_path, 1, told_nobody)


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:-1],
        lambda content: content + b"\0",
        lambda content: b"{}" + content[2:],
        lambda content: content.replace(b'"key": "', b'"key": "0', 1),
        lambda content: content[:4096].replace(b'"rows": ', b'"rows":-', 1) + content[4096:],
        lambda content: content.replace(b'"widest"', b'"widesT"', 1),
        lambda content: b"[]".ljust(4095) + b"\n" + content[4096:],
    ],
    ids=["empty", "cut short", "too long", "no JSON", "another table's", "a negative number", "untold", "a list"],
)
def test_a_damaged_table_is_one_line_that_says_what_to_do(tmp_path: Path, damage: Any) -> None:
    path = place_of(shape_of(board(PAIR), 5), tmp_path)
    mapped(board(PAIR), 5, tmp_path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(UsageFault, match="is damaged: remove it, then `arena-bot solve` makes it anew"):
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
    assert (code, err.splitlines()[0]) == (0, "arena-bot: sweep 1, bounds 1 apart, 1e-07 to reach")
    assert "117,649, kept in " in out
    assert "-0.064884, expected result of seat 0" in out
    code, out, err = call("arena-bot", "analyze", "duel", "africa", "--max-troops", "3", XDG_CACHE_HOME=str(tmp_path))
    assert "sweeps, before; values off by 1e-07 at most" in out
    (path,) = (tmp_path / "bot-arena").glob("*.table")
    path.write_bytes(path.read_bytes()[:-1] + b"\x7f")
    code, out, err = call("arena-bot", *words, XDG_CACHE_HOME=str(tmp_path))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "is damaged" in err


def test_solve_stopped_by_ctrl_c_says_that_the_same_command_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duel_solving, "draw_closer", lambda *args: interrupt())
    code, out, err = call("arena-bot", "solve", "risk-duel", "--preset", "africa", XDG_CACHE_HOME=str(tmp_path))
    assert (code, out, err) == (130, "", "arena-bot: stopped; the same command goes on\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nim"], "nim is not solved here: risk-duel, kuhn and leduc are"),
        (["chess"], "there is no game 'chess'"),
        (["risk-duel", "--preset", "asia"], "asia with 10 troops has more than 268,435,456 full boards"),
        (["risk-duel", "--jobs", "0"], "--jobs is 0: 1 to 64"),
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
