"""The campaign as it begins: which bytes deal the map, what a config comes to, who has something to attack."""

from __future__ import annotations

from games.risk.rules.campaign import Attack, Campaign, EndTurn, Position
from protocol.dice import Dice

KEY = b"\x07" * 32
AUSTRALIA = Campaign({"map": "australia", "battle": "deterministic"})


def test_a_config_comes_to_every_setting_in_full() -> None:
    game = Campaign({"preset": "paper", "map": "australia", "players": 3, "max_attacks": 5, "deal": "AB" * 16})
    assert game.config == {
        "map": AUSTRALIA.map.encoded,
        "players": 3,
        "draft": "territories",
        "battle": "deterministic",
        "max_attacks": 5,
        "initial_units": 1,
        "max_rounds": 100,
        "deal": "ab" * 16,
    }


def test_the_deal_is_sixteen_bytes_of_the_purpose_deal() -> None:
    dice = Dice(KEY, 0)
    drawn = bytes(dice.choice("deal", 256) for _ in range(16)).hex()
    game = Campaign({})
    assert game.config_of_deal(Dice(KEY, 0)) == {**game.config, "deal": drawn}
    order = Dice(bytes.fromhex(drawn), 0).shuffle("deal", range(36))
    state, _ = game.initial(Dice(KEY, 0))
    assert [state.owner[at] for at in order] == [0, 1] * 18


def test_positions_that_differ_in_their_ply_alone_are_the_same_to_a_search() -> None:
    state, _ = AUSTRALIA.initial(Dice(KEY, 0))
    assert AUSTRALIA.key(state) == AUSTRALIA.key(state._replace(at=state.at + 9))
    for other in (state._replace(seat=1), state._replace(out=(1,)), state._replace(troops=(9, 1, 1, 1))):
        assert AUSTRALIA.key(other) != AUSTRALIA.key(state)


def test_a_single_troop_has_nothing_to_attack() -> None:
    state = Position((0, 1, 1, 1), (1, 1, 1, 1), "attack", 0, 3, 1, (), 0, 5)
    assert AUSTRALIA.legal_moves(state) == [EndTurn()]
    to = AUSTRALIA.map.neighbours[0][0]
    assert AUSTRALIA.legal_moves(state._replace(troops=(2, 1, 1, 1)))[0] == Attack(to, 0, 1)
