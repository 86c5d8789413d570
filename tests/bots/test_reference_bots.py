"""The reference bots choose legal moves, in time, and as well as they claim."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest

from bots.client.bot import Bot, Choice
from bots.client.loading import find_entry_point
from bots.evaluation import load_evaluation
from bots.reference.perfect import Perfect
from bots.reference.random_bot import RandomBot
from bots.reference.search_bots import AlphaBeta, Greedy, Minimax
from bots.search.base import SearchTree, searchable_games
from games.nim.rules import Position
from games.theory.grader import theory_of
from games.theory.impartial import outcome
from games.tictactoe.rules import Grid
from protocol.dice import Dice
from protocol.errors import UsageFault
from protocol.games import game_class, game_names, load_game
from protocol.games.base import Game
from turns import move_of, play, turn

SHORTER = {"risk-campaign": {"max_rounds": 3}}
COMPILED = ("risk-duel", "risk-campaign")
RULED = {"eval": "features", "draft": "rule"}
"""The campaign's search whose drafts are the draft rule's."""
PRESETS = [(game, preset) for game in game_names() for preset in game_class(game).presets]


def every_bot() -> list[Bot]:
    searching = [Greedy("greedy"), Minimax("minimax", nodes=40), AlphaBeta("alphabeta", nodes=40)]
    return [RandomBot("random"), *searching, Perfect("perfect")]


@pytest.mark.parametrize(
    ("bot", "game", "preset"),
    [
        pytest.param(bot, game, preset, id=f"{bot.name}-{game}-{preset}")
        for bot in every_bot()
        for game, preset in PRESETS
        if game in bot.games
    ],
)
def test_a_reference_bot_plays_every_preset_to_its_end(bot: Bot, game: str, preset: str) -> None:
    rules = load_game(game, {"preset": preset, **SHORTER.get(game, {})})
    others = [RandomBot("random")] * (rules.seats - 1)
    state, moves = play(rules, [bot, *others], rules.initial(Dice(b"", 0))[0])
    assert moves
    assert rules.to_move(state) is None


@pytest.mark.parametrize("seed", ["a", "b", "c"])
def test_bots_bound_by_nodes_or_depth_play_the_same_game_twice(seed: str) -> None:
    rules = load_game("nim")
    games = []
    for _ in range(2):
        bots = (AlphaBeta("alphabeta", nodes="200"), Minimax("minimax", nodes="100"))
        games.append(play(rules, bots, rules.initial(Dice(b"", 0))[0], seed)[1])
    assert games[0] == games[1]


def test_random_is_uniform_over_the_legal_moves() -> None:
    rules = load_game("nim", {"heaps": [1, 3]})
    state = rules.initial(Dice(b"", 0))[0]
    chosen = Counter(str(move_of(RandomBot("r").choose(turn(rules, state, seed=str(i))))) for i in range(4000))
    assert len(chosen) == 4
    assert all(850 < count < 1150 for count in chosen.values())


def test_random_reaches_moves_that_a_turn_does_not_list() -> None:
    rules = load_game("nim", {"heaps": [1000, 1000]})
    state = rules.initial(Dice(b"", 0))[0]
    assert len(turn(rules, state).legal) < 2000
    chosen = [move_of(RandomBot("r").choose(turn(rules, state, seed=str(i)))) for i in range(12)]
    assert any(move["heap"] == 1 for move in chosen)
    assert all(rules.decode_move(move) in rules.legal_moves(state) for move in chosen)


def test_random_splits_its_draft_and_attacks_with_any_number_of_units() -> None:
    rules = load_game("risk-campaign", {"deal": "0" * 32, "initial_units": 5})
    state = rules.initial(Dice(b"", 0))[0]
    bot = RandomBot("r")
    drafts = [move_of(bot.choose(turn(rules, state, seed=str(i)))) for i in range(50)]
    assert len({str(draft) for draft in drafts}) == 50
    for draft in drafts:
        rules.apply(state, rules.decode_move(draft), Dice(b"", 0))
    state = rules.apply(state, rules.decode_move(drafts[0]), Dice(b"", 0))[0]
    attacks = [move_of(bot.choose(turn(rules, state, seed=str(i)))) for i in range(200)]
    assert {1, 2, 3, 4} <= {attack.get("units") for attack in attacks}


@pytest.mark.parametrize(
    ("game", "config"),
    [
        ("nim", {"heaps": [3, 5, 7]}),
        ("nim", {"heaps": [3, 4, 5], "misere": True}),
        ("nim", {"heaps": [10, 9, 8], "take": [1, 2, 3]}),
        ("nim", {"heaps": [9, 8, 7], "take": [2, 3, 7], "misere": True}),
        ("grundy", {"heaps": [9, 12]}),
    ],
)
def test_perfect_never_loses_from_a_won_position(game: str, config: dict[str, Any]) -> None:
    rules, chance = load_game(game, config), random.Random(4)
    rule, misere = theory_of(rules)
    won = 0
    for i in range(60):
        if game == "nim":
            state: Any = Position(tuple(chance.randint(0, size) for size in rules.config["heaps"]), 0, 0)
        else:
            state = rules.initial(Dice(b"", 0))[0]._replace(heaps=(chance.randint(1, 12), chance.randint(3, 12)))
        if rules.to_move(state) is None or outcome(state.heaps, rule, misere=misere) == "P":
            continue
        final, _ = play(rules, (Perfect("perfect"), RandomBot("random")), state, seed=str(i))
        assert rules.ranks(final)[0] == 1
        won += 1
    assert won > 10


def test_perfect_makes_it_hard_from_a_lost_position() -> None:
    rules = load_game("nim", {"heaps": [2, 4, 6]})
    chosen = Perfect("p").choose(turn(rules, Position((2, 4, 6), 0, 0)))
    # Three moves leave a single right reply of eleven, and no move leaves fewer: those that take one.
    assert chosen.move == {"heap": 0, "take": 1}
    assert chosen.value == -1


@pytest.mark.parametrize("heaps", [(1000, 1000), (500, 500, 400, 400), tuple(range(1, 61))])
def test_perfect_answers_the_largest_heaps(heaps: tuple[int, ...]) -> None:
    rules = load_game("nim", {"heaps": list(heaps)})
    state = rules.initial(Dice(b"", 0))[0]
    move = rules.decode_move(move_of(Perfect("p").choose(turn(rules, state))))
    assert move in rules.legal_moves(state)


@pytest.mark.parametrize("bot", [Greedy("g"), Minimax("m"), AlphaBeta("a")], ids=lambda bot: bot.name)
def test_a_bot_that_looks_ahead_takes_a_win_in_one(bot: Bot) -> None:
    rules = load_game("tictactoe")
    move = move_of(bot.choose(turn(rules, Grid((1, 1, 0, 2, 2, 0, 0, 0, 0)))))
    assert move == {"cell": 2}


@pytest.mark.parametrize("bot", [Minimax("m"), AlphaBeta("a")], ids=lambda bot: bot.name)
def test_a_bot_that_looks_at_the_reply_stops_a_loss_in_one(bot: Bot) -> None:
    rules = load_game("tictactoe")
    move = move_of(bot.choose(turn(rules, Grid((1, 1, 0, 2, 0, 0, 0, 0, 0)))))
    assert move == {"cell": 2}


def test_alphabeta_does_not_lose_tic_tac_toe() -> None:
    rules = load_game("tictactoe")
    for seed in "abcdef":
        final, _ = play(rules, (RandomBot("r"), AlphaBeta("a", nodes=8000)), rules.initial(Dice(b"", 0))[0], seed)
        assert rules.ranks(final)[1] == 1


@pytest.mark.parametrize(("game", "preset"), [each for each in PRESETS if each[0] in searchable_games()])
@pytest.mark.parametrize("bot", [Minimax("m"), AlphaBeta("a")], ids=lambda bot: bot.name)
def test_a_bot_whose_time_is_up_answers_at_once(bot: Bot, game: str, preset: str) -> None:
    rules = load_game(game, {"preset": preset})
    state = rules.initial(Dice(b"", 0))[0]
    chosen = bot.choose(turn(rules, state, bank_ms=1, received=-1e15))
    assert isinstance(chosen, Choice)
    assert rules.decode_move(chosen.move) in rules.legal_moves(state)
    assert chosen.nodes is not None
    assert chosen.nodes < (1000 if game in COMPILED else 100)


@pytest.mark.parametrize("seed", range(5))
def test_greedy_expects_of_a_campaign_what_the_rules_say_its_best_move_brings(seed: int) -> None:
    rules = load_game("risk-campaign", {"map": "africa", "initial_units": 4, "deal": f"{seed:032x}"})
    state = drafted(rules, rules.initial(Dice(b"", 0))[0])
    tree = SearchTree(rules, state, evaluate=load_evaluation("risk-campaign", "features"))
    expected = {
        move: sum(float(chance) * tree.evaluate(drafted(rules, after)) for chance, after in rules.outcomes(state, move))
        for move in rules.legal_moves(state)
    }
    chosen = Greedy("g", eval="features").choose(turn(rules, state))
    assert chosen.value == pytest.approx(max(expected.values()), rel=1e-6)
    assert chosen.value == pytest.approx(expected[rules.decode_move(chosen.move)], rel=1e-6)


def drafted(rules: Game[Any, Any], state: Any) -> Any:
    """The position after the draft rule's draft, where one is due."""
    return rules.outcomes(state, rules.legal_moves(state)[0])[0][1] if state.phase == "draft" else state


