"""The rules of the dilemma: payoffs, noise, an end that nobody knows, and what a config may be."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest

from games.dilemma.rules import Dilemma, DilemmaState, is_prisoners_dilemma
from protocol.dice import Dice
from protocol.errors import BadConfig, IllegalMove, MalformedMove
from protocol.games import load_game
from protocol.games.base import NO_DICE

C, D = 0, 1
KEY = bytes(range(32))


def begun(game: Dilemma) -> DilemmaState:
    return game.initial(NO_DICE)[0]


@pytest.mark.parametrize(("moves", "paid"), [((C, C), (3, 3)), ((C, D), (0, 5)), ((D, C), (5, 0)), ((D, D), (1, 1))])
def test_a_round_pays_what_the_matrix_says(moves: tuple[int, int], paid: tuple[int, int]) -> None:
    game = Dilemma({})
    state, event = game.resolve_round(begun(game), dict(enumerate(moves)), NO_DICE)
    assert game.returns(state) == paid
    assert event.result == {"payoffs": list(paid)}
    assert event.moves == [{"choose": moves[0]}, {"choose": moves[1]}]


def test_payoffs_add_up_and_whoever_was_paid_more_is_ahead() -> None:
    game = Dilemma({"rounds": 3})
    state = begun(game)
    for moves in ((C, D), (C, C), (D, D)):
        state, _ = game.resolve_round(state, dict(enumerate(moves)), NO_DICE)
    assert game.returns(state) == (4, 9)
    assert game.movers(state) == ()
    assert game.ranks(state) == (2, 1)
    assert game.reason(state) == "win"


def test_a_matrix_need_not_be_square_nor_sum_to_zero() -> None:
    game = Dilemma({"payoffs": [[[1, 2], [3, 4], [5, 6]], [[7, 8], [9, 10], [11, 12]]], "rounds": 1})
    assert game.choices == (("a", "b"), ("a", "b", "c"))
    state, _ = game.resolve_round(begun(game), {0: 1, 1: 2}, NO_DICE)
    assert game.returns(state) == (11, 12)
    with pytest.raises(IllegalMove, match="there is no choice 2: 0 a, 1 b"):
        game.check_move(begun(game), 0, 2)
    game.check_move(begun(game), 1, 2)


def test_a_move_that_is_a_name_is_told_how_it_is_written() -> None:
    text = """choose is 'defect': it is an integer, as in {"choose": 0} for cooperate"""
    with pytest.raises(MalformedMove, match=re.escape(text)):
        load_game("dilemma", {}).decode_move({"choose": "defect"})


def test_noise_changes_as_many_choices_as_it_says_each_to_another() -> None:
    game = Dilemma({"payoffs": [[[0, 0]] * 3] * 3, "noise": "0.3", "rounds": 10_000})
    state, played = begun(game), Counter[int]()
    while game.movers(state):
        state, event = game.resolve_round(state, {0: 1, 1: 1}, Dice(KEY, state.at))
        assert event.result is not None
        played.update(event.result["played"])
    assert 0.68 < played[1] / 20_000 < 0.72
    assert 0.13 < played[0] / 20_000 < 0.17


def test_what_the_other_meant_under_noise_is_told_to_nobody_and_without_it_to_everybody() -> None:
    noisy, plain = Dilemma({"noise": "0.1"}), Dilemma({})
    for game, seen in ((noisy, [{"choose": 1}, None]), (plain, [{"choose": 1}, {"choose": 0}])):
        _, event = game.resolve_round(begun(game), {0: D, 1: C}, Dice(KEY, 0))
        assert game.view_event(event, 0).moves == seen
        assert game.view_event(event, 0).result == event.result
    assert noisy.hidden
    assert not plain.hidden


def test_the_coin_of_the_end_goes_on_as_often_as_it_says() -> None:
    game = load_game("dilemma", {"go_on": 0.9, "rounds": 1000})
    lengths = []
    for match in range(1000):
        state = begun(game)
        while game.movers(state):
            state, _ = game.resolve_round(state, {0: C, 1: C}, Dice(match.to_bytes(32), state.at))
        lengths.append(state.at)
    assert 9 < sum(lengths) / 1000 < 11
    assert min(lengths) == 1


def test_rounds_end_a_match_whose_coin_would_go_on() -> None:
    game = Dilemma({"go_on": "0.9999", "rounds": 2})
    state = begun(game)
    for _ in range(2):
        state, _ = game.resolve_round(state, {0: C, 1: C}, Dice(KEY, state.at))
    assert game.movers(state) == ()


def test_chances_travel_as_the_shortest_decimals() -> None:
    for given, kept in ((0, "0"), (0.05, "0.05"), ("0.0500", "0.05"), ("1e-4", "0.0001"), (0.5, "0.5")):
        assert Dilemma({"noise": given}).config["noise"] == kept


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"payoffs": 5}, "payoffs is 5: it must be a list of 2 to 5 rows, one for each choice of seat 0"),
        ({"payoffs": [[1, 2], [3, 4]]}, r"payoffs\[0\]\[0\] is 1: it must be two payoffs, like \[3, 3\]"),
        (
            {"payoffs": [[[0, 0]] * 2, [[0, 0]] * 3]},
            r"payoffs\[1\] has 3 pairs, but payoffs\[0\] has 2: all rows must have the same length",
        ),
        ({"payoffs": [[[0, 0]] * 6] * 2}, r"payoffs\[0\] is .*: it must be a list of 2 to 5 pairs"),
        (
            {"payoffs": [[[0, float("nan")], [0, 0]]] * 2},
            r"payoffs\[0\]\[0\]\[1\] is nan: it must be an integer from -1",
        ),
        (
            {"payoffs": [[[0, float("inf")], [0, 0]]] * 2},
            r"payoffs\[0\]\[0\]\[1\] is inf: it must be an integer from -1",
        ),
        ({"payoffs": [[[0, 10**12], [0, 0]]] * 2}, r"payoffs\[0\]\[0\]\[1\] is 10{12}: it must be an integer from -1"),
        ({"noise": 0.6}, "noise is 0.6: it must be a chance from 0 to 0.5 with up to four decimals, like 0.05"),
        ({"noise": 10**5000}, "noise is something too long to show: it must be a chance from 0 to 0.5"),
        ({"noise": "9" * 5000}, "noise is '9999"),
        ({"noise": "a lot"}, "noise is 'a lot': it must be a chance from 0 to 0.5"),
        ({"noise": 0.00001}, "noise is 1e-05: it must be a chance from 0 to 0.5 with up to four decimals"),
        ({"noise": float("nan")}, "noise is nan: it must be a chance"),
        ({"noise": "1e999999"}, "noise is '1e999999': it must be a chance"),
        ({"noise": "1e-9999999"}, "noise is '1e-9999999': it must be a chance"),
        ({"noise": "0.05" + "0" * 30 + "1"}, "noise is '0.05.*: it must be a chance"),
        ({"go_on": 1}, "go_on is 1: it must be a chance from 0 to 0.9999"),
        ({"rounds": 10_001}, "rounds is 10001: it must be an integer from 1 to 10000"),
        ({"choices": ["ab", "cd"]}, r"choices\[0\] is 'ab': it must be 2 different names"),
        ({"choices": [["a", "A"], ["a", "b"]]}, r"choices\[0\] is \['a', 'A'\]: it must be 2 different names"),
        ({"choices": [["a", "b"], ["0", "b"]]}, r"choices\[1\] is \['0', 'b'\]: .* none of them a number"),
        ({"choices": [["a", "b"]]}, "choices is .*: it must be two lists of names, one for each seat"),
    ],
)
def test_a_config_that_is_none_is_answered_with_what_it_may_be(config: dict[str, Any], said: str) -> None:
    with pytest.raises(BadConfig, match=f"^dilemma: {said}") as fault:
        Dilemma(config)
    assert str(fault.value).isprintable()


def test_a_choice_is_read_by_its_number_its_name_or_the_beginning_of_it() -> None:
    game = Dilemma({"choices": [["go", "goat"]] * 2})
    assert [game.parse_move(text) for text in ("0", "1", "go", "GOAT", "goa")] == [0, 1, 0, 1, 1]
    with pytest.raises(MalformedMove, match=r"'g' is not a move here: one of go, goat$"):
        game.parse_move("g")
    with pytest.raises(MalformedMove, match=r"one of go, stop, Left$"):
        Dilemma({"choices": [["go", "stop"], ["Left", "go"]]}).parse_move("right")


def test_a_prisoners_dilemma_is_told_from_other_matrices() -> None:
    named = {preset: is_prisoners_dilemma(Dilemma({"preset": preset}).payoffs) for preset in Dilemma.presets}
    assert [preset for preset, is_one in named.items() if is_one] == ["axelrod", "open-end", "prison", "short"]
    assert Dilemma({"payoffs": [[[0, 0]] * 2] * 2}).choices[0] == ("a", "b")
