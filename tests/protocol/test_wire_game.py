"""A game whose rules are not on this machine: states and moves as messages carry them."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from example_games import CONNECT_FOUR, PIG
from protocol.dice import Dice
from protocol.errors import MalformedMove, RulesUnavailable
from protocol.games import load_game
from protocol.games.base import Game
from protocol.games.wire_game import WireGame, load_client_game

GAME = WireGame("connect4", {"columns": 7})
RULES = CONNECT_FOUR.rules({})
WIRE = RULES.encode_state(RULES.initial(Dice(b"", 0))[0])
KNOWN_NAMES = {
    "to_move",
    "ply",
    "encode_state",
    "decode_state",
    "encode_move",
    "decode_move",
    "draw_board",
    "notation",
} | {"notation_of_event"}


def test_a_client_has_a_game_by_its_rules_and_without_them_as_messages_carry_it() -> None:
    assert type(load_client_game("nim", {"preset": "classic"})) is type(load_game("nim"))
    game = load_client_game("halma", {"size": 3}, seats=6)
    assert (type(game), game.name, game.title, game.config, game.seats) == (WireGame, "halma", "halma", {"size": 3}, 6)
    assert (game.preset, game.pool, game.pools) == (None, None, [])


def test_states_and_moves_are_those_of_messages() -> None:
    state = GAME.decode_state(WIRE)
    assert GAME.encode_state(state) == state == WIRE
    assert (GAME.to_move(state), GAME.ply(state)) == (0, 0)
    assert GAME.to_move(GAME.decode_state({"to_move": [2, 3], "ply": 4})) == 2
    assert GAME.to_move(GAME.decode_state({"to_move": None, "ply": 4})) is None
    assert GAME.encode_move(GAME.decode_move({"move": 3})) == {"move": 3}
    with pytest.raises(MalformedMove, match=r"a move is a map like those in turn.legal, not 3"):
        GAME.decode_move(3)


@pytest.mark.parametrize(
    ("move", "written"),
    [
        ({"move": 3}, "3"),
        ({"move": "roll"}, "roll"),
        ({"move": [1, None, 2]}, "1 - 2"),
        ({"row": 1, "column": 2}, "row 1 column 2"),
        ({"pass": None}, "pass null"),
        ({"cards": [[1, 2], [3]]}, "cards [[1, 2], [3]]"),
        ({"attack": {"from": 1}}, '{"attack": {"from": 1}}'),
        ({}, ""),
    ],
)
def test_a_move_is_written_by_its_keys_and_values(move: dict[str, Any], written: str) -> None:
    assert GAME.notation(move) == written


def test_a_state_is_drawn_field_by_field_and_a_board_row_by_row() -> None:
    told = {"board": ["x o", ""], "rows": [["x", None], []], "score": [3, 4], "held": None, "to_move": 0, "ply": 1}
    drawn = GAME.draw_board(GAME.decode_state(told))
    assert drawn == "board:\n  x o\n  .\nrows:\n  x -\n  .\nscore: 3 4\nheld: null"
    assert max(map(len, GAME.draw_board(GAME.decode_state({"text": "x" * 200})).splitlines())) == 78


def test_what_only_the_rules_know_is_refused_in_one_line() -> None:
    with pytest.raises(RulesUnavailable) as caught:
        GAME.legal_moves(GAME.decode_state(WIRE))
    assert str(caught.value) == (
        "turn.rules.legal_moves needs the arena's rules of connect4, which this machine does not have: choose from "
        "turn.legal by turn.state, or fetch the rules with arena-bot game get"
    )
    with pytest.raises(RulesUnavailable, match=r"turn.rules.turn_game needs"):
        _ = GAME.turn_game
    with pytest.raises(RulesUnavailable, match=r"turn.position.cells needs"):
        _ = GAME.decode_state(WIRE).cells
    with pytest.raises(MalformedMove, match="'4' is not one of the listed moves"):
        GAME.parse_move("4")


def test_rules_here_are_used_only_if_they_are_those_of_the_arena() -> None:
    assert not isinstance(load_client_game("nim", {"preset": "classic"}), WireGame)
    assert isinstance(load_client_game("nim", {"preset": "classic"}, digest="ab" * 32), WireGame)


def test_no_method_of_the_contract_pretends_to_know_the_rules() -> None:
    """Check that no method gives the answer of another game: it knows, or refuses."""
    told: dict[str, Any] = {"title": "connect4", "about": "", "seats": 2, "config": {"columns": 7}, "name": "connect4"}
    follow = {"outcomes", "information_set", "reason", "sample_move", "legal_moves_for_turn", "describe_changes"}
    harmless = {"check_cost", "describe", "describe_event", "summarise", "view", "view_event", "move_syntax"}
    presets = {"preset", "preset_of", "pool", "pools", "presets", "preset_titles", "preset_for_people", "late_keys"}
    others = {"parse_move", "tutorial"} | presets | harmless | follow | KNOWN_NAMES
    for name in {*Game.__annotations__, *vars(Game)} - others:
        if name.startswith("_"):
            continue
        if name in told:
            assert getattr(GAME, name) == told[name]
        else:
            with pytest.raises(RulesUnavailable, match=name):
                getattr(GAME, name)
    state = GAME.decode_state(WIRE)
    asks: tuple[Callable[[], object], ...] = (
        lambda: GAME.outcomes(state, {"move": 1}),
        lambda: GAME.information_set(state, 0),
        lambda: GAME.reason(state),
        lambda: GAME.legal_moves_for_turn(state),
        lambda: GAME.sample_move(state, lambda below: 0),
    )
    for ask in asks:
        with pytest.raises(RulesUnavailable):
            ask()


def test_a_state_can_be_kept_copied_and_pickled() -> None:
    state = WireGame("pig", {}).decode_state(PIG.rules({}).encode_state(PIG.rules({}).initial(Dice(b"", 0))[0]))
    assert copy.deepcopy(state) == pickle.loads(pickle.dumps(state)) == state
