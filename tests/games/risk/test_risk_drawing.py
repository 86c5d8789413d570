"""Maps in a terminal: every territory, army and border shows, within 80 columns."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace

import networkx
import pytest

from games.risk.rules.board import Board
from games.risk.rules.maps import MAP_NAMES, find_map, load_map
from games.risk.rules.text import MAP_WIDTH_COLUMNS, draw_map, wraps_around
from protocol.dice import Dice
from protocol.games import load_game
from volumes import examples

SOUTH_AMERICA = """
                             0 Venezuela
                               A 3 iii  · · ·
                           · ·                · · · ·
                       · ·              · · · · · · · 2 Brazil
                1 Peru  · · · · · · · ·               · . 0
               B 7 cii ·                          · ·
                         ·                    · ·
                           · ·            · ·
                               · ·    · ·
                              3 Argentina
                                 B 10 a

A is seat 0, B 1, . nobody
i infantry 1, c cavalry 5, a artillery 10
"""
every_map = pytest.mark.parametrize("name", MAP_NAMES)


def position(board: Board, seed: int, most: int, seats: int = 6) -> tuple[list[int], list[int]]:
    chooser = random.Random(seed)
    owner = [chooser.randrange(-1, seats) for _ in board.territories]
    return owner, [0 if seat < 0 else chooser.randint(1, most) for seat in owner]


def scattered(count: int, seed: int, name: str = "") -> Board:
    """A custom map: `count` territories at random places, a random tree of borders."""
    chooser = random.Random(seed)
    territories = [
        {"name": f"{name}{i:03}", "continent": 0, "x": chooser.randint(0, 100), "y": chooser.randint(0, 100)}
        for i in range(count)
    ]
    borders = [[i, chooser.randrange(i)] for i in range(1, count)]
    return find_map(
        {
            "name": "scattered",
            "territories": territories,
            "continents": [{"name": "Land", "bonus": 0}],
            "borders": borders,
        }
    )


def check(board: Board, owner: Sequence[int], troops: Sequence[int]) -> list[str]:
    """The drawing is within 80 columns and shows every territory, its owner and its troops where they belong."""
    lines = draw_map(board, owner, troops).splitlines()
    assert max(map(len, lines)) <= MAP_WIDTH_COLUMNS == 80
    for index, (seat, count) in enumerate(zip(owner, troops, strict=True)):
        row, column = place(lines, board, index)
        army = rf"(?<!\w){re.escape('.' if seat < 0 else 'ABCDEF'[seat])} +{count}(?!\d)"
        near = slice(max(0, column - 8), column + 32)
        assert re.search(army, lines[row][column:]) or re.search(army, lines[row + 1][near]), (index, seat, count)
    return lines


def place(lines: Sequence[str], board: Board, index: int) -> tuple[int, int]:
    """Row and column of the one label of a territory: its index and the beginning of its name."""
    name = board.territories[index].name
    title = re.compile(rf"(?<![\w.]){index} {re.escape(name[:3])}")
    [found] = [(row, at.start()) for row, line in enumerate(lines) for at in title.finditer(line) if "(" not in line]
    return found


@every_map
@pytest.mark.parametrize("most", [9, 49, 999, 123_456])
def test_a_drawing_shows_every_territory_with_its_owner_and_troops(name: str, most: int) -> None:
    board = load_map(name)
    for seed in range(examples(2, nightly=5)):
        check(board, *position(board, seed, most))
    check(board, [-1] * len(board), [0] * len(board))


@every_map
def test_every_map_that_comes_along_is_drawn_as_a_picture(name: str) -> None:
    board = load_map(name)
    picture = draw_map(board, *position(board, 1, 99))
    assert set("·│─") & set(picture)
    assert sum(wraps_around(board, border) for border in board.borders) == (name == "world")


@pytest.mark.parametrize("count", [2, 3, 13, 40, 60, 100])
def test_a_map_of_ones_own_is_drawn_whatever_its_coordinates(count: int) -> None:
    for seed in range(4):
        board = scattered(count, seed)
        check(board, *position(board, seed, 30))


def test_a_map_without_room_for_its_labels_is_a_table_in_columns() -> None:
    wide = scattered(100, 1, "A territory with a long name ")
    assert draw_map(wide, *position(wide, 1, 30)).count("\n") < 60, "two columns"
    crowded = find_map(
        {
            **scattered(100, 1).encoded,
            "territories": [{**place, "x": 50, "y": 50} for place in wide.encoded["territories"]],
        }
    )
    lines = check(crowded, *position(crowded, 1, 30))
    assert not set("·│─") & set("".join(lines))


def test_a_picture_has_labels_in_their_places_and_dotted_borders() -> None:
    picture = draw_map(load_map("south-america"), [0, 1, -1, 1], [3, 7, 0, 10])
    assert picture.strip("\n") == SOUTH_AMERICA.strip("\n")


def test_small_armies_on_small_maps_are_shown_as_pieces() -> None:
    board = load_map("south-america")
    picture = draw_map(board, [0, 1, 1, -1], [13, 9, 40, 0])
    assert "A 13 aiii" in picture
    assert "B 9 ciiii" in picture
    assert "B 40 aaaa" in picture
    assert "i infantry 1, c cavalry 5, a artillery 10" in picture
    assert "infantry" not in draw_map(board, [0, 1, 1, -1], [13, 9, 50, 0])


def test_the_legend_names_the_seats_and_the_border_off_the_edge() -> None:
    world = load_map("world")
    picture = draw_map(world, [5] * 42, [1] * 42)
    assert "A is seat 0, B 1, C 2, D 3, E 4, F 5\n" in picture
    assert "A is seat 0, B 1, . nobody" in draw_map(world, [-1] + [1] * 41, [0] + [3] * 41)
    assert "off the edge: 0 (Alaska) borders 29 (Kamchatka)" in picture


@every_map
def test_labels_stay_in_place_when_troops_grow_to_two_digits(name: str) -> None:
    board = load_map(name)
    few, many = (draw_map(board, [0] * len(board), [troops] * len(board)).splitlines() for troops in (1, 13))
    for index in range(len(board)):
        assert place(few, board, index) == place(many, board, index)


@pytest.mark.no_cover
@every_map
def test_every_border_shows_because_the_picture_is_another_without_it(name: str) -> None:
    board = load_map(name)
    owner, troops = position(board, 1, 9)
    picture = draw_map(board, owner, troops)
    for border in board.borders[: examples(20, nightly=1000)]:
        rest = [pair for pair in board.borders if pair != border]
        if networkx.is_connected(networkx.Graph(rest)) and len(board.neighbours[border[0]]) > 1:
            without = replace(board, borders=tuple(rest))
            assert draw_map(without, owner, troops) != picture, [board.label(end) for end in border]


def test_a_map_is_described_to_who_sees_no_drawing() -> None:
    rules = load_game("risk-duel")
    state = rules.decode_state({"owner": [0, 1, -1, 1], "troops": [3, 5, 0, 4], "to_move": 0, "ply": 4})
    assert rules.describe(state).splitlines() == [
        "A is seat 0, B 1, . nobody",
        "0 Venezuela: A 3; borders Peru, Brazil",
        "1 Peru: B 5; borders Venezuela, Brazil, Argentina",
        "2 Brazil: free; borders Venezuela, Peru, Argentina",
        "3 Argentina: B 4; borders Peru, Brazil",
    ]


def test_a_campaign_is_described_with_its_continents_and_what_is_to_be_done() -> None:
    rules = load_game("risk-campaign", {"preset": "world-3"})
    state, _ = rules.initial(Dice(bytes(32), 0))
    lines = rules.describe(state).splitlines()
    assert lines[1].startswith("0 Alaska: ")
    assert lines[1].endswith(" 1; borders Northwest Territory, Alberta, Kamchatka")
    assert lines[-2] == "Australia, bonus 2: Indonesia, New Guinea, Western Australia, Eastern Australia"
    assert lines[-1] == "round 1 of 100: seat 0 drafts 4"
