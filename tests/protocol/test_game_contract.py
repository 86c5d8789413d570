"""What every registered game promises, played at random under every preset and under random configs."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.codec import MSGPACK
from protocol.dice import Dice
from protocol.errors import BadConfig, MalformedMove, UnknownGame
from protocol.games import default_preset, game_class, game_names, load_game
from protocol.games.base import NO_DICE, Game
from protocol.games.simultaneous import SimultaneousGame
from protocol.messages import CHANCE, Turn
from referee.contract import MAX_REFUSAL_CHARS, ContractChecker
from volumes import examples

PRESETS = [(name, preset) for name in game_names() for preset in game_class(name).presets]
IN_TURN = [(name, preset) for name, preset in PRESETS if not issubclass(game_class(name), SimultaneousGame)]
every_preset = pytest.mark.parametrize(("name", "preset"), PRESETS)
every_preset_in_turn = pytest.mark.parametrize(("name", "preset"), IN_TURN)
every_game = pytest.mark.parametrize("name", game_names())


def matrices(rows: int, columns: int) -> st.SearchStrategy[Any]:
    """Payoffs of both seats for each pair of choices."""
    pairs = st.tuples(st.integers(-1_000_000, 1_000_000), st.integers(-3, 3)).map(list)
    row = st.lists(pairs, min_size=columns, max_size=columns)
    return st.lists(row, min_size=rows, max_size=rows)


heaps = st.lists(st.integers(0, 12), min_size=1, max_size=5)
CONFIGS = {
    "nim": st.fixed_dictionaries(
        {
            "heaps": heaps,
            "take": st.none() | st.lists(st.integers(1, 6), min_size=1, max_size=4),
            "misere": st.booleans(),
        }
    ),
    "grundy": st.fixed_dictionaries({"heaps": st.lists(st.integers(1, 20), min_size=1, max_size=4)}),
    "tictactoe": st.just({}),
    "risk-duel": st.fixed_dictionaries(
        {
            "map": st.sampled_from(("australia", "africa", "europe")),
            "max_troops": st.integers(3, 12),
            "armies": st.lists(st.integers(1, 3), max_size=3),
            "max_plies": st.integers(1, 60),
        }
    ),
    "risk-campaign": st.fixed_dictionaries(
        {
            "map": st.sampled_from(("south-america", "africa", "asia", "grid-6x6")),
            "players": st.integers(2, 4),
            "draft": st.sampled_from(("territories", "classic")),
            "battle": st.sampled_from(("dice", "deterministic")),
            "max_attacks": st.integers(1, 4),
            "initial_units": st.integers(1, 4),
            "max_rounds": st.integers(1, 6),
            "deal": st.none() | st.binary(min_size=16, max_size=16).map(bytes.hex),
            "turn_order": st.sampled_from(("fixed", "snake")),
            "first_draft": st.none() | st.integers(1, 9),
        }
    ),
    "dilemma": st.fixed_dictionaries(
        {
            "payoffs": st.tuples(st.integers(2, 5), st.integers(2, 5)).flatmap(lambda size: matrices(*size)),
            "rounds": st.integers(1, 12),
            "go_on": st.none() | st.sampled_from(("0", "0.5", "0.9999")),
            "noise": st.sampled_from(("0", "0.05", "0.5")),
        }
    ),
    "kuhn": st.fixed_dictionaries({"hands": st.integers(1, 5)}),
    "leduc": st.fixed_dictionaries({"hands": st.integers(1, 5)}),
}
WITHOUT_CHANCE = ("nim", "grundy", "tictactoe")
"""Games that roll no dice, neither at the start under a preset nor in a move."""
UNLISTED = ("risk-campaign",)
"""Games that do not list every legal move."""
SHORTER = {"risk-campaign": {"max_rounds": 5}}
"""What keeps the random games of a preset short."""
RUDE = "\n\x1b[2J" + "x" * 3000
"""A text that no message may repeat as it is."""


def dice_of(game: Game[Any, Any]) -> Dice:
    """Dice for a move; where the rules have no chance, those that must not be rolled."""
    return NO_DICE if game.name in WITHOUT_CHANCE else Dice(bytes(32), 0)


def stepped(game: Game[Any, Any], state: Any, dice: Dice, chooser: random.Random) -> Any:
    """The state after the next thing that happens: a deal, a round or a move, chosen at random."""
    if game.to_move(state) == CHANCE:
        return game.apply_chance(state, dice)[0]
    if isinstance(game, SimultaneousGame):
        moves = {seat: chooser.choice(game.legal_moves_of(state, seat)) for seat in game.movers(state)}
        return game.resolve_round(state, moves, dice)[0]
    return game.apply(state, chooser.choice(game.legal_moves(state)), dice)[0]


@pytest.mark.no_cover
@pytest.mark.parametrize(("name", "preset"), [each for each in PRESETS if each[0] not in SHORTER])
@given(seed=st.integers(0, 2**32))
@settings(max_examples=examples(3, nightly=6))
def test_a_random_game_of_every_preset_keeps_the_contract(name: str, preset: str, seed: int) -> None:
    ContractChecker(load_game(name, {"preset": preset})).check_game(seed)


@pytest.mark.no_cover
@pytest.mark.parametrize(("name", "preset"), [each for each in PRESETS if each[0] in SHORTER])
@given(seed=st.integers(0, 2**32))
@settings(max_examples=examples(1, nightly=2))
def test_a_random_long_game_of_every_preset_keeps_the_contract(name: str, preset: str, seed: int) -> None:
    ContractChecker(load_game(name, {"preset": preset, **SHORTER[name]})).check_game(seed)


@pytest.mark.no_cover
@every_game
@given(data=st.data(), seed=st.integers(0, 2**32))
@settings(max_examples=examples(20, nightly=40))
def test_a_random_game_of_a_random_config_keeps_the_contract(name: str, data: st.DataObject, seed: int) -> None:
    config: Any = data.draw(CONFIGS.get(name, st.just({})))
    ContractChecker(load_game(name, config)).check_game(seed)


@every_preset
def test_every_legal_move_is_accepted(name: str, preset: str) -> None:
    game = load_game(name, {"preset": preset})
    state, _ = game.initial(Dice(bytes(32), 0))
    for move in game.legal_moves(state):
        if isinstance(game, SimultaneousGame):
            game.check_move(state, 0, move)
            continue
        after, _ = game.apply(state, move, dice_of(game))
        assert game.ply(after) == game.ply(state) + 1


@every_preset
def test_a_preset_is_known_by_its_whole_config(name: str, preset: str) -> None:
    game = load_game(name, {"preset": preset})
    assert game.preset == preset
    assert load_game(name, game.config).config == game.config
    assert "preset" not in game.config
    assert MSGPACK.encode(Turn(match="m", ply=0, to_move=0, state=game.config, events=[], clock=[], digest=""))


def test_the_key_leaves_the_ply_out() -> None:
    game = load_game("nim", {"heaps": [5]})
    short = game.decode_state({"heaps": [1], "to_move": 0, "ply": 2})
    long = game.decode_state({"heaps": [1], "to_move": 0, "ply": 4})
    assert short != long
    assert game.key(short) == game.key(long)
    grundy = load_game("grundy")
    split = [grundy.decode_state({"heaps": [3, 4], "to_move": 1, "ply": ply}) for ply in (1, 3)]
    assert grundy.key(split[0]) == grundy.key(split[1])


@every_game
def test_where_no_config_is_named_the_first_preset_is_played(name: str) -> None:
    assert (
        load_game(name).preset
        == load_game(name, {}).preset
        == default_preset(name)
        == next(iter(game_class(name).presets))
    )
    key, value = next(iter(game_class(name)({}).config.items()), ("preset", "classic"))
    assert load_game(name, {key: value}).config == game_class(name)({}).config, "with a key it is not"


@every_game
def test_an_unknown_preset_or_key_is_answered_with_those_there_are(name: str) -> None:
    some_preset = next(iter(game_class(name).presets))
    with pytest.raises(BadConfig, match=f"{name} has no preset 'huge': one of {some_preset}"):
        load_game(name, {"preset": "huge"})
    with pytest.raises(BadConfig, match=f"{name} has no preset 3"):
        load_game(name, {"preset": 3})
    with pytest.raises(BadConfig, match=f"{name} has no config key 'colour': one of .*preset"):
        load_game(name, {"colour": "red"})


@every_game
def test_configs_and_moves_of_a_wrong_form_are_refused_in_one_short_line(name: str) -> None:
    ContractChecker(load_game(name)).check_refusals()
    for config in ({"heaps": [RUDE] * 100}, {"take": [RUDE]}, {"start": RUDE}):
        with pytest.raises(BadConfig) as refused:
            load_game(name, config)
        assert str(refused.value).isprintable()
        assert len(str(refused.value)) < MAX_REFUSAL_CHARS


@every_preset_in_turn
@given(seed=st.integers(0, 2**32))
@settings(max_examples=examples(8, nightly=15))
def test_two_orders_of_moves_that_reach_a_position_share_its_key(name: str, preset: str, seed: int) -> None:
    chooser = random.Random(seed)
    game = load_game(name, {"preset": preset})
    state = game.initial(dice_of(game))[0]
    for _ in range(chooser.randrange(3)):
        if moves := game.legal_moves(state):
            state, _ = game.apply(state, chooser.choice(moves), dice_of(game))
    by_position: dict[str, set[Any]] = {}
    for first in game.legal_moves(state)[:12]:
        between, _ = game.apply(state, first, dice_of(game))
        for second in game.legal_moves(between)[:12]:
            after, _ = game.apply(between, second, dice_of(game))
            by_position.setdefault(repr(game.encode_state(after)), set()).add(game.key(after))
    assert all(len(keys) == 1 for keys in by_position.values())


@every_preset
def test_a_paired_match_starts_as_its_config_would_with_the_same_dice(name: str, preset: str) -> None:
    for extra in ({}, {"start": "p-position"}) if name == "nim" else ({},):
        game = load_game(name, {**game_class(name).presets[preset], **extra})
        paired = load_game(name, game.config_of_deal(Dice(bytes(32), 0)))
        if game.hidden:
            assert paired.config == game.config, "what a config said would be known"
            continue
        expected, _ = game.initial(Dice(bytes(32), 0))
        state, deal = paired.initial(NO_DICE)
        assert deal is None, "nothing is left to chance"
        assert paired.key(state) == game.key(expected)


def test_an_unknown_game_is_answered_with_those_there_are() -> None:
    with pytest.raises(UnknownGame, match="there is no game 'chess': one of nim, grundy, tictactoe"):
        load_game("chess")


@every_game
def test_a_match_of_every_preset_may_be_asked_for(name: str) -> None:
    for preset in game_class(name).presets:
        load_game(name, {"preset": preset}).check_cost()


def test_rolling_where_the_rules_have_no_chance_is_a_mistake_of_the_rules() -> None:
    with pytest.raises(AssertionError, match="a roll for 'attack'"):
        NO_DICE.roll("attack")


def test_a_game_of_two_does_not_go_on_without_a_seat() -> None:
    game = load_game("nim")
    with pytest.raises(ValueError, match="can't continue without seat 1"):
        game.remove_seat(game.initial(NO_DICE)[0], 1)


@pytest.mark.parametrize("name", UNLISTED)
def test_a_listed_move_of_a_game_with_too_many_to_list_is_read_as_it_is_written(name: str) -> None:
    game = load_game(name)
    chooser = random.Random(3)
    state = game.initial(Dice(bytes(32), 0))[0]
    for _ in range(40):
        for move in game.legal_moves(state)[:50]:
            text = game.notation(move)
            if " and " not in text:  # a long draft is cut
                assert game.parse_move(text) == game.parse_move(f" {text.upper()} ") == move
        state = stepped(game, state, Dice(bytes(32), game.ply(state)), chooser)


@every_game
def test_what_is_no_move_says_how_one_is_written(name: str) -> None:
    game = load_game(name)
    assert game.move_syntax
    long = "9" * 5000
    for text in (
        *("", "?", "fly to the moon", "1 2 3 4", "a >", "> >", "draft", "draft x"),
        *(long, f"{long} 1", f"1 {long}", f"{long} > 1", f"{long} > 1 1", f"1 > {long}", f"1 > 2 {long}"),
        *(f"draft 1 {long}", f"draft {long} 1", f"draft 1 {'9' * 4300} 1 {'9' * 4300}", f"invade {long}"),
    ):
        with pytest.raises(MalformedMove) as fault:
            game.parse_move(text)
        assert str(fault.value).isprintable()


@every_game
def test_who_has_seen_the_board_is_told_what_is_new_on_it(name: str) -> None:
    game = load_game(name)
    state = game.initial(Dice(bytes(32), 0))[0]
    after = stepped(game, state, Dice(bytes(32), game.ply(state)), random.Random(0))
    assert game.describe_changes(state, after)
    assert len(game.describe_changes(state, after)) <= len(game.draw_board(after))