def test_a_bot_does_not_wait_for_numba_where_no_kernel_is_played() -> None:
    script = (
        "import sys; from bots.reference.search_bots import AlphaBeta, Greedy; from protocol.games import load_game\n"
    )
    script += "for bot in (AlphaBeta('a'), Greedy('g')): bot.warm_up(load_game('nim'))\n"
    script += "print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_choice_tells_what_was_thought() -> None:
    rules = load_game("nim", {"heaps": [1, 2]})
    chosen = AlphaBeta("a").choose(turn(rules, rules.initial(Dice(b"", 0))[0]))
    assert chosen.value is not None
    assert chosen.value > 1000
    assert (chosen.depth, chosen.nodes is not None) == (3, True)


@pytest.mark.parametrize("cls", [Minimax, AlphaBeta])
@pytest.mark.parametrize(
    ("key", "value"), [("depth", "x"), ("depth", 0), ("depth", "65"), ("nodes", "-1"), ("nodes", 2.5)]
)
def test_a_setting_that_cannot_be_is_refused_in_one_line(cls: Any, key: str, value: Any) -> None:
    with pytest.raises(UsageFault, match=f"{key} is '{value}': it must be an integer from 1 to") as caught:
        cls("bot", **{key: value})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("bot", ["minimax", "alphabeta", "ga"])
