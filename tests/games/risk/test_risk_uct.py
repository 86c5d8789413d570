"""The Monte Carlo tree search of the campaign, and the raider: legal moves, the same everywhere, good ones."""

from __future__ import annotations

import random
from typing import Any

import pytest

from bots.reference.random_bot import RandomBot
from bots.reference.search_bots import Uct
from bots.search import SearchLimit
from games.risk.bots import Raider
from games.risk.rules.campaign import Attack, Campaign, Draft, EndTurn, Move, Position
from games.risk.search.campaign_uct import CampaignUct
from games.risk.search.policies import RaidPolicy
from plain_answers import UCT_CONFIGS
from protocol.dice import Dice
from turns import play, turn
from volumes import examples


def searched(rules: Campaign, state: Position, sims: int, seed: int = 1) -> Move:
    move = CampaignUct(rules).search(state, below=random.Random(seed).randrange, limit=SearchLimit(nodes=sims)).move
    assert move is not None
    return move


@pytest.mark.parametrize("config", UCT_CONFIGS, ids=str)
def test_moves_are_legal_wherever_a_game_gets_to_and_whoever_drops_out(config: dict[str, Any]) -> None:
    rules, rng = Campaign(config), random.Random(str(config))
    uct, raider = CampaignUct(rules), RaidPolicy(rules)
    seen: set[type[Move]] = set()
    for _ in range(examples(1, nightly=6)):
        state = rules.initial(Dice(rng.randbytes(32), 0))[0]
        for _ in range(40):
            if rng.random() < 0.02 and len(state.out) < rules.seats - 2:
                state = rules.remove_seat(
                    state, rng.choice([seat for seat in range(rules.seats) if seat not in state.out])
                )
            if rules.to_move(state) is None:
                break
            found = uct.search(state, below=rng.randrange, limit=SearchLimit(nodes=rng.choice((1, 10, 200))))
            assert found.move is not None
            assert 0.0 <= found.value <= 1.0
            seen.add(type(found.move))
            choices = found.move, raider.choose_move(state), rules.sample_move(state, rng.randrange)
            after = [rules.apply(state, move, Dice(rng.randbytes(32), 0))[0] for move in choices]
            state = rng.choice(after)
    assert seen >= {Draft, Attack}


def test_a_game_that_is_over_has_no_move() -> None:
    rules = Campaign({"map": "africa"})
    over = rules.initial(Dice(bytes(32), 0))[0]._replace(out=(1,))
    assert CampaignUct(rules).search(over, below=random.Random(1).randrange, limit=SearchLimit()).move is None


def test_a_search_without_time_plays_as_the_raider() -> None:
    rules = Campaign({})
    state = rules.initial(Dice(bytes(32), 0))[0]
    found = CampaignUct(rules).search(state, below=random.Random(1).randrange, limit=SearchLimit(nodes=0))
    assert found.move == RaidPolicy(rules).choose_move(state)


@pytest.mark.parametrize("bot", [Uct("uct", sims=60), Raider("raider")], ids=lambda bot: bot.name)
def test_nobody_who_plays_at_random_survives(bot: Any) -> None:
    rules = Campaign({"map": "world", "players": 3, "draft": "classic"})
    state, _ = play(rules, [RandomBot("r"), bot, RandomBot("r")], rules.initial(Dice(bytes(32), 0))[0], "a")
    assert rules.ranks(state)[1] == 1


def test_a_win_at_hand_is_taken() -> None:
    rules = Campaign({"map": "south-america"})
    state = Position((0, 0, 1, 0), (1, 1, 2, 30), "attack", 0, 3, 5, (), 0, 9)
    assert searched(rules, state, 100) == Attack(2, 3, 29) == RaidPolicy(rules).choose_move(state)


def test_a_sure_win_is_not_put_off() -> None:
    rules = Campaign({})
    owner, troops = [0] * 36, [1] * 36
    for at, units in ((0, 72), (2, 31), (7, 81), (16, 34), (21, 52), (23, 618), (28, 181)):
        troops[at] = units
    for at, units in ((1, 33), (22, 41)):
        owner[at], troops[at] = 1, units
    state = Position(tuple(owner), tuple(troops), "attack", 0, 3, 79, (), 0, 540)
    for seed in range(6):
        move = searched(rules, state, 300, seed)
        assert isinstance(move, Attack), seed


@pytest.mark.parametrize("bank_ms", [1, 300])
@pytest.mark.parametrize("config", UCT_CONFIGS, ids=str)
def test_who_is_short_of_time_plays_as_the_raider(config: dict[str, Any], bank_ms: int) -> None:
    rules = Campaign(config)
    state = rules.initial(Dice(bytes(32), 0))[0]
    chosen = Uct("uct").choose(turn(rules, state, bank_ms=bank_ms, received=-1e15))
    assert rules.decode_move(chosen.move) == RaidPolicy(rules).choose_move(state)


def test_a_value_is_told_only_where_there_was_a_choice() -> None:
    rules = Campaign({"map": "south-america"})
    spent = Position((0, 0, 1, 1), (1, 1, 2, 30), "attack", 0, 3, 5, (), 0, 9)
    chosen = Uct("uct", sims=100).choose(turn(rules, spent))
    assert rules.decode_move(chosen.move) == EndTurn()
    assert chosen.value is None
    assert Uct("uct", sims=100).choose(turn(rules, rules.initial(Dice(bytes(32), 0))[0])).value is not None
