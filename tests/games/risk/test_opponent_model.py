"""What the campaign's search learns of the others from their moves."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from games.risk.rules.campaign import Attack, Campaign, Draft, EndTurn, Move, Position
from games.risk.search.campaign_uct import PRIOR_RUSH_TRUST, OpponentModel
from games.risk.search.policies import POLICY_COUNT, RAID, RUSH, RaidPolicy
from protocol.dice import Dice
from protocol.messages import Event

Player = Callable[[Position], Move]
KEY = bytes(31) + b"5"
CONFIGS: list[dict[str, Any]] = [
    {},
    {"deal": "5eed" * 8, "initial_units": 2},
    {"map": "world", "players": 3, "draft": "classic", "battle": "deterministic"},
]


def rushing(rules: Campaign) -> Player:
    def choose(state: Position) -> Move:
        neighbours, owner, troops = rules.map.neighbours, state.owner, state.troops
        if state.phase == "draft":
            own = [at for at, seat in enumerate(owner) if seat == state.seat]
            front = max(own, key=lambda at: sum(owner[other] != state.seat for other in neighbours[at]))
            return Draft(((front, state.units),))
        attacks = [move for move in rules.legal_moves(state) if isinstance(move, Attack)]
        best = max(attacks, key=lambda move: move.units - troops[move.to], default=None)
        return best if best is not None and best.units > troops[best.to] else EndTurn()

    return choose


def at_random(rules: Campaign) -> Player:
    rng = random.Random(3)
    return lambda state: rules.sample_move(state, rng.randrange)


def watched(rules: Campaign, players: list[Player], seat: int, turns: int, lost: int = -1) -> OpponentModel:
    """What a seat learns in its first turns; from the one numbered `lost` on it has to begin anew."""
    habits, dice = OpponentModel(RaidPolicy(rules)), Dice(KEY, 0)
    state, deal = rules.initial(dice)
    news: list[Event] = [] if deal is None else [deal]
    while turns and rules.to_move(state) is not None:
        if state.seat == seat:
            turns -= 1
            if turns == lost:
                habits = OpponentModel(RaidPolicy(rules))
            habits.learn(state, news)
            news = []
        state, event = rules.apply(state, players[state.seat](state), Dice(KEY, rules.ply(state)))
        news.append(event)
    return habits


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_the_policy_that_a_seat_plays_is_trusted_most(config: dict[str, Any]) -> None:
    rules = Campaign(config)
    players = [rushing(rules), RaidPolicy(rules).choose_move, rushing(rules)][: rules.seats]
    for seat, turns in ((1, 6), (0, 14)):
        habits = watched(rules, players, seat, turns)
        for other, policy in ((0, RUSH), (1, RAID), (2, RUSH)):
            if other < rules.seats and other != seat:
                assert habits.trust[other][policy] > (0.4 if policy == RUSH else 0.85), (seat, other)
        assert habits.trust[seat] == [1 - PRIOR_RUSH_TRUST, PRIOR_RUSH_TRUST]


def test_a_first_turn_is_enough_to_tell_a_rush_from_a_raid() -> None:
    rules = Campaign({})
    for player, policy in ((rushing(rules), RUSH), (RaidPolicy(rules).choose_move, RAID)):
        assert watched(rules, [player, at_random(rules)], 1, 1).trust[0][policy] > (0.5 if policy == RUSH else 0.85)


def test_who_does_neither_is_taken_for_a_raider() -> None:
    rules = Campaign({})
    assert watched(rules, [at_random(rules)] * 2, 0, 30).trust[1][RAID] > 0.9


def test_who_comes_back_without_memory_learns_from_then_on() -> None:
    rules = Campaign({})
    habits = watched(rules, [at_random(rules), rushing(rules)], 0, 12, lost=10)
    assert habits.trust[1][RUSH] > 0.6


def test_limits_are_sums_of_the_trust() -> None:
    habits = OpponentModel(RaidPolicy(Campaign({})))
    habits.trust[0], habits.trust[1] = [0.5, 0.5], [0.25, 0.75]
    assert list(habits.cumulative_trust())[: 2 * POLICY_COUNT] == [0.5, 1.0, 0.25, 1.0]
