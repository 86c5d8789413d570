"""The Monte Carlo tree search of bounded Risk: legal actions, the same everywhere, good ones."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from bots.reference.random_bot import RandomBot
from bots.reference.search_bots import Uct
from bots.search import SearchLimit
from games.risk.rules.duel import Action, Duel, Position
from games.risk.search import flat_duel
from games.risk.search.duel_uct import DuelUct
from games.risk.search.flat_duel import decode_move, duel_board
from games.risk.search.flat_position import BORDERS, BORDERS_END, NO_EVALUATION, cell_of, make_state
from kept_code import kept
from machine.compiled import ints
from machine.generator import seed_state
from protocol.dice import Dice
from protocol.games.base import NO_DICE
from turns import play
from volumes import examples

play_move = kept(flat_duel.play_move)


def searched(rules: Duel, state: Position, sims: int) -> Action:
    move = DuelUct(rules).search(state, below=random.Random(state.at).randrange, limit=SearchLimit(nodes=sims)).move
    assert move is not None
    return move


@pytest.mark.parametrize("map_", ["south-america", "africa", "asia"])
def test_actions_are_legal_wherever_a_game_gets_to(map_: str) -> None:
    rules, rng = Duel({"map": map_}), random.Random(map_)
    uct, seen = DuelUct(rules), Counter[str]()
    for _ in range(2):
        state = rules.initial(NO_DICE)[0]
        while rules.to_move(state) is not None and state.at < 60:
            found = uct.search(state, below=rng.randrange, limit=SearchLimit(nodes=rng.choice((1, 20, 200))))
            assert found.move in rules.legal_moves(state)
            assert 0.0 <= found.value <= 1.0
            seen[found.move.do] += 1
            move = rng.choice([found.move, rng.choice(rules.legal_moves(state))])
            state = rules.apply(state, move, Dice(rng.randbytes(32), state.at))[0]
    assert {"invade", "reinforce", "attack"} <= seen.keys()


def test_a_move_on_the_arrays_has_the_results_of_the_rules() -> None:
    rules, rng = Duel({"map": "africa"}), random.Random(4)
    values, luck = duel_board(rules), ints(seed_state(99))
    board = ints(values)
    for _ in range(examples(8, nightly=30)):
        state = rules.initial(NO_DICE)[0]
        while rules.to_move(state) is not None and state.at < 40:
            move = rng.choice(rules.legal_moves(state))
            flat_state = make_state(board, state, 0, NO_EVALUATION)
            codes = [code for code in codes_of(rules) if decode_move(values, state, code) == move]
            won = play_move(board, flat_state, luck, state.seat, codes[0])
            results = [after for _, after in rules.outcomes(state, move)]
            after = results[0] if len(results) == 1 or won else results[1]
            cells = [cell_of(at) for at in range(len(rules.map))]
            assert [int(flat_state[at]) for at in cells] == list(after.owner)
            assert [int(flat_state[at + 1]) for at in cells] == list(after.troops)
            state = after


def codes_of(rules: Duel) -> list[int]:
    """The kernel's numbers of all places to draft to and borders to attack across."""
    board = duel_board(rules)
    return [*map(cell_of, range(len(rules.map))), *range(board[BORDERS], board[BORDERS_END])]


def test_a_win_at_hand_is_taken() -> None:
    rules = Duel({})
    assert searched(rules, Position((0, 0, -1, 0), (3, 3, 0, 3), 0, 9), 50) == Action("invade", 2)


def test_it_wins_more_than_it_loses_against_moves_at_random() -> None:
    rules = Duel({})
    won = 0
    for seed in range(8):
        state, _ = play(rules, [Uct("u", sims=60), RandomBot("r")], rules.initial(NO_DICE)[0], str(seed), bytes([seed]))
        won += rules.ranks(state)[0] == 1
    assert won >= 6


def test_a_game_that_is_over_has_no_move() -> None:
    over = Position((0, 0, 0, 0), (1, 1, 1, 1), 1, 9)
    assert DuelUct(Duel({})).search(over, below=random.Random(1).randrange, limit=SearchLimit()).move is None
