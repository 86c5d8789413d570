"""The rules beside open_spiel: the same legal moves and returns in random playouts; equilibria as it judges them."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pyspiel
import pytest
from open_spiel.python.algorithms.expected_game_score import policy_value
from open_spiel.python.algorithms.exploitability import nash_conv
from open_spiel.python.policy import TabularPolicy

from games.dilemma.rules import Dilemma
from games.poker.strategies import KUHN_VALUE, equilibrium_of, knowledge_of, single_hand
from machine.exact.hand_solving import Strategy, exploitability, strategy_value
from protocol.dice import Dice
from protocol.games import load_game
from protocol.games.base import Game
from protocol.messages import CHANCE
from volumes import examples

PLAYOUTS = examples(200, nightly=10_000)
ROUNDS = 3
MATRICES = [name for name in pyspiel.registered_names() if name.startswith("matrix_")]
POKER = {"kuhn": "kuhn_poker", "leduc": "leduc_poker"}
ACTIONS: Mapping[str, Mapping[str, int]] = {
    "kuhn": {"check": 0, "fold": 0, "bet": 1, "call": 1},
    "leduc": {"fold": 0, "check": 1, "call": 1, "bet": 2, "raise": 2},
}
"""What open_spiel calls the moves."""


def payoffs_of(theirs: Any) -> list[list[list[int]]]:
    """Its matrix as a config has it."""
    return [
        [[int(utility(row, column)) for utility in (theirs.row_utility, theirs.col_utility)] for column in columns]
        for row, columns in ((row, range(theirs.num_cols())) for row in range(theirs.num_rows()))
    ]


def test_the_games_of_the_field_are_among_those_that_are_compared() -> None:
    assert {"matrix_pd", "matrix_rps", "matrix_sh", "matrix_cd"} <= set(MATRICES)
    assert load_game("dilemma", {"preset": "rock-paper-scissors"}).config["payoffs"] == payoffs_of(
        pyspiel.load_game("matrix_rps")
    )


@pytest.mark.parametrize("name", MATRICES)
def test_a_matrix_game_has_the_moves_and_returns_of_open_spiels_in_random_playouts(name: str) -> None:
    theirs = pyspiel.load_game(name)
    payoffs = payoffs_of(theirs)
    ours = load_game("dilemma", {"payoffs": payoffs, "rounds": ROUNDS})
    assert isinstance(ours, Dilemma)
    repeated = pyspiel.create_repeated_game(theirs, {"num_repetitions": ROUNDS})
    chance = random.Random(name)
    for _ in range(PLAYOUTS):
        state, their_state = ours.initial(Dice(b"", 0))[0], repeated.new_initial_state()
        while movers := ours.movers(state):
            moves = {}
            for seat in movers:
                legal = list(ours.legal_moves_of(state, seat))
                assert legal == their_state.legal_actions(seat)
                moves[seat] = chance.choice(legal)
            state, _ = ours.resolve_round(state, moves, Dice(b"", ours.ply(state)))
            their_state.apply_actions([moves[0], moves[1]])
        assert their_state.is_terminal()
        assert list(ours.returns(state)) == their_state.returns()


@pytest.mark.parametrize("name", POKER)
def test_poker_has_the_moves_and_returns_of_open_spiels_in_random_playouts(name: str) -> None:
    ours, theirs, chance = load_game(name, {"hands": 1}), pyspiel.load_game(POKER[name]), random.Random(name)
    moves = 0
    for number in range(PLAYOUTS):
        seed = number.to_bytes(4, "big")
        state, event = ours.initial(Dice(seed, 0))
        their_state = theirs.new_initial_state()
        assert event is not None
        assert event.move is not None
        for card in event.move["cards"]:
            their_state.apply_action(card)
        while (seat := ours.to_move(state)) is not None:
            assert their_state.current_player() == seat
            if seat == CHANCE:
                state, event = ours.apply_chance(state, Dice(seed, ours.ply(state)))
                assert event.move is not None
                their_state.apply_action(event.move["public"])
                continue
            actions = {move: ACTIONS[name][move] for move in ours.legal_moves(state)}
            assert sorted(actions.values()) == their_state.legal_actions()
            move = chance.choice(list(actions))
            moves += 1
            state, _ = ours.apply(state, move, Dice(seed, ours.ply(state)))
            their_state.apply_action(actions[move])
        assert their_state.is_terminal()
        assert list(ours.returns(state) or ()) == their_state.returns()
    assert moves > 2 * PLAYOUTS


def at(rules: Game[Any, Any], start: Any, history: list[int]) -> Any:
    """Our state after what open_spiel has as the history of its."""
    (state,) = [after for _, after in rules.chance_outcomes(start) if list(after.cards) == history[:2]]
    for action in history[2:]:
        if rules.to_move(state) == CHANCE:
            (state,) = [after for _, after in rules.chance_outcomes(state) if after.public == action]
        else:
            (move,) = [move for move in rules.legal_moves(state) if ACTIONS[rules.name][move] == action]
            state = rules.outcomes(state, move)[0][1]
    return state


def their_policy(name: str, strategy: Strategy) -> tuple[Any, Any]:
    """A strategy as open_spiel has it, with its game."""
    rules, start = single_hand(name)
    game = pyspiel.load_game(POKER[name])
    policy = TabularPolicy(game)
    for row, their_state in enumerate(policy.states):
        state = at(rules, start, their_state.history())
        chances = strategy[knowledge_of(rules, state)]
        policy.action_probability_array[row] = 0.0
        for move, chance in zip(rules.legal_moves(state), chances, strict=True):
            policy.action_probability_array[row][ACTIONS[name][move]] = float(chance)
    return game, policy


@pytest.mark.no_cover
@pytest.mark.parametrize("name", ["kuhn", pytest.param("leduc", marks=pytest.mark.ci)])
def test_open_spiel_finds_nothing_to_exploit_in_the_strategies_that_perfect_plays(name: str) -> None:
    rules, start = single_hand(name)
    strategy = equilibrium_of(name)
    game, policy = their_policy(name, strategy)
    assert nash_conv(game, policy) == pytest.approx(2 * float(exploitability(rules, start, strategy)), abs=1e-9)
    assert nash_conv(game, policy) < 0.0001
    worth, _ = policy_value(game.new_initial_state(), [policy, policy])
    assert worth == pytest.approx(float(strategy_value(rules, start, strategy)), abs=1e-9)


def test_kuhns_equilibrium_is_worth_an_eighteenth_to_who_moves_second_exactly() -> None:
    rules, start = single_hand("kuhn")
    strategy = equilibrium_of("kuhn")
    assert strategy_value(rules, start, strategy) == KUHN_VALUE == Fraction(-1, 18)
    assert exploitability(rules, start, strategy) == 0
