"""Campaigns played forward on a flat array go as the rules say, and as often."""

from __future__ import annotations

import random
from collections import Counter
from statistics import fmean, pvariance
from typing import Any

import pytest

from games.risk.rules.battle import battle_odds, battle_without_dice
from games.risk.rules.campaign import Attack, Campaign, Draft, Move, Position
from games.risk.search import battle_odds as table
from games.risk.search import flat_campaign as flat
from games.risk.search import policies
from games.risk.search.battle_odds import MAX_TABLE_UNITS, SUFFICIENT_PROBABILITY, odds_table
from games.risk.search.flat_campaign import campaign_board
from games.risk.search.flat_position import OVER, POSITION_BEGIN, cell_of
from games.risk.search.policies import RAID, RaidPolicy
from kept_code import kept
from machine.compiled import ints
from protocol.dice import Dice
from volumes import examples

attack, fight, score = kept(flat.attack), kept(flat.fight), kept(flat.first_place_share)
enough, odds_of, play_turn = kept(table.find_sufficient), kept(table.look_up_odds), kept(policies.play_turn)
CONFIGS: list[dict[str, Any]] = [
    {"players": 2},
    {"players": 2, "battle": "deterministic", "initial_units": 3},
    {"map": "world", "players": 3, "draft": "classic", "initial_units": 2},
    {"map": "africa", "players": 6, "draft": "classic", "max_attacks": 1},
    {"map": "south-america", "players": 4, "max_attacks": 20, "initial_units": 5},
    {"map": "europe", "players": 5, "draft": "classic", "battle": "deterministic", "max_rounds": 4},
    {"map": "africa", "players": 4, "turn_order": "snake", "max_rounds": 5},
]


def do(board: Any, field: Any, move: Move) -> None:
    if isinstance(move, Draft):
        for at, units in move.units:
            flat.apply_move(board, field, cell_of(at), flat.NO_CELL, units, 0)
    elif isinstance(move, Attack):
        attack(board, field, cell_of(move.source), cell_of(move.to), move.units)
    else:
        flat.apply_move(board, field, flat.NO_CELL, flat.NO_CELL, 0, 0)


def shares(board: Any, field: Any, seats: int) -> list[float]:
    return [float(score(board, field, seat)) for seat in range(seats)]


def played(rules: Campaign, state: Position, move: Move, field: Any) -> Position | None:
    """What the rules make of the move, the result that the field shows; None where it shows none."""
    territories = range(len(rules.map))
    shown = [int(field[cell_of(at)]) for at in territories], [int(field[cell_of(at) + 1]) for at in territories]
    results = (after for _, after in rules.outcomes(state, move))
    return next((after for after in results if (list(after.owner), list(after.troops)) == shown), None)


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_a_field_stays_what_a_new_one_of_the_rules_position_would_be(config: dict[str, Any]) -> None:
    rules, rng = Campaign(config), random.Random(str(config))
    board, ended = ints(campaign_board(rules)), 0
    for _ in range(examples(2, nightly=4)):
        state = rules.initial(Dice(rng.randbytes(32), 0))[0]
        field = flat.make_campaign_state(board, state, seed=rng.randrange(2**31))
        for _ in range(150):
            if rng.random() < 0.01 and len(state.out) < rules.seats - 2:
                state = rules.remove_seat(
                    state, rng.choice([seat for seat in range(rules.seats) if seat not in state.out])
                )
                field = flat.make_campaign_state(board, state, seed=rng.randrange(2**31))
                if rules.to_move(state) is None:  # the last of the last round
                    break
            attacks = [move for move in rules.legal_moves(state) if isinstance(move, Attack)]
            move = rng.choice(attacks) if attacks and rng.random() < 0.8 else rules.sample_move(state, rng.randrange)
            do(board, field, move)
            after = played(rules, state, move, field)
            assert after is not None, (state, move)
            state = after
            assert bool(field[OVER]) == (rules.to_move(state) is None)
            if field[OVER]:
                ranks = rules.ranks(state)
                assert shares(board, field, rules.seats) == [(rank == 1) / ranks.count(1) for rank in ranks]
                ended += 1
                break
            fresh = flat.make_campaign_state(board, state)
            assert list(field[POSITION_BEGIN:]) == list(fresh[POSITION_BEGIN:])
    assert ended or config.get("max_rounds") is None