def test_a_refused_setting_names_the_bot_as_the_command_line_does(bot: str) -> None:
    made = find_entry_point(bot).load()
    with pytest.raises(UsageFault, match=f"^{bot}: depth is '0'"):
        made("mine", depth="0")
    with pytest.raises(UsageFault, match=f"^{bot}: weights is '1,2': give four numbers"):
        made("mine", weights="1,2")


def test_where_battles_are_not_thrown_a_bigger_army_is_thought_to_win() -> None:
    rules = load_game("risk-campaign", {"map": "africa", "initial_units": 3})
    state = drafted(rules, rules.initial(Dice(bytes(32), 0))[0])
    values = [
        AlphaBeta("bot", depth=1, battles=battles, **RULED).choose(turn(rules, state)).value or 0.0
        for battles in ("sure", "means", "dice")
    ]
    assert values[0] > max(values[1:])
    assert len(set(values)) == 3


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("battles", "one of means, dice, sure"),
        ("horizon", "one of turns, plies, calm"),
        ("draft", "one of search, rule, greedy, random, front"),
    ],
)
def test_a_way_to_search_a_campaign_that_there_is_not_is_refused(key: str, says: str) -> None:
    with pytest.raises(UsageFault, match=f"alphabeta: {key} is 'wild': {says}"):
        AlphaBeta("bot", **{key: "wild"})


def test_the_horizon_is_as_many_turns_or_plies_away_or_behind_the_attacks_after_them() -> None:
    rules = load_game("risk-campaign", {"map": "africa", "initial_units": 3, "deal": "1" * 32})
    state = drafted(rules, rules.initial(Dice(bytes(32), 0))[0])
    values = [
        AlphaBeta("bot", depth=1, horizon=horizon, **RULED).choose(turn(rules, state)).value or 0.0
        for horizon in ("turns", "plies", "calm")
    ]
    assert len(set(values)) == 3
    assert values[2] > values[1], "the mover gains by what a calm horizon looks at"


def test_a_bot_places_its_draft_as_it_is_set_and_draws_a_random_one_with_its_seed() -> None:
    rules = load_game("risk-campaign", {"deal": "1" * 32})
    state = rules.initial(Dice(bytes(32), 0))[0]

    def places(draft: str, seed: str = "s") -> list[list[int]]:
        units: list[list[int]] = move_of(AlphaBeta("b", draft=draft).choose(turn(rules, state, seed=seed)))["units"]
        return units

    assert places("rule") == rules.encode_move(rules.legal_moves(state)[0])["units"]
    assert len(places("front")) == 1
    assert places("random") == places("random") != places("random", "other")
    assert places("greedy") == places("greedy", "other") not in (places("rule"), places("front"))


def test_weights_are_those_of_the_game_that_is_played() -> None:
    bot = Minimax("bot", depth=1)
    bot.weights = {"features": {"risk-duel": (1, 0, 0, 0)}, "outlook": {"risk-campaign": (0, 0, 5, 0, 0, 1)}}
    for game, same in (("risk-duel", "1/0/0/0"), ("risk-campaign", "0/0/5/0/0/1")):
        rules = load_game(game)
        state = rules.initial(Dice(bytes(32), 0))[0]
        for _ in range(4):
            state = rules.apply(state, rules.legal_moves(state)[0], Dice(bytes(32), rules.ply(state)))[0]
        values = [
            each.choose(turn(rules, state)).value
            for each in (bot, Minimax("bot", depth=1, weights=same), Minimax("bot", depth=1))
        ]
        assert values[0] == values[1] != values[2]


@pytest.mark.parametrize("cls", [Greedy, Minimax, AlphaBeta])
def test_an_evaluation_that_no_game_has_is_refused(cls: Any) -> None:
    says = f"{cls.__name__.lower()}: eval is 'wild': one of parity, lines, features, unam, outlook, none"
    with pytest.raises(UsageFault, match=says):
        cls("bot", eval="wild")


@pytest.mark.parametrize("cls", [Greedy, Minimax, AlphaBeta, RandomBot, Perfect])
def test_every_setting_can_be_given_as_text(cls: Any) -> None:
    values = {"depth": "2", "nodes": "100", "eval": "none", "weights": "1/2/3/4"}
    values |= {"battles": "sure", "horizon": "calm", "draft": "front"}
    bot = cls("bot", **{key: values[key] for key in cls.settings})
    rules = load_game("nim")
    assert bot.choose(turn(rules, rules.initial(Dice(b"", 0))[0]))
