"""The rules of bounded Risk: what each action does, who wins, what is refused in which words, which configs play."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from games.risk.rules.duel import NO_OWNER, Action, Duel, Position
from games.risk.rules.text import draw_map
from protocol.dice import Dice
from protocol.errors import BadConfig, IllegalMove, MalformedMove
from protocol.games.base import NO_DICE
from protocol.messages import Event

SOUTH_AMERICA = Duel({})
VENEZUELA, PERU, BRAZIL, ARGENTINA = range(4)


class Rolled(Dice):
    """Dice that show what they are told to, one after the other."""

    def __init__(self, *faces: int) -> None:
        super().__init__(b"", 0)
        self._faces = list(faces)

    def choice(self, purpose: str, count: int) -> int:
        assert (purpose, count) == ("attack", 6)
        return self._faces.pop(0) - 1


def at(owner: Sequence[int], troops: Sequence[int], seat: int = 0, ply: int = 10) -> Position:
    return Position(tuple(owner), tuple(troops), seat, ply)


def invade(to: int) -> Action:
    return Action("invade", to)


def reinforce(to: int) -> Action:
    return Action("reinforce", to)


def attack(source: int, to: int) -> Action:
    return Action("attack", to, source)


def after(state: Position, move: Action, *faces: int, game: Duel = SOUTH_AMERICA) -> Position:
    return game.apply(state, move, Rolled(*faces))[0]


def actions(state: Position, game: Duel = SOUTH_AMERICA) -> set[str]:
    return {move.do for move in game.legal_moves(state)}


SPLIT = at((0, 0, 1, 1), (3, 5, 3, 4))
"""Nothing is free: seat 0 has Venezuela and Peru, seat 1 Brazil and Argentina."""


# What each action does


def test_all_territories_begin_unoccupied_and_seat_0_begins() -> None:
    state, deal = SOUTH_AMERICA.initial(NO_DICE)
    assert deal is None
    assert state == at((NO_OWNER,) * 4, (0,) * 4, ply=0)
    assert SOUTH_AMERICA.to_move(state) == 0
    assert SOUTH_AMERICA.legal_moves(state) == [invade(to) for to in range(4)]


def test_an_invasion_brings_three_troops_to_a_free_territory() -> None:
    state = at((0, NO_OWNER, 1, NO_OWNER), (3, 0, 3, 0), seat=1, ply=5)
    assert after(state, invade(PERU)) == at((0, 1, 1, NO_OWNER), (3, 3, 3, 0), seat=0, ply=6)


def test_the_first_invasions_bring_the_armies_of_the_config_and_later_ones_three_troops() -> None:
    game = Duel({"map": "south-america", "armies": [2, 5, 4]})
    state = game.initial(NO_DICE)[0]
    for to in range(4):
        state = after(state, invade(to), game=game)
    assert state.troops == (2, 5, 4, 3)
    freed = at((0, NO_OWNER, 1, 1), (2, 0, 4, 3))
    assert after(freed, invade(PERU), game=game).troops == (2, 3, 4, 3)


def test_armies_are_left_out_of_a_config_that_has_none() -> None:
    assert Duel({"armies": []}).config == SOUTH_AMERICA.config
    assert Duel({"armies": [3, 4]}).config["armies"] == [3, 4]
    assert Duel({"armies": 4}).armies == (4,)


def test_while_a_territory_is_free_only_the_free_ones_can_be_invaded_and_nothing_else_be_done() -> None:
    state = at((0, NO_OWNER, 1, NO_OWNER), (9, 0, 3, 0))
    assert SOUTH_AMERICA.legal_moves(state) == [invade(PERU), invade(ARGENTINA)]


def test_a_free_territory_can_be_invaded_from_nowhere() -> None:
    assert after(at((NO_OWNER, 1, 1, 1), (0, 3, 3, 3)), invade(VENEZUELA)).owner == (0, 1, 1, 1)


def test_when_nothing_is_free_a_seat_reinforces_or_attacks_in_the_order_of_the_territories() -> None:
    assert SOUTH_AMERICA.legal_moves(SPLIT) == [
        reinforce(VENEZUELA),
        reinforce(PERU),
        attack(VENEZUELA, BRAZIL),
        attack(PERU, BRAZIL),
        attack(PERU, ARGENTINA),
    ]


def test_a_reinforcement_brings_two_troops() -> None:
    assert after(SPLIT, reinforce(VENEZUELA)) == at((0, 0, 1, 1), (5, 5, 3, 4), seat=1, ply=11)


def test_a_reinforcement_never_passes_the_most_a_territory_can_hold() -> None:
    state = at((0, 0, 1, 1), (9, 10, 3, 3))
    assert after(state, reinforce(VENEZUELA)).troops[VENEZUELA] == 10
    assert reinforce(PERU) not in SOUTH_AMERICA.legal_moves(state), "it is full"
    low = Duel({"max_troops": 3})
    assert after(at((0, 0, 1, 1), (2, 3, 3, 3)), reinforce(VENEZUELA), game=low).troops[VENEZUELA] == 3


def test_an_attack_needs_at_least_as_many_troops_as_it_meets() -> None:
    for troops, legal in ((2, False), (3, True), (4, True)):
        state = at((0, 0, 1, 1), (troops, 1, 3, 9))
        assert (attack(VENEZUELA, BRAZIL) in SOUTH_AMERICA.legal_moves(state)) is legal


def test_an_attack_crosses_a_border() -> None:
    state = at((0, 0, 0, 1), (9, 9, 9, 1))
    attacks = [move for move in SOUTH_AMERICA.legal_moves(state) if move.do == "attack"]
    assert attacks == [attack(PERU, ARGENTINA), attack(BRAZIL, ARGENTINA)], "Venezuela does not touch Argentina"


def test_one_troop_may_attack_one_troop() -> None:
    state = at((0, 0, 0, 1), (1, 1, 1, 1))
    assert after(state, attack(PERU, ARGENTINA), 6, 1).owner == (0, 0, 0, 0)
    assert after(state, attack(PERU, ARGENTINA), 1, 6).owner == (0, NO_OWNER, 0, 1)


def test_a_won_attack_leaves_one_troop_on_what_it_took_and_its_source_unchanged() -> None:
    assert after(SPLIT, attack(PERU, ARGENTINA), 4, 3) == at((0, 0, 1, 0), (3, 5, 3, 1), seat=1, ply=11)


@pytest.mark.parametrize("faces", [(3, 3), (1, 6)])
def test_a_lost_attack_costs_the_source_as_many_troops_as_it_met(faces: tuple[int, int]) -> None:
    assert after(SPLIT, attack(PERU, ARGENTINA), *faces) == at((0, 0, 1, 1), (3, 1, 3, 4), seat=1, ply=11)


def test_an_equal_attack_that_is_lost_frees_its_source_and_reopens_invasions() -> None:
    state = after(SPLIT, attack(VENEZUELA, BRAZIL), 2, 5)
    assert state == at((NO_OWNER, 0, 1, 1), (0, 5, 3, 4), seat=1, ply=11)
    assert SOUTH_AMERICA.legal_moves(state) == [invade(VENEZUELA)]
    assert actions(after(state, invade(VENEZUELA))) == {"reinforce", "attack"}


def test_the_attackers_die_is_rolled_first_and_only_a_higher_one_wins() -> None:
    for attacker, defender in product(range(1, 7), repeat=2):
        _, event = SOUTH_AMERICA.apply(SPLIT, attack(PERU, ARGENTINA), Rolled(attacker, defender))
        assert event.dice == [[attacker], [defender]]
        assert event.result == {"taken": attacker > defender}
        assert event.move == {"do": "attack", "from": PERU, "to": ARGENTINA}
        assert (event.ply, event.seat) == (10, 0)


@pytest.mark.parametrize(
    ("state", "move", "event"),
    [
        (SPLIT, reinforce(PERU), Event(ply=10, seat=0, move={"do": "reinforce", "at": 1})),
        (
            at((0, NO_OWNER, 1, 1), (3, 0, 3, 3), 1, 7),
            invade(PERU),
            Event(ply=7, seat=1, move={"do": "invade", "to": 1}),
        ),
    ],
)
def test_an_action_without_chance_is_an_event_of_its_ply_seat_and_move(
    state: Position, move: Action, event: Event
) -> None:
    assert SOUTH_AMERICA.apply(state, move, NO_DICE)[1] == event


def test_the_outcomes_of_an_attack_are_those_of_all_36_rolls_each_as_often() -> None:
    for move in SOUTH_AMERICA.legal_moves(SPLIT):
        rolls = [after(SPLIT, move, *faces) for faces in product(range(1, 7), repeat=2)]
        counted = {state: Fraction(rolls.count(state), 36) for state in rolls}
        outcomes = SOUTH_AMERICA.outcomes(SPLIT, move)
        assert {state: chance for chance, state in outcomes} == counted
        assert len(outcomes) == (2 if move.do == "attack" else 1)
    assert SOUTH_AMERICA.outcomes(SPLIT, attack(VENEZUELA, BRAZIL))[0][0] == Fraction(15, 36)


# How it ends


def test_who_owns_every_territory_wins() -> None:
    state = after(at((0, 0, 0, 1), (3, 3, 3, 2)), attack(BRAZIL, ARGENTINA), 6, 5)
    assert SOUTH_AMERICA.to_move(state) is None
    assert SOUTH_AMERICA.legal_moves(state) == ()
    assert SOUTH_AMERICA.ranks(state) == (1, 2)
    assert SOUTH_AMERICA.reason(state) == "win"
    lost = at((1, 1, 1, 1), (1, 1, 1, 1))
    assert SOUTH_AMERICA.ranks(lost) == (2, 1)


def test_an_invasion_of_the_last_free_territory_can_win() -> None:
    state = after(at((0, 0, NO_OWNER, 0), (3, 3, 0, 3)), invade(BRAZIL))
    assert SOUTH_AMERICA.ranks(state) == (1, 2)


def test_who_owns_everything_else_has_not_won_while_a_territory_is_free() -> None:
    state = at((0, 0, NO_OWNER, 0), (3, 3, 0, 3), seat=1)
    assert SOUTH_AMERICA.to_move(state) == 1
    assert SOUTH_AMERICA.to_move(at((NO_OWNER,) * 4, (0,) * 4)) == 0, "nobody owns everything at the start"


def test_a_seat_without_territories_is_back_when_one_becomes_free() -> None:
    state = after(at((0, 0, NO_OWNER, 0), (3, 3, 0, 3), seat=1), invade(BRAZIL))
    assert state.owner == (0, 0, 1, 0)
    assert SOUTH_AMERICA.to_move(state) == 0


def test_the_last_ply_without_a_winner_is_a_draw_by_the_ply_limit() -> None:
    game = Duel({"max_plies": 11})
    assert game.to_move(SPLIT) == 0
    state = after(SPLIT, reinforce(PERU), game=game)
    assert game.to_move(state) is None
    assert game.legal_moves(state) == ()
    assert game.ranks(state) == (1, 1)
    assert game.reason(state) == "ply_limit"


def test_who_owns_everything_by_the_last_ply_wins() -> None:
    game = Duel({"max_plies": 11})
    state = after(at((0, 0, 0, 1), (3, 3, 3, 2)), attack(BRAZIL, ARGENTINA), 6, 5, game=game)
    assert state.at == 11
    assert game.ranks(state) == (1, 2)
    assert game.reason(state) == "win"


@pytest.mark.parametrize("cap", [3, 4])
def test_whoever_is_to_move_has_a_move_in_every_position_of_a_full_board(cap: int) -> None:
    game = Duel({"max_troops": cap})
    for owner in product((0, 1), repeat=4):
        for troops in product(range(1, cap + 1), repeat=4):
            for seat in (0, 1):
                state = at(owner, troops, seat)
                assert bool(game.legal_moves(state)) == (game.to_move(state) is not None)


# What is refused


LATE = at((0, 1, 0, 1), (10, 3, 2, 4))


@pytest.mark.parametrize(
    ("move", "said"),
    [
        (invade(PERU), "1 (Peru) is seat 1's with 3 troops, not free"),
        (reinforce(PERU), "1 (Peru) is seat 1's with 3 troops, not yours to reinforce"),
        (reinforce(VENEZUELA), "0 (Venezuela) is seat 0's with 10 troops, the most it can hold"),
        (attack(PERU, VENEZUELA), "1 (Peru) is seat 1's with 3 troops, not yours to attack from"),
        (attack(VENEZUELA, BRAZIL), "2 (Brazil) is seat 0's with 2 troops, your own"),
        (attack(BRAZIL, BRAZIL), "2 (Brazil) is seat 0's with 2 troops, your own"),
        (
            attack(VENEZUELA, ARGENTINA),
            "0 (Venezuela) is seat 0's with 10 troops and has no border with 3 (Argentina)",
        ),
        (
            attack(BRAZIL, PERU),
            "2 (Brazil) is seat 0's with 2 troops: 1 (Peru) has 3, and an attack needs as many",
        ),
    ],
)
def test_a_refusal_says_whose_a_territory_is_with_how_many_troops_and_what_would_be_legal(
    move: Action, said: str
) -> None:
    assert refused(LATE, move) == f"{said}; legal: reinforce 2; attack 0-1"


def refused(state: Position, move: Action) -> str:
    with pytest.raises(IllegalMove) as why:
        SOUTH_AMERICA.apply(state, move, NO_DICE)
    return str(why.value)


@pytest.mark.parametrize(
    ("move", "said"),
    [
        (invade(BRAZIL), "2 (Brazil) is seat 1's with 1 troop, not free"),
        (
            reinforce(VENEZUELA),
            "0 (Venezuela) is seat 0's with 3 troops: no reinforce while a territory is free",
        ),
        (attack(VENEZUELA, PERU), "1 (Peru) is nobody's: no attack while a territory is free"),
    ],
)
def test_while_a_territory_is_free_a_refusal_names_those_that_are(move: Action, said: str) -> None:
    assert refused(at((0, NO_OWNER, 1, NO_OWNER), (3, 0, 1, 0)), move) == f"{said}; legal: invade 1, 3"


def test_a_refusal_says_which_territories_there_are_and_when_all_is_over() -> None:
    for move, territory in ((reinforce(4), 4), (attack(0, -1), -1), (attack(4, 0), 4)):
        assert refused(LATE, move) == f"there is no territory {territory}: they are 0 to 3"
    assert refused(at((0, 0, 0, 0), (1, 1, 1, 1), seat=1), reinforce(0)) == "the game is over"


def test_a_refusal_names_twelve_legal_moves_of_a_kind_and_counts_the_others() -> None:
    with pytest.raises(IllegalMove) as refused:
        Duel({"map": "grid-6x6"}).apply(at((1, *(NO_OWNER,) * 35), (3, *(0,) * 35)), invade(0), NO_DICE)
    assert str(refused.value).endswith("legal: invade 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 and 23 more")


def large_map() -> dict[str, Any]:
    """A hundred territories with the longest names, each with many neighbours."""
    return {
        "name": "large",
        "continents": [{"name": "all", "bonus": 0}],
        "territories": [{"name": f"{'W' * 37} {i:02}", "continent": 0, "x": i, "y": i % 10 * 10} for i in range(100)],
        "borders": [[a, b] for a in range(100) for b in range(a + 1, min(a + 9, 100))],
    }


def test_a_refusal_is_one_line_under_200_characters_on_the_largest_map() -> None:
    game = Duel({"map": large_map(), "max_troops": 100})
    spread, armies = [(0, 1, 1, 0)[i % 4] for i in range(100)], [97 + i * 7 % 100 % 4 for i in range(100)]
    full = at(spread, armies)
    states = [full, full._replace(seat=1), at([*spread[:-1], NO_OWNER], [*armies[:-1], 0])]
    every = [*(Action(do, to) for do in ("invade", "reinforce") for to in range(-1, 101))]
    every += [attack(source, to) for source in range(85, 101) for to in range(85, 101)]
    longest = 0
    for state in states:
        legal = set(game.legal_moves(state))
        for move in every:
            if move not in legal:
                with pytest.raises(IllegalMove) as refused:
                    game.apply(state, move, NO_DICE)
                said = str(refused.value)
                assert said.isprintable()
                assert len(said) < 200
                assert "legal: " in said or "there is no territory" in said
                longest = max(longest, len(said))
    assert longest > 180, "as much is said as there is room for"


@pytest.mark.parametrize(
    ("wire", "said"),
    [
        (7, r'a move is a map like \{"do": "invade", "to": 0\}, not 7'),
        ({}, "do is None: it is one of invade, reinforce, attack"),
        ({"do": "fortify", "to": 1}, "do is 'fortify': it is one of invade, reinforce, attack"),
        ({"do": ["attack"], "from": 0, "to": 1}, r"do is \['attack'\]"),
        ({"do": "invade", "at": 1}, r'a move looks like \{"do": "invade", "to": 0\}; this one has at, do'),
        ({"do": "reinforce", "to": 1}, r'a move looks like \{"do": "reinforce", "at": 0\}; this one has do, to'),
        ({"do": "attack", "to": 1}, r'a move looks like \{"do": "attack", "from": 0, "to": 1\}; this one has do, to'),
        ({"do": "attack", "from": 0, "to": 1, "units": 3}, "this one has do, from, to, units"),
        ({"do": "attack", "from": "Peru", "to": 1}, "from is 'Peru': it is an integer"),
        ({"do": "invade", "to": True}, "to is True: it is an integer"),
        ({"do": "invade", "to": 1.0}, "to is 1.0: it is an integer"),
    ],
)
def test_a_malformed_move_is_refused_with_its_form(wire: Any, said: str) -> None:
    with pytest.raises(MalformedMove, match=said) as refused:
        SOUTH_AMERICA.decode_move(wire)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"max_troops": 2}, "max_troops is 2: it must be an integer from 3 to 100"),
        ({"max_troops": 101}, "max_troops is 101: it must be an integer from 3 to 100"),
        ({"max_troops": "ten"}, "max_troops is 'ten': it must be an integer"),
        ({"max_troops": True}, "max_troops is True: it must be an integer"),
        ({"max_troops": 10.0}, "max_troops is 10.0: it must be an integer"),
        ({"max_troops": None}, "max_troops is None: it must be an integer"),
        ({"max_plies": 0}, "max_plies is 0: it must be an integer from 1 to 10000"),
        ({"max_plies": 10_001}, "max_plies is 10001: it must be an integer from 1 to 10000"),
        ({"max_plies": [400]}, r"max_plies is \[400\]: it must be an integer"),
        ({"armies": [3, 3, 3, 4]}, r"armies is \[3, 3, 3, 4\]: it must be a list of 0 to 3 integers"),
        ({"armies": [3, 11]}, r"armies\[1\] is 11: it must be an integer from 1 to 10"),
        ({"map": "atlantis"}, "there is no map 'atlantis': one of south-america, .*, or a file: map=@my.toml"),
        ({"map": 4}, "map is 4: it must be a name or a table"),
        ({"map": None}, "map is None: it must be a name or a table"),
        ({"map": {}}, "map has no name"),
        (
            {"map": {**large_map(), "borders": []}},
            r"the map has 100 separate parts: no path leads from W{37} 00 to W{37} 01",
        ),
        ({"map": {**large_map(), "territories": large_map()["territories"][:1]}}, "there are 1 territories: 2 to 100"),
        (
            {"map": {**large_map(), "borders": [[0, 100]]}},
            r"borders\[0\] names the territory 100, which does not exist",
        ),
        ({"players": 3}, "has no config key 'players': one of map, max_troops, max_plies, armies, preset"),
    ],
)
def test_a_bad_config_is_refused_with_its_range(config: dict[str, Any], said: str) -> None:
    with pytest.raises(BadConfig, match=f"^risk-duel:? .*{said}|^risk-duel:? {said}") as refused:
        Duel(config)
    assert len(str(refused.value)) < 200


# How it travels


def test_a_config_is_complete_and_writes_its_map_out() -> None:
    config = SOUTH_AMERICA.config
    assert list(config) == ["map", "max_troops", "max_plies"]
    assert config["map"]["borders"] == [[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]]
    assert [place["name"] for place in config["map"]["territories"]] == ["Venezuela", "Peru", "Brazil", "Argentina"]
    assert Duel(config).config == config
    assert Duel(config).preset == "south-america"
    assert Duel({"map": large_map()}).preset is None


@pytest.mark.parametrize(
    ("move", "wire", "written"),
    [
        (invade(PERU), {"do": "invade", "to": 1}, "invade Peru"),
        (reinforce(PERU), {"do": "reinforce", "at": 1}, "reinforce Peru"),
        (attack(PERU, BRAZIL), {"do": "attack", "from": 1, "to": 2}, "Peru > Brazil"),
    ],
)
def test_a_move_travels_with_its_name_and_is_written_in_words(move: Action, wire: dict[str, Any], written: str) -> None:
    assert SOUTH_AMERICA.encode_move(move) == wire
    assert SOUTH_AMERICA.decode_move(wire) == move
    assert SOUTH_AMERICA.notation(move) == written


def test_a_state_travels_as_owners_and_troops() -> None:
    wire = {"owner": (0, 0, 1, 1), "troops": (3, 5, 3, 4), "to_move": 0, "ply": 10}
    assert SOUTH_AMERICA.encode_state(SPLIT) == wire
    assert SOUTH_AMERICA.decode_state(wire) == SPLIT
    assert SOUTH_AMERICA.decode_state({**wire, "to_move": 1, "ply": 11}).seat == 1
    with pytest.raises(ValueError, match="3 owners and 4 troops on 4 territories"):
        SOUTH_AMERICA.decode_state({**wire, "owner": (0, 0, 1)})


def test_the_same_position_at_another_ply_has_the_same_key() -> None:
    later = SPLIT._replace(at=12)
    assert later != SPLIT
    assert SOUTH_AMERICA.key(later) == SOUTH_AMERICA.key(SPLIT)
    assert SOUTH_AMERICA.key(SPLIT._replace(seat=1)) != SOUTH_AMERICA.key(SPLIT)


def test_the_board_is_its_map_with_every_owner_and_all_troops() -> None:
    assert SOUTH_AMERICA.draw_board(SPLIT) == draw_map(SOUTH_AMERICA.map, SPLIT.owner, SPLIT.troops)
