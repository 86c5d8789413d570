"""Nim as it is told: moves as they travel, what is on offer, the drawing; and deals whose rarer cases matter."""

from __future__ import annotations

import pytest

from games.nim import rules as nim
from games.nim.rules import Nim, Position, Take
from protocol.dice import Dice
from protocol.games.base import NO_DICE


def begun(game: Nim) -> Position:
    return game.initial(NO_DICE)[0]


def test_a_move_travels_as_its_heap_and_what_it_takes() -> None:
    game = Nim({})
    assert game.encode_move(Take(2, 5)) == {"heap": 2, "take": 5}
    assert game.decode_move({"heap": 2, "take": 5}) == Take(2, 5)


def test_what_is_offered_is_what_is_legal() -> None:
    for config in ({"heaps": [2, 0, 3]}, {"heaps": [2, 0, 3], "take": [1, 3]}):
        game = Nim(config)
        state = begun(game)
        legal, options = game.legal_moves_for_turn(state)
        assert legal == [game.encode_move(move) for move in game.legal_moves(state)]
        assert options is None


def test_allowed_removals_are_told_where_their_moves_cannot_all_be_listed() -> None:
    game = Nim({"heaps": [20] * 64, "take": list(range(1, 17))})
    legal, options = game.legal_moves_for_turn(begun(game))
    assert legal == [game.encode_move(move) for move in game.legal_moves(begun(game))[:512]]
    assert options == {"heaps": [20] * 64, "take": list(range(1, 17))}


def test_the_board_draws_every_stick_of_up_to_sixty_and_the_beginning_of_more() -> None:
    game = Nim({"heaps": [3, 60, 61, 0]})
    assert game.draw_board(begun(game)).split("\n") == [
        " 0:    3  |||",
        " 1:   60  " + "|" * 60,
        " 2:   61  " + "|" * 57 + "...",
        " 3:    0  ",
    ]


def test_a_deal_is_lost_under_the_allowed_removals() -> None:
    game = Nim({"heaps": [9], "take": [1, 2, 3], "start": "p-position"})
    dealt = {game.initial(Dice(bytes([i]) * 32, 0))[0].heaps for i in range(16)}
    assert dealt == {(4,), (8,)}


def test_the_least_lost_position_leaves_the_other_heaps_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nim, "MAX_DEAL_DRAWS", 0)
    game = Nim({"heaps": [1, 21, 1, 0], "take": [2, 3, 5], "start": "p-position"})
    assert game.initial(NO_DICE)[0].heaps == (0, 7, 0, 0)
