"""The rules of Grundy's game."""

from __future__ import annotations

from typing import Any

import pytest

from games.grundy.rules import Grundy, Heaps, Split
from protocol.errors import BadConfig, IllegalMove, MalformedMove
from protocol.games.base import NO_DICE


def start(*heaps: int) -> tuple[Grundy, Heaps]:
    game = Grundy({"heaps": list(heaps)})
    return game, game.initial(NO_DICE)[0]


def test_a_split_keeps_the_smaller_part_in_place_and_puts_the_rest_last() -> None:
    game, state = start(7, 4)
    after, event = game.apply(state, Split(0, 2), NO_DICE)
    assert after == Heaps((2, 4, 5), 1)
    assert (event.ply, event.seat, event.move) == (0, 0, {"heap": 0, "split": 2})
    assert game.to_move(after) == 1
    assert game.notation(Split(0, 2)) == "2 off heap 0"


def test_moves_name_the_smaller_part_of_every_heap_that_can_be_split() -> None:
    game, state = start(2, 5, 1, 6)
    assert game.legal_moves(state) == [(1, 1), (1, 2), (3, 1), (3, 2)]


def test_heaps_of_one_and_two_end_the_game_and_the_mover_loses() -> None:
    game, state = start(3)
    after, _ = game.apply(state, Split(0, 1), NO_DICE)
    assert game.to_move(after) is None
    assert game.ranks(after) == (1, 2)
    assert start(2, 1)[0].ranks(start(2, 1)[1]) == (2, 1), "nobody could move at all"


def test_many_heaps_are_drawn_within_80_columns() -> None:
    game, state = start(*[200] * 16)
    while moves := game.legal_moves(state):
        state, _ = game.apply(state, moves[0], NO_DICE)
        if game.ply(state) > 100:
            break
    lines = game.draw_board(state).splitlines()
    assert len(lines) > 1
    assert max(map(len, lines)) <= 80
    assert " ".join(lines).split() == ["heaps:", *map(str, state.heaps)]


@pytest.mark.parametrize(
    ("move", "said"),
    [
        ((2, 1), "there is no heap 2: heaps are 0 to 1"),
        ((-1, 1), "there is no heap -1"),
        ((0, 4), "heap 0 holds 7: split is 4, but the smaller part can be 1 to 3"),
        ((0, 0), "split is 0"),
        ((1, 1), "heap 1 holds 2: split is 1, but .* nothing: it cannot be split into two different heaps"),
    ],
)
def test_an_illegal_split_is_refused_with_what_would_be_legal(move: tuple[int, int], said: str) -> None:
    game, state = start(7, 2)
    with pytest.raises(IllegalMove, match=said):
        game.apply(state, Split(*move), NO_DICE)


def test_a_heap_cannot_be_halved() -> None:
    game, state = start(6)
    with pytest.raises(IllegalMove, match="the smaller part can be 1 to 2"):
        game.apply(state, Split(0, 3), NO_DICE)


@pytest.mark.parametrize("wire", [{"heap": 0}, {"heap": 0, "take": 1}, {"heap": 0, "split": "1"}, [0, 1]])
def test_a_malformed_split_is_refused_with_its_form(wire: Any) -> None:
    with pytest.raises(MalformedMove, match=r'\{"heap": 0, "split": 1\}'):
        Grundy({}).decode_move(wire)


@pytest.mark.parametrize(
    ("heaps", "said"),
    [
        ([], "a list of 1 to 16 integers"),
        ([7] * 17, "a list of 1 to 16 integers"),
        ([0], r"heaps\[0\] is 0: it must be an integer from 1 to 200"),
        ([7, 201], r"heaps\[1\] is 201"),
        (None, "heaps is None"),
    ],
)
def test_a_bad_config_is_refused_with_its_range(heaps: Any, said: str) -> None:
    with pytest.raises(BadConfig, match=f"^grundy: .*{said}"):
        Grundy({"heaps": heaps})
