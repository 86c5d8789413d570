"""Draft-and-attack Risk: every rule, on small maps, and what is told to those who break one."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from games.risk.rules.battle import MAX_LISTED_ROUNDS, battle_odds
from games.risk.rules.campaign import Attack, Campaign, Draft, EndTurn, Move, Position
from protocol.dice import Dice
from protocol.errors import BadConfig, IllegalMove, MalformedMove
from protocol.games import load_game
from protocol.games.base import NO_DICE

ROW = {
    "name": "row",
    "territories": [{"name": name, "continent": i // 2, "x": 15 * i, "y": 50} for i, name in enumerate("ABCDEF")],
    "continents": [{"name": "West", "bonus": 4}, {"name": "Middle", "bonus": 2}, {"name": "East", "bonus": 1}],
    "borders": [[i, i + 1] for i in range(5)],
}
"""Six territories in a row, two on each continent."""
DEAL = "00112233445566778899aabbccddeeff"


def row(**config: Any) -> Campaign:
    return Campaign({"map": ROW, "battle": "deterministic", **config})


def position(owner: tuple[int, ...], troops: tuple[int, ...], **fields: Any) -> Position:
    """Seat 0 to attack in round 1, three times at most."""
    start = Position(owner, troops, "attack", 0, 3, 1, (), 0, 7)
    return start._replace(**fields)


def play(game: Campaign, state: Position, *moves: Move) -> Position:
    for move in moves:
        state, _ = game.apply(state, move, Dice(b"play", state.at))
    return state


def refused(game: Campaign, state: Position, move: Move) -> str:
    with pytest.raises(IllegalMove) as why:
        game.apply(state, move, NO_DICE)
    assert str(why.value).isprintable()
    assert len(str(why.value)) < 200
    return str(why.value)


SPLIT = position((0, 0, 0, 1, 1, 1), (1, 2, 5, 3, 1, 4))


@pytest.mark.parametrize("players", range(2, 7))
def test_a_deal_gives_every_seat_its_share_with_the_initial_units(players: int) -> None:
    game = Campaign({"map": "grid-6x6", "players": players, "initial_units": 3})
    state, deal = game.initial(Dice(b"k", 0))
    held = Counter(state.owner)
    assert [held[seat] for seat in range(players)] == [len(range(seat, 36, players)) for seat in range(players)]
    assert set(state.troops) == {3}
    assert deal is not None
    assert (deal.ply, deal.seat, deal.move) == (0, -1, {"owner": list(state.owner)})
    assert (state.phase, state.units, state.round, game.to_move(state), game.ply(state)) == ("draft", held[0], 1, 0, 1)


def test_a_given_deal_leaves_nothing_to_chance_and_settles_the_start() -> None:
    game = Campaign({"deal": DEAL.upper()})
    assert game.config["deal"] == DEAL
    state, deal = game.initial(NO_DICE)
    assert deal is None
    assert game.ply(state) == 0
    order = Dice(bytes.fromhex(DEAL), 0).shuffle("deal", range(36))
    assert [state.owner[at] for at in order] == [0, 1] * 18
    assert game.config_of_deal(NO_DICE) == game.config
    assert Campaign({"deal": DEAL[::-1]}).initial(NO_DICE)[0].owner != state.owner


def test_the_deal_is_sixteen_bytes_of_the_purpose_deal() -> None:
    dice, game = Dice(b"k", 0), Campaign({})
    drawn = bytes(dice.choice("deal", 256) for _ in range(16)).hex()
    assert game.config_of_deal(Dice(b"k", 0)) == {**game.config, "deal": drawn}
    assert game.initial(Dice(b"k", 0))[0].owner == Campaign({"deal": drawn}).initial(NO_DICE)[0].owner


def turns(game: Campaign, count: int) -> list[tuple[int, int]]:
    """The round and the seat of so many turns in which nobody attacks."""
    state, _ = game.initial(Dice(b"k", 0))
    found = []
    for _ in range(count):
        found.append((state.round, state.seat))
        state = play(game, state, game.legal_moves(state)[0], EndTurn())
    return found


def test_in_snake_order_every_other_round_goes_the_other_way() -> None:
    assert turns(row(players=3), 6) == [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)]
    snake = row(players=3, turn_order="snake")
    assert turns(snake, 9) == [(1, 0), (1, 1), (1, 2), (2, 2), (2, 1), (2, 0), (3, 0), (3, 1), (3, 2)]
    back = position((0, 1, 1, 2, 2, 2), (1,) * 6, seat=1)._replace(round=2, out=(0,))
    assert play(snake, back, EndTurn())[5:8] == (3, (0,), 1), (
        "seat 0 is out: the round ends with seat 1, which begins the next"
    )


def test_the_last_round_in_snake_order_ends_with_its_last_seat() -> None:
    game = row(turn_order="snake", max_rounds=2)
    state = position((0, 0, 1, 1, 1, 1), (1,) * 6, seat=1)._replace(round=2)
    over = play(game, play(game, state, EndTurn())._replace(phase="attack", units=0), EndTurn())
    assert (game.to_move(over), game.reason(over), game.ranks(over)) == (None, "round_limit", (2, 1))
    assert game.decode_state(game.encode_state(over)) == over


def test_the_first_draft_alone_has_the_units_of_the_config() -> None:
    game = row(first_draft=2)
    drafts = []
    state, _ = game.initial(Dice(bytes(32), 0))
    for _ in range(3):
        drafts.append((state.seat, state.units))
        state = play(game, play(game, state, game.legal_moves(state)[0]), EndTurn())
    assert drafts == [(0, 2), (1, 3), (0, 3)]


def test_a_config_comes_to_every_setting_in_full() -> None:
    config = Campaign({"preset": "paper", "map": ROW, "players": 3, "max_attacks": 5, "deal": DEAL}).config
    settings = {"draft": "territories", "battle": "deterministic", "max_attacks": 5, "initial_units": 1}
    assert config == {"map": row().map.encoded, "players": 3, **settings, "max_rounds": 100, "deal": DEAL}


def test_a_key_that_came_later_is_left_out_of_a_config_where_it_changes_nothing() -> None:
    assert Campaign({"turn_order": "fixed"}).config == Campaign({}).config
    assert "turn_order" not in Campaign({}).config
    assert Campaign({"turn_order": "snake"}).config["turn_order"] == "snake"


def test_a_deal_is_of_the_pool_whose_order_of_turns_it_has() -> None:
    for preset in ("grid", "grid-fair"):
        dealt = Campaign({"preset": preset, "deal": DEAL})
        assert (dealt.pool, dealt.pools) == (None, [f"risk-campaign/{preset}", f"risk-campaign/{preset}:people"])


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        ({"map": "atlantis"}, "there is no map 'atlantis'"),
        ({"players": 1}, "players is 1: it must be an integer from 2 to 6"),
        ({"map": "australia", "players": 5}, "players is 5, but the map has only 4 territories"),
        ({"draft": "free"}, "draft is 'free': one of territories, classic"),
        ({"battle": "chess"}, "battle is 'chess': one of dice, deterministic"),
        ({"max_attacks": 0}, "max_attacks is 0: it must be an integer from 1 to 20"),
        ({"first_draft": 0}, "first_draft is 0: it must be an integer from 1 to 100"),
        ({"initial_units": 101}, "initial_units is 101: it must be an integer from 1 to 100"),
        ({"max_rounds": 1001}, "max_rounds is 1001: it must be an integer from 1 to 1000"),
        ({"turn_order": "random"}, "turn_order is 'random': one of fixed, snake"),
        ({"deal": "12"}, "deal is '12': it must be null or 32 hex digits"),
        ({"deal": DEAL + "\n"}, "deal is '00112233445566778899aabbccddeeff"),
        ({"deal": 7}, "deal is 7: it must be null or 32 hex digits"),
        ({"deal": 0x10**4000}, "deal is something too long to show: it must be null"),
    ],
)
def test_a_config_out_of_range_is_answered_with_the_range(config: dict[str, Any], complaint: str) -> None:
    with pytest.raises(BadConfig) as why:
        Campaign(config)
    assert str(why.value).startswith(f"risk-campaign: {complaint}")
    assert len(str(why.value)) < 200


@pytest.mark.parametrize(
    ("owner", "territories", "classic"),
    [
        ((0, 1, 0, 1, 0, 1), 3, 3),
        ((0, 0, 1, 1, 1, 1), 2, 3 + 4),
        ((1, 0, 0, 0, 0, 0), 5, 3 + 2 + 1),
    ],
)
def test_a_draft_has_as_many_units_as_territories_or_as_the_classic_count(
    owner: tuple[int, ...], territories: int, classic: int
) -> None:
    for draft, units in (("territories", territories), ("classic", classic)):
        game = row(draft=draft)
        state = play(game, position(owner, (1,) * 6, seat=1), EndTurn())
        assert (state.phase, state.units, state.seat) == ("draft", units, 0)


def test_a_classic_draft_grows_with_every_third_territory() -> None:
    game = Campaign({"map": "grid-6x6", "draft": "classic"})
    assert play(game, position((0,) * 14 + (1,) * 22, (1,) * 36, seat=1), EndTurn()).units == 4


def test_a_draft_adds_its_units_and_the_attacks_begin() -> None:
    state = SPLIT._replace(phase="draft", units=3)
    after, event = row().apply(state, Draft(((0, 1), (2, 2))), NO_DICE)
    assert after == SPLIT._replace(troops=(2, 2, 7, 3, 1, 4), at=8)
    assert event.move == {"do": "draft", "units": [[0, 1], [2, 2]]}


def test_survivors_move_in_and_those_not_sent_stay_behind() -> None:
    after, event = row().apply(SPLIT, Attack(to=3, source=2, units=4), NO_DICE)
    assert after == SPLIT._replace(owner=(0, 0, 0, 0, 1, 1), troops=(1, 2, 1, 1, 1, 4), attacks_left=2, at=8)
    assert (event.result, event.dice) == ({"taken": True, "attackers": 1, "defenders": 0}, None)


def test_a_lost_attack_costs_all_that_were_sent() -> None:
    after, event = row().apply(SPLIT, Attack(to=3, source=2, units=2), NO_DICE)
    assert after == SPLIT._replace(troops=(1, 2, 3, 1, 1, 4), attacks_left=2, at=8)
    assert event.result == {"taken": False, "attackers": 0, "defenders": 1}


def test_a_battle_with_dice_tells_every_roll_and_what_is_left() -> None:
    game = row(battle="dice")
    for ply in range(50):
        after, event = game.apply(SPLIT._replace(at=ply), Attack(to=3, source=2, units=4), Dice(b"d", ply))
        assert event.dice is not None
        assert event.result is not None
        attackers, defenders = 4, 3
        for attack, defence in zip(event.dice[::2], event.dice[1::2], strict=True):
            assert (len(attack), len(defence)) == (min(3, attackers), min(2, defenders))
            for a, d in zip(sorted(attack)[::-1], sorted(defence)[::-1], strict=False):
                attackers, defenders = attackers - (a <= d), defenders - (a > d)
        assert event.result == {"taken": defenders == 0, "attackers": attackers, "defenders": defenders}
        assert after.troops[2:4] == (1, attackers or defenders)
        assert after.owner[3] == (0 if attackers else 1)


def test_a_battle_of_thousands_lists_no_more_dice_than_a_message_holds() -> None:
    state = position((0, 0, 0, 1, 1, 1), (1, 1, 2000, 2000, 1, 1))
    after, event = row(battle="dice").apply(state, Attack(3, 2, 1999), Dice(b"d", 7))
    assert event.dice is not None
    assert len(event.dice) == 2 * MAX_LISTED_ROUNDS
    assert (after.owner[3] == 0) == (event.result or {})["taken"]


def test_outcomes_are_those_of_the_battle_with_their_exact_chances() -> None:
    game, attack = row(battle="dice"), Attack(to=3, source=2, units=4)
    outcomes = game.outcomes(SPLIT, attack)
    chances = {(after.owner[3], after.troops[3]): chance for chance, after in outcomes}
    assert chances == {(0, a) if a else (1, d): chance for chance, a, d in battle_odds(4, 3)}
    assert sum(chances.values()) == 1
    rolled = {game.apply(SPLIT, attack, Dice(bytes([n]), 7))[0] for n in range(200)}
    assert rolled <= {after for _, after in outcomes}
    assert row().outcomes(SPLIT, attack) == ((Fraction(1), row().apply(SPLIT, attack, NO_DICE)[0]),)
    assert game.outcomes(SPLIT, EndTurn()) == ((Fraction(1), game.apply(SPLIT, EndTurn(), NO_DICE)[0]),)


def test_after_the_last_attack_the_turn_ends_by_itself() -> None:
    after = play(row(max_attacks=2), SPLIT._replace(attacks_left=1), Attack(3, 2, 1))
    assert (after.seat, after.phase, after.units, after.attacks_left, after.round) == (1, "draft", 3, 2, 1)


def test_an_attack_that_does_not_end_the_turn_leaves_it_where_it_is() -> None:
    assert play(row(), SPLIT, Attack(3, 2, 1)).seat == 0


def test_a_round_ends_when_the_turn_comes_back_past_the_last_seat_still_in() -> None:
    game = row(players=3)
    state = position((0, 0, 1, 1, 2, 2), (2,) * 6)
    second = play(game, state, EndTurn())
    third = play(game, second._replace(phase="attack"), EndTurn())
    fourth = play(game, third._replace(phase="attack"), EndTurn())
    assert [(s.seat, s.round) for s in (second, third, fourth)] == [(1, 1), (2, 1), (0, 2)]
    after_out = play(game, second._replace(phase="attack", out=(2,)), EndTurn())
    assert (after_out.seat, after_out.round) == (0, 2)


def test_a_seat_without_territories_is_out_and_its_turns_are_skipped() -> None:
    game = row(players=3)
    state = position((0, 0, 0, 1, 2, 2), (1, 1, 9, 1, 1, 1))
    after = play(game, state, Attack(3, 2, 8))
    assert (after.out, after.seat, game.to_move(after)) == ((1,), 0, 0)
    assert play(game, after, EndTurn()).seat == 2


def test_the_last_seat_wins_at_once_even_with_its_last_attack() -> None:
    game = row(players=3)
    state = position((0, 0, 0, 0, 0, 2), (1, 1, 1, 1, 9, 1), out=(1,), attacks_left=1)
    after = play(game, state, Attack(5, 4, 8))
    assert (game.to_move(after), game.legal_moves(after), after.out) == (None, (), (1, 2))
    assert (game.ranks(after), game.reason(after)) == ((1, 3, 2), "win")
    assert (after.seat, after.phase, after.round) == (0, "attack", 1), "no further turn begins"
    assert refused(game, after, EndTurn()) == "the game is over"


def test_a_seat_that_drops_out_leaves_its_troops_as_defenders_that_never_act() -> None:
    game = row(players=3)
    state = position((0, 0, 1, 1, 2, 2), (9, 9, 1, 1, 2, 2))
    dropped = game.remove_seat(state, 1)
    assert dropped == state._replace(out=(1,))
    assert play(game, dropped, EndTurn()).seat == 2
    taken = play(game, dropped, Attack(2, 1, 8), Attack(3, 2, 6))
    assert (taken.out, taken.owner, game.to_move(taken)) == ((1,), (0, 0, 0, 0, 2, 2), 0)


def test_a_seat_that_drops_out_in_its_turn_passes_it_on() -> None:
    game = row(players=3)
    state = position((0, 0, 1, 1, 2, 2), (2,) * 6, seat=2, attacks_left=1)
    after = game.remove_seat(state, 2)
    assert (after.out, after.seat, after.phase, after.units, after.attacks_left, after.round, after.at) == (
        (2,), 0, "draft", 2, 3, 2, state.at,
    )  # fmt: skip


def test_the_last_active_seat_wins_whatever_it_holds() -> None:
    game = row(players=3)
    state = game.remove_seat(game.remove_seat(position((0, 1, 1, 1, 2, 2), (1,) * 6, seat=1), 1), 2)
    assert (game.to_move(state), game.ranks(state), game.reason(state)) == (None, (1, 3, 2), "win")
    assert game.decode_state(game.encode_state(state)) == state


def test_a_seat_that_is_out_already_can_vanish_without_a_trace() -> None:
    state = position((0, 0, 0, 0, 2, 2), (2,) * 6, out=(1,))
    assert row(players=3).remove_seat(state, 1) == state


@pytest.mark.parametrize(
    ("owner", "troops", "out", "ranks", "reason"),
    [
        ((0, 0, 0, 0, 1, 2), (1, 1, 1, 1, 9, 9), (), (1, 2, 2), "round_limit"),
        ((0, 0, 1, 1, 2, 2), (1, 1, 2, 1, 1, 3), (), (3, 2, 1), "round_limit"),
        ((0, 0, 1, 1, 2, 2), (1, 1, 1, 1, 1, 1), (), (1, 1, 1), "draw"),
        ((0, 0, 0, 1, 1, 2), (1, 1, 9, 1, 1, 1), (0,), (3, 1, 2), "round_limit"),
    ],
)
def test_at_the_round_limit_active_seats_rank_by_territories_then_units(
    owner: tuple[int, ...], troops: tuple[int, ...], out: tuple[int, ...], ranks: tuple[int, ...], reason: str
) -> None:
    game = row(players=3, max_rounds=5)
    last = position(owner, troops, out=out, seat=2, round=5)
    assert game.to_move(last) == 2
    after = play(game, last, EndTurn())
    assert (game.to_move(after), game.legal_moves(after)) == (None, ())
    assert (game.ranks(after), game.reason(after)) == (ranks, reason)
    assert game.decode_state(game.encode_state(after)) == after


def test_the_offer_holds_one_draft_and_says_what_others_there_are() -> None:
    game = row()
    state = SPLIT._replace(phase="draft", units=3)
    legal, options = game.legal_moves_for_turn(state)
    assert legal == [{"do": "draft", "units": [[2, 3]]}]
    assert options == {"do": "draft", "units": 3, "territories": [0, 1, 2]}
    assert play(game, state, game.decode_move(legal[0])).phase == "attack"


def test_the_offer_holds_every_attack_with_the_most_units_and_the_end() -> None:
    state = position((0, 0, 1, 0, 1, 1), (1, 4, 3, 2, 1, 4))
    legal, options = row().legal_moves_for_turn(state)
    assert legal == [
        {"do": "attack", "from": 1, "to": 2, "units": 3},
        {"do": "attack", "from": 3, "to": 2, "units": 1},
        {"do": "attack", "from": 3, "to": 4, "units": 1},
        {"do": "end"},
    ]
    most = [{"from": 1, "to": 2, "max_units": 3}, {"from": 3, "to": 2, "max_units": 1}]
    assert options == {"attacks": [*most, {"from": 3, "to": 4, "max_units": 1}]}


def test_a_random_draft_is_each_split_of_the_units_equally_often() -> None:
    game = row()
    state = SPLIT._replace(phase="draft", units=3)
    drawn: Counter[Move] = Counter()
    for draw in product(range(4), range(5)):  # three units and two bars: every draw there can be, once each
        drawn[game.sample_move(state, dict(zip((4, 5), draw, strict=True)).__getitem__)] += 1
    assert len(drawn) == 10
    assert set(drawn.values()) == {2}
    for move in drawn:
        play(game, state, move)


def test_a_random_attack_is_each_source_target_and_number_equally_often() -> None:
    game = row()
    state = position((0, 0, 1, 0, 1, 1), (1, 4, 3, 2, 1, 4))
    drawn = [game.sample_move(state, lambda n, k=k: k) for k in range(6)]
    assert drawn == [Attack(2, 1, 1), Attack(2, 1, 2), Attack(2, 1, 3), Attack(2, 3, 1), Attack(4, 3, 1), EndTurn()]
    bounds: list[int] = []
    game.sample_move(state, lambda n: bounds.append(n) or 0)
    assert bounds == [6]


@pytest.mark.parametrize(
    ("draft", "why"),
    [
        (((0, 2), (2, 2)), "the draft places 4 units: there are exactly 3 to place"),
        ((), "the draft places 0 units: there are exactly 3 to place"),
        (((0, 1), (6, 2)), "there is no territory 6: they are 0 to 5"),
        (((-1, 3),), "there is no territory -1: they are 0 to 5"),
        (((0, 1), (0, 2)), "territory 0 (A) is there twice: a draft has each territory once"),
        (((0, 4), (1, -1)), "territory 1 (B) gets -1 units: at least 1, or leave it out"),
        (((0, 3), (1, 0)), "territory 1 (B) gets 0 units: at least 1, or leave it out"),
        (((3, 3),), "territory 3 (D), seat 1's with 3 troops, is not yours to draft on; yours: 0, 1, 2"),
    ],
)
def test_an_illegal_draft_is_answered_with_what_would_be_legal(draft: tuple[tuple[int, int], ...], why: str) -> None:
    assert refused(row(), SPLIT._replace(phase="draft", units=3), Draft(draft)) == why


@pytest.mark.parametrize(
    ("attack", "why"),
    [
        (Attack(6, 2, 1), "there is no territory 6: they are 0 to 5"),
        (Attack(3, 6, 1), "there is no territory 6: they are 0 to 5"),
        (Attack(3, -1, 1), "there is no territory -1: they are 0 to 5"),
        (Attack(2, 3, 1), "territory 3 (D), seat 1's with 3 troops, is not yours to attack from; can attack: 2"),
        (Attack(4, 2, 1), "territory 2 (C) has no border with 4 (E); enemies next to 2: 3"),
        (Attack(2, 2, 1), "territory 2 (C) has no border with 2 (C); enemies next to 2: 3"),
        (Attack(0, 1, 1), "territory 0 (A), seat 0's with 1 troop, is your own; enemies next to 1: none"),
        (Attack(3, 2, 5), "territory 2 (C), seat 0's with 5 troops, can attack with 1 to 4 units, not 5"),
        (Attack(3, 2, 0), "territory 2 (C), seat 0's with 5 troops, can attack with 1 to 4 units, not 0"),
    ],
)
def test_an_illegal_attack_is_answered_with_what_would_be_legal(attack: Attack, why: str) -> None:
    assert refused(row(), SPLIT, attack) == why


def test_one_troop_always_stays_behind() -> None:
    state = position((0, 1, 0, 1, 1, 1), (2, 3, 1, 1, 1, 2))
    assert play(row(), state, Attack(1, 0, 1)).troops[0] == 1
    why = refused(row(), state, Attack(1, 0, 2))
    assert why == "territory 0 (A), seat 0's with 2 troops, can attack with 1 to 1 units, not 2"
    why = refused(row(), state, Attack(1, 2, 1))
    assert why == "territory 2 (C), seat 0's with 1 troop, cannot attack: 1 has to stay behind; can attack: 0"
    single = state._replace(troops=(1,) * 6)
    assert row().legal_moves(single) == [EndTurn()]
    assert refused(row(), single, Attack(1, 2, 1)).endswith("; can attack: none")


def test_a_turn_is_a_draft_and_then_attacks() -> None:
    drafting = SPLIT._replace(phase="draft", units=3)
    for move in (Attack(3, 2, 4), EndTurn()):
        assert refused(row(), drafting, move).startswith("a turn begins with a draft: 3 units to place, as in {")
    assert refused(row(), SPLIT, Draft(((0, 3),))) == "the draft of this turn is done: attack (3 left) or end"


def test_refusals_stay_short_on_a_map_of_many_long_names() -> None:
    names = [f"{i:02}{'x' * 38}" for i in range(100)]
    land = {
        "name": "long",
        "territories": [{"name": name, "continent": 0, "x": 0, "y": i} for i, name in enumerate(names)],
        "continents": [{"name": "All", "bonus": 0}],
        "borders": [[i, j] for j in range(1, 100) for i in range(min(j, 10))],
    }
    game = Campaign({"map": land})
    state = position((0, 1) * 50, (99_999,) * 100)
    attacks = (Attack(3, 1, 1), Attack(2, 0, 1), Attack(0, 0, 1), Attack(1, 0, 10**9))
    drafts = (((99, 1),), ((98, 1), (98, 2)), ((98, -(2**60)),), ((98, 2**60),))
    said = [refused(game, state, attack) for attack in attacks]
    said += [refused(game, state._replace(phase="draft", units=50), Draft(draft)) for draft in drafts]
    assert max(map(len, said)) < 200
    assert said[0].startswith("territory 1 (01xxxxxxxxxxxxxxxxxxxxx…), seat 1's with 99999 troops, is not yours")
    assert sum("and 42 more" in why for why in said) == 4, "of long lists only the beginning is told"


@pytest.mark.parametrize(
    ("wire", "complaint"),
    [
        ({"do": "draft"}, 'a move looks like {"do": "draft"'),
        ({"do": "draft", "units": 3}, "units is 3: a list of pairs, as in"),
        ({"do": "draft", "units": {"0": 3}}, "units is {'0': 3}: a list of pairs"),
        ({"do": "draft", "units": [[0, 1], [2]]}, "units[1] is [2]: a territory and a number"),
        ({"do": "draft", "units": [[0, True]]}, "units[0] is [0, True]: a territory and a number"),
        ({"do": "draft", "units": [[0, 1]], "to": 3}, 'a move looks like {"do": "draft"'),
        ({"do": "attack", "from": 1, "to": 2}, 'a move looks like {"do": "attack"'),
        ({"do": "attack", "from": 1, "to": 2, "units": "all"}, "units is 'all': it is an integer, as in"),
        ({"do": "end", "now": 1}, 'a move looks like {"do": "end"}'),
        ({"do": "pass"}, "do is 'pass': it is one of draft, attack, end, as in"),
    ],
)
def test_a_malformed_move_is_answered_with_the_form(wire: dict[str, Any], complaint: str) -> None:
    with pytest.raises(MalformedMove) as why:
        row().decode_move(wire)
    assert str(why.value).startswith(complaint)
    assert len(str(why.value)) < 200


def test_the_order_of_a_draft_is_of_no_account() -> None:
    given = {"do": "draft", "units": [[2, 2], [0, 1]]}
    assert row().decode_move(given) == Draft(((0, 1), (2, 2)))


def test_moves_of_different_kinds_are_never_equal() -> None:
    moves: list[Move] = [Draft(()), Draft(((0, 1),)), Draft(((0, 1), (1, 2), (2, 3))), Attack(0, 1, 2), EndTurn()]
    assert len(set(moves)) == len(moves)


@pytest.mark.parametrize(
    ("move", "wire", "written"),
    [
        (Draft(((1, 1), (2, 3))), {"do": "draft", "units": [[1, 1], [2, 3]]}, "draft Peru+1 Brazil+3"),
        (Attack(to=1, source=2, units=5), {"do": "attack", "from": 2, "to": 1, "units": 5}, "Brazil > Peru 5"),
        (EndTurn(), {"do": "end"}, "end"),
    ],
)
def test_a_move_travels_in_its_form_and_is_written_briefly(move: Move, wire: dict[str, Any], written: str) -> None:
    game = Campaign({"map": "south-america"})
    assert game.encode_move(move) == wire
    assert (type(game.decode_move(wire)), game.decode_move(wire)) == (type(move), move)
    assert game.notation(move) == written


def test_of_a_long_draft_the_beginning_is_written() -> None:
    long = load_game("risk-campaign").notation(Draft(tuple((at, 1) for at in range(18))))
    assert long.endswith(" and 14 more")


def test_the_board_says_whose_turn_it_is_and_how_far_the_game_has_come() -> None:
    game = row(players=3, max_rounds=9)
    state = position((0, 0, 1, 1, 2, 2), (2,) * 6, round=4)
    last = [
        game.draw_board(s).splitlines()[-1]
        for s in (state, state._replace(phase="draft", units=5), game.remove_seat(state, 2))
    ]
    assert last == [
        "round 4 of 9: seat 0 attacks, 3 left",
        "round 4 of 9: seat 0 drafts 5",
        "round 4 of 9: seat 0 attacks, 3 left; out: 2",
    ]
    over = game.remove_seat(game.remove_seat(state, 2), 1)
    assert game.draw_board(over).splitlines()[-1] == "round 4 of 9: over; out: 2, 1"


def test_a_state_that_does_not_fit_the_map_is_refused() -> None:
    game = row()
    wire = game.encode_state(SPLIT)
    with pytest.raises(ValueError, match="5 owners and 6 troops on 6 territories"):
        game.decode_state({**wire, "owner": wire["owner"][:5]})


def test_positions_that_differ_in_their_ply_alone_are_the_same_to_a_search() -> None:
    game = row(players=3)
    assert game.key(SPLIT) == game.key(SPLIT._replace(at=9))
    for other in (SPLIT._replace(seat=1), SPLIT._replace(out=(1,)), SPLIT._replace(troops=(9, 1, 1, 1, 1, 1))):
        assert game.key(other) != game.key(SPLIT)