@pytest.mark.parametrize(("attackers", "defenders"), [(1, 1), (2, 1), (1, 2), (3, 2), (7, 5), (4, 8)])
def test_battles_end_as_often_as_their_odds_say(attackers: int, defenders: int) -> None:
    rules, count = Campaign({}), 10_000
    field = flat.make_campaign_state(ints(campaign_board(rules)), rules.initial(Dice(bytes(32), 0))[0], seed=12345)
    ends = Counter(int(fight(field, attackers, defenders, 1)) for _ in range(count))
    odds = {left or -held: float(chance) for chance, left, held in battle_odds(attackers, defenders)}
    assert ends.keys() <= odds.keys()
    for end, chance in odds.items():
        assert ends[end] == pytest.approx(count * chance, abs=4 * (count * chance) ** 0.5 + 4)


@pytest.mark.parametrize(("attackers", "defenders"), [(1, 1), (2, 2), (9, 6), (5, 12), (40, 33), (20, 80)])
def test_the_table_of_odds_is_exact(attackers: int, defenders: int) -> None:
    ends = battle_odds(attackers, defenders)
    won = sum(chance for chance, left, _ in ends if left)
    left = sum(chance * left for chance, left, _ in ends) / won
    held = sum(chance * held for chance, _, held in ends) / (1 - won)
    expected = pytest.approx([float(won), float(left), float(held)])
    assert list(odds_of(odds_table(True), attackers, defenders)) == expected
    kept = battle_without_dice(attackers, defenders)
    assert list(odds_of(odds_table(False), attackers, defenders)) == [kept[0] > 0, *kept]


def test_beyond_its_edge_the_table_is_scaled() -> None:
    chance, left, held = odds_of(odds_table(True), 3 * MAX_TABLE_UNITS, 2 * MAX_TABLE_UNITS)
    assert chance > 0.99
    assert left == pytest.approx(3 * MAX_TABLE_UNITS - 0.86 * 2 * MAX_TABLE_UNITS, rel=0.03)
    assert odds_of(odds_table(False), 5 * MAX_TABLE_UNITS, MAX_TABLE_UNITS)[:2] == (1.0, 4 * MAX_TABLE_UNITS)
    assert held >= 0


@pytest.mark.parametrize("dice", [True, False])
def test_enough_units_are_the_fewest_that_win_nearly_always(dice: bool) -> None:
    odds = odds_table(dice)
    for defenders in (1, 2, 5, 13, 40):
        units = int(enough(odds, 1000, defenders))
        assert odds_of(odds, units, defenders)[0] >= SUFFICIENT_PROBABILITY > odds_of(odds, units - 1, defenders)[0]
        assert enough(odds, units - 1, defenders) == units - 1
    assert enough(odds, 500, MAX_TABLE_UNITS + 1) == 500


@pytest.mark.parametrize("config", [{}, {"map": "world", "players": 3, "draft": "classic"}], ids=str)
def test_the_raider_fares_on_a_field_as_it_does_by_the_rules(config: dict[str, Any]) -> None:
    rules = Campaign({**config, "deal": "5eed" * 8, "max_rounds": 6})
    player, start = RaidPolicy(rules), rules.initial(Dice(bytes(32), 0))[0]
    units: dict[str, list[int]] = {"rules": [], "field": []}
    for number in range(games := examples(25, nightly=150)):
        state = start
        while rules.to_move(state) is not None:
            dice = Dice(number.to_bytes(32, "big"), rules.ply(state))
            state = rules.apply(state, player.choose_move(state), dice)[0]
        units["rules"].append(
            sum(troops for owner, troops in zip(state.owner, state.troops, strict=True) if owner == 0)
        )
        field = flat.make_campaign_state(player.board, start, seed=7919 * number)
        while not field[OVER]:
            play_turn(player.board, field, player.odds, player.weights, player.path, RAID)
        cells = map(cell_of, range(len(rules.map)))
        units["field"].append(sum(int(field[at + 1]) for at in cells if field[at] == 0))
    error = (pvariance(units["rules"]) / (games / 2)) ** 0.5
    assert error > 0.1
    assert fmean(units["rules"]) == pytest.approx(fmean(units["field"]), abs=3 * error)
