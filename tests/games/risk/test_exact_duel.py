"""Exact bounded Risk against the rules and a slow solver; the tables on disk."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from exact_boards import PAIR, PATH, STAR, TRIANGLE, board, some
from games.risk.exact import shape as duel_shape
from games.risk.exact import values as duel_values
from games.risk.exact.shape import small_shape_of
from games.risk.exact.table import Table, load_or_solve, solve
from games.risk.rules.board import Board
from games.risk.rules.duel import NO_OWNER, Action, Duel, Position
from games.risk.rules.maps import load_map
from machine.compiled import HAS_NUMBA
from protocol.errors import UsageFault
from protocol.games.base import NO_DICE

pytestmark = pytest.mark.skipif(not HAS_NUMBA, reason="numba is not installed")


@cache
def table_of(name: str, max_troops: int) -> Table:
    return solve(load_map(name), max_troops)


def test_armies_change_what_the_start_is_worth_as_the_rules_say() -> None:
    armies = (3, 1, 2)
    rules = Duel({"map": "south-america", "max_troops": 4, "armies": armies})
    table = load_or_solve(load_map("south-america"), 4, armies=armies)
    plain, first = table_of("south-america", 4), rules.initial(NO_DICE)[0]

    def worth(position: Position) -> float:
        if position.owner.count(NO_OWNER) < 2:
            return plain.value(position)
        return max(-worth(rules.outcomes(position, move)[0][1]) for move in rules.legal_moves(position))

    assert table.value(first) == pytest.approx(worth(first), abs=1e-12)
    assert table.value(first) > plain.value(first) + 0.05, "an army of one is less than one of three"


def rules_of(where: Board, max_troops: int) -> Duel:
    return Duel({"map": where.encoded, "max_troops": max_troops})


def slowly(rules: Duel) -> Mapping[Position, float]:
    """By position that a game can reach, what it is worth to seat 0: values iterated by the rules alone."""
    first = rules.initial(NO_DICE)[0]
    moves: dict[Position, list[list[tuple[float, Position]]]] = {}
    found = [first]
    while found:
        position = found.pop()
        if position not in moves:
            moves[position] = [
                [(float(chance), after._replace(at=0)) for chance, after in rules.outcomes(position, move)]
                for move in rules.legal_moves(position)
            ]
            found += [after for results in moves[position] for _, after in results]
    values = {position: worth(rules, position) for position in moves}
    change = 1.0
    while change > 1e-11:
        change = 0.0
        for position, choices in moves.items():
            if choices:
                best = (max, min)[position.seat]
                value = best(sum(chance * values[after] for chance, after in results) for results in choices)
                change = max(change, abs(value - values[position]))
                values[position] = value
    return values


def worth(rules: Duel, position: Position) -> float:
    if rules.to_move(position) is not None:
        return 0.0
    return 1.0 if rules.ranks(position)[0] == 1 else -1.0


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("borders", "max_troops"),
    [
        (PAIR, 8),
        (PATH, 3),
        (TRIANGLE, 3),
        *(pytest.param(*each, marks=pytest.mark.nightly) for each in ((PAIR, 3), (TRIANGLE, 5), (STAR, 3))),
    ],
)
def test_every_position_that_a_game_reaches_is_worth_what_a_slow_solver_finds(
    borders: list[tuple[int, int]], max_troops: int
) -> None:
    table = solve(board(borders), max_troops)
    for position, value in slowly(rules_of(board(borders), max_troops)).items():
        assert table.value(position) == pytest.approx(value if position.seat == 0 else -value, abs=1e-7), position


def test_two_territories_with_three_troops_are_solved_by_hand() -> None:
    """Both invade. Who attacks, 3 against 3, wins 15 times in 36, else loses the territory and then the game; and at
    the cap there is nothing else to do.
    """
    table = solve(board(PAIR), 3)
    value = 15 / 36 - 21 / 36
    assert table.value(Position((0, 1), (3, 3), 0, 2)) == pytest.approx(value, abs=1e-9)
    assert table.start == pytest.approx((value, -value), abs=1e-9)
    assert table.move_values(Position((0, 1), (3, 3), 0, 2)) == [(Action("attack", 1, 0), pytest.approx(value))]


@pytest.mark.no_cover
@pytest.mark.parametrize(("name", "max_troops", "count"), [("south-america", 7, 500), ("africa", 3, 100)])
def test_a_position_is_worth_its_best_move_by_the_rules(name: str, max_troops: int, count: int) -> None:
    table, rules = table_of(name, max_troops), rules_of(load_map(name), max_troops)
    for position in some(count, len(load_map(name)), max_troops, seed=1):
        moves = table.move_values(position)
        assert [move for move, _ in moves] == list(rules.legal_moves(position))
        for move, value in moves:
            after = sum(float(chance) * -table.value(result) for chance, result in rules.outcomes(position, move))
            assert value == pytest.approx(after, abs=1e-12)
        if moves:
            assert table.value(position) == pytest.approx(max(value for _, value in moves), abs=1e-8)
        else:
            assert table.value(position) == (1.0 if position.owner[0] == position.seat else -1.0)


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("name", "max_troops"), [("south-america", 7), pytest.param("africa", 3, marks=pytest.mark.ci)]
)
def test_sweeping_on_moves_no_value_by_a_billionth(name: str, max_troops: int, monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of(name, max_troops)
    monkeypatch.setattr(duel_values, "TOLERANCE", 1e-15)
    closer = solve(load_map(name), max_troops)
    assert closer.values.sweeps > table.values.sweeps
    for position in some(500, len(load_map(name)), max_troops, seed=7):
        assert closer.value(position) == pytest.approx(table.value(position), abs=1e-9)


def test_best_moves_are_all_those_of_the_greatest_value() -> None:
    table = table_of("south-america", 7)
    empty = rules_of(load_map("south-america"), 7).initial(NO_DICE)[0]
    assert [move.to for move in table.best_moves(empty)] == [0, 1, 2, 3]
    for position in some(300, 4, 7, seed=2):
        moves, best = dict(table.move_values(position)), table.best_moves(position)
        for move, value in moves.items():
            assert (move in best) == (value > max(moves.values()) - 1e-7)


def test_a_map_with_its_territories_in_another_order_has_the_same_values() -> None:
    order = [2, 3, 1, 0]  # where each territory of the star goes
    star, moved = board(STAR), board([(order[a], order[b]) for a, b in STAR])
    one, other = solve(star, 4), solve(moved, 4)
    assert (
        small_shape_of(star, 4).key
        == small_shape_of(moved, 4).key
        != small_shape_of(board([(0, 1), (1, 2), (2, 3)]), 4).key
    )
    for position in some(300, 4, 4, seed=3):
        owner, troops = [0] * 4, [0] * 4
        for territory, place in enumerate(order):
            owner[place], troops[place] = position.owner[territory], position.troops[territory]
        there = position._replace(owner=tuple(owner), troops=tuple(troops))
        assert other.value(there) == pytest.approx(one.value(position), abs=1e-8)


def test_positions_that_mirror_each_other_are_worth_the_same() -> None:
    table = table_of("south-america", 7)
    for position in some(300, 4, 7, seed=4):
        venezuela, peru, brazil, argentina = zip(position.owner, position.troops, strict=True)
        owner, troops = zip(argentina, brazil, peru, venezuela, strict=True)
        mirrored = position._replace(owner=owner, troops=troops)
        assert table.value(mirrored) == pytest.approx(table.value(position), abs=1e-8)
        exchanged = tuple(seat if seat == NO_OWNER else 1 - seat for seat in position.owner)
        assert table.value(position._replace(owner=exchanged, seat=1 - position.seat)) == table.value(position)


def test_the_ply_of_a_position_does_not_matter() -> None:
    table = table_of("south-america", 7)
    (position,) = some(1, 4, 7, seed=5)
    assert table.move_values(position._replace(at=400)) == table.move_values(position)


def test_a_position_of_another_map_or_cap_is_refused() -> None:
    table = table_of("south-america", 7)
    for position in (Position((0, 1), (3, 3), 0, 2), Position((0, 1, 0, 1), (3, 11, 3, 3), 0, 4)):
        with pytest.raises(ValueError, match="a table of 4 territories and 7 troops has no Position"):
            table.value(position)


@pytest.mark.parametrize(
    ("name", "max_troops", "would"),
    [
        ("south-america", 100, "max_troops 32 (17,850,625 positions"),
        ("africa", 10, "max_troops 7 (11,390,625 positions"),
        ("north-america", 3, "a map of 8 territories or fewer (5,764,801 positions"),
        ("world", 100, "a map of 3 territories or fewer (8,120,601 positions"),
    ],
)
def test_a_table_that_would_be_too_large_is_refused_with_what_would_do_and_how_long_that_takes(
    name: str, max_troops: int, would: str
) -> None:
    with pytest.raises(UsageFault, match=rf"{name} with {max_troops} troops is too large to solve") as refused:
        solve(load_map(name), max_troops)
    assert str(refused.value).endswith(f" {would}, up to 20 s per million)")


@pytest.mark.parametrize(
    ("name", "max_troops", "once"), [("africa", 10, True), ("africa", 17, False), ("asia", 3, False)]
)
def test_a_refusal_names_the_command_that_makes_the_table_if_one_does(name: str, max_troops: int, once: bool) -> None:
    with pytest.raises(UsageFault, match="is too large to solve") as refused:
        solve(load_map(name), max_troops)
    command = f"run `arena-bot solve risk-duel --config map={name} --config max_troops={max_troops}` first, or use "
    assert (command in str(refused.value)) == once


def test_of_a_map_from_a_file_the_refusal_says_so() -> None:
    path = board([(at, at + 1) for at in range(5)])
    with pytest.raises(UsageFault, match=r"custom with 10 troops .*`arena-bot solve risk-duel --config map=@FILE "):
        solve(path, 10)


def test_without_numba_the_fault_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(duel_shape, "HAS_NUMBA", False)
    for attempt in (lambda: solve(board(PAIR), 3), lambda: load_or_solve(board(PAIR), 3, tmp_path)):
        with pytest.raises(UsageFault, match="needs numba: pip install numba"):
            attempt()


def test_a_table_is_read_from_disk_the_second_time_for_every_map_of_its_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = load_or_solve(load_map("australia"), 4, tmp_path / "new" / "folder")
    with monkeypatch.context() as patch:
        patch.delattr(duel_values, "iterate_values")
        second = load_or_solve(load_map("south-america"), 4, tmp_path / "new" / "folder")
    assert (second.start, second.values.sweeps, second.positions) == (first.start, first.values.sweeps, 9**4)
    for position in some(100, 4, 4, seed=6):
        assert second.value(position) == table_of("south-america", 4).value(position)


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: b"something else\n" * 1000,
        lambda content: content[:-1],
        lambda content: content + b"\0",
        lambda content: content[:5000] + bytes([content[5000] ^ 1]) + content[5001:],
        lambda content: content.replace(content[:32], b"0" * 32, 1),
        lambda content: content.replace(b" ", b" x", 1),
    ],
    ids=["empty", "foreign", "cut short", "too long", "a bit changed", "another table's", "no number of sweeps"],
)
def test_a_damaged_or_foreign_file_is_solved_again_and_replaced(tmp_path: Path, damage: Any) -> None:
    start = load_or_solve(board(PAIR), 20, tmp_path).start
    (file,) = tmp_path.iterdir()
    content = file.read_bytes()
    file.write_bytes(damage(content))
    assert load_or_solve(board(PAIR), 20, tmp_path).start == start
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [content]


def test_a_folder_that_cannot_be_written_costs_the_file_only(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert load_or_solve(board(PAIR), 3, tmp_path / "file").start[0] == pytest.approx(-1 / 6)
    (tmp_path / f"duel-{small_shape_of(board(PAIR), 3).key}").mkdir()
    assert load_or_solve(board(PAIR), 3, tmp_path).start[0] == pytest.approx(-1 / 6)
    assert len(list(tmp_path.iterdir())) == 2
