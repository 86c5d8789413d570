"""Games in process: those that the bots would play, the same everywhere, scored by the rules."""

from __future__ import annotations

import hashlib
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from msgspec.structs import asdict

from bots.reference.search_bots import AlphaBeta
from bots.tuning.selfplay import (
    CACHED_SETUPS,
    Setup,
    TuningGame,
    check_setup,
    play,
    play_adjusted,
    play_all,
    play_with_luck,
    rules_and_kernel,
)
from games.risk.search.settings import CampaignSettings, DuelSettings
from measuring.luck import luck_along
from measuring.value_registry import load_value
from protocol import VERSION
from protocol.dice import Dice
from protocol.errors import ArenaFault, UsageFault
from turns import play as play_bots
from volumes import examples

AT_RANDOM = CampaignSettings(draft="random")
ONE, OTHER = (1.0, 0.0, 2.5, 0.0), (0.125, 3.0, 0.0, 1.0)
DUEL = Setup("risk-duel", DuelSettings(), '{"max_plies": 60}', depth=2)
CAMPAIGN = Setup(
    "risk-campaign", CampaignSettings(draft="rule"), '{"map": "africa", "initial_units": 3, "max_rounds": 6}', nodes=500
)
OUTLOOK = CAMPAIGN._replace(settings=CampaignSettings(), evaluation="outlook")
SETUPS = [
    DUEL,
    DUEL._replace(depth=None, nodes=200),
    Setup("risk-duel", DuelSettings(), '{"preset": "africa", "max_plies": 40}', depth=3, nodes=5000),
    CAMPAIGN,
    CAMPAIGN._replace(config='{"map": "europe", "max_rounds": 4, "battle": "deterministic"}', depth=1, nodes=None),
    CAMPAIGN._replace(settings=CampaignSettings("dice", "plies", "rule")),
    CAMPAIGN._replace(settings=CampaignSettings("sure", "calm", "front")),
    CAMPAIGN._replace(settings=CampaignSettings(draft="greedy"), depth=1),
    CAMPAIGN._replace(settings=AT_RANDOM),
    CAMPAIGN._replace(settings=CampaignSettings()),
    OUTLOOK,
]


def key_of(start: str) -> bytes:
    return hashlib.sha256(start.encode()).digest()


def bot(setup: Setup, weights: tuple[float, ...]) -> AlphaBeta:
    return AlphaBeta(
        "bot",
        depth=setup.depth,
        nodes=setup.nodes,
        weights="/".join(map(str, weights)),
        eval=setup.evaluation,
        **asdict(setup.settings),
    )


def answers() -> list[Any]:
    setups = [DUEL._replace(nodes=60), CAMPAIGN._replace(nodes=60, settings=AT_RANDOM)]
    return [
        [str(game.moves), game.score] for setup in setups for game in [play(setup, TuningGame(ONE, OTHER, "start"))]
    ]


@pytest.mark.parametrize("setup", SETUPS, ids=lambda setup: "-".join(str(value) for value in setup if value))
def test_a_game_goes_move_for_move_as_between_two_bots_with_the_same_settings(setup: Setup) -> None:
    rules = check_setup(setup)
    one, other = (weights + (1.0,) * (len(setup.default_weights) - 4) for weights in (ONE, OTHER))
    bots = bot(setup, one), bot(setup, other)
    for start in ("a", "b")[: examples(1, nightly=2)]:
        state = rules.initial(Dice(key_of(start), 0))[0]
        _, moves = play_bots(rules, bots, state, start, key_of(start))
        assert play(setup, TuningGame(one, other, start)).moves == tuple(moves)


@pytest.mark.parametrize("setup", [DUEL, CAMPAIGN], ids=lambda setup: setup.game)
def test_the_score_is_seat_0_s_by_the_ranks_of_the_rules(setup: Setup) -> None:
    rules = check_setup(setup)
    scores = {}
    for start in map(str, range(12)):
        game = play(setup, TuningGame(ONE, OTHER, start))
        state = rules.initial(Dice(key_of(start), 0))[0]
        for move in game.moves:
            state = rules.apply(state, move, Dice(key_of(start), rules.ply(state)))[0]
        assert rules.to_move(state) is None
        scores[rules.ranks(state)] = game.score
    assert scores.items() <= {(1, 2): 1.0, (1, 1): 0.5, (2, 1): 0.0}.items()
    assert len(scores) > 1


def test_a_draw_is_half_a_point() -> None:
    setup = DUEL._replace(config='{"max_plies": 3}')
    assert play_all(setup, [TuningGame(ONE, OTHER, "a")], VERSION) == [0.5]


@pytest.mark.parametrize("setup", [DUEL, CAMPAIGN._replace(settings=AT_RANDOM)], ids=lambda setup: setup.game)
def test_the_start_settles_all_chance(setup: Setup) -> None:
    games = [play(setup, TuningGame(ONE, ONE, start)).moves for start in ("a", "a", "b")]
    assert games[0] == games[1] != games[2]


def test_games_of_one_deal_may_have_dice_of_their_own() -> None:
    dealt = CAMPAIGN._replace(config='{"map": "africa", "max_rounds": 3}')
    one, other = (play(dealt, TuningGame(ONE, ONE, "a", dice)) for dice in ("b", "c"))
    assert one.states[0] == other.states[0]
    assert one.moves != other.moves
    assert play(dealt, TuningGame(ONE, ONE, "a", "a")) == play(dealt, TuningGame(ONE, ONE, "a"))


@pytest.mark.parametrize("setup", [DUEL, CAMPAIGN], ids=lambda setup: setup.game)
def test_the_luck_of_a_game_is_that_of_its_plies_by_the_value_named(setup: Setup) -> None:
    games = [TuningGame(ONE, OTHER, start) for start in ("a", "b")]
    freed = play_with_luck(setup, games, VERSION, "features-1")
    for seats, (score, luck) in zip(games, freed, strict=True):
        game = play(setup, seats)
        plies = zip(game.states, game.moves, game.states[1:], strict=False)
        assert score == game.score
        assert luck == luck_along(check_setup(setup), load_value(check_setup(setup), "features-1"), plies).total[0] != 0
    assert {luck for _, luck in play_with_luck(setup, games, VERSION, "none")} == {0.0}


def test_a_tuning_keeps_the_score_less_luck_to_four_decimals() -> None:
    games = [TuningGame(ONE, OTHER, start) for start in ("a", "b")]
    freed = [game.score - game.luck for game in play_with_luck(DUEL, games, VERSION, "features-1")]
    kept = play_adjusted(DUEL, games, VERSION, "features-1")
    assert kept == pytest.approx(freed, abs=0.00005)
    assert kept == [round(score, 4) for score in kept] != freed


def test_games_do_not_depend_on_those_played_before() -> None:
    games = [(setup, TuningGame(ONE, OTHER, start)) for start in "ab" for setup in SETUPS[: CACHED_SETUPS + 1]]
    played = [play(*game) for game in games]
    assert [play(*game) for game in reversed(games)] == played[::-1]


def test_a_thread_keeps_a_search_of_its_own() -> None:
    with ThreadPoolExecutor(1) as pool:
        theirs = [pool.submit(rules_and_kernel, DUEL).result() for _ in range(2)]
    assert theirs[0] is theirs[1]
    assert theirs[0][1] is not rules_and_kernel(DUEL)[1]


def test_threads_play_the_same_games_as_one() -> None:
    games = [(setup, TuningGame(ONE, OTHER, str(start))) for start in range(3) for setup in (DUEL, CAMPAIGN)]
    with ThreadPoolExecutor(4) as pool:
        played = list(pool.map(lambda game: play(*game), games))
    assert played == [play(*game) for game in games]


def test_another_version_is_refused_naming_both_also_from_afar() -> None:
    with pytest.raises(ArenaFault) as refused:
        play_all(DUEL, [], "9.9")
    assert (
        str(refused.value)
        == f"a worker has bot-arena {VERSION}, but the tuning has 9.9: use the same version everywhere"
    )
    travelled = pickle.loads(pickle.dumps(refused.value))
    assert (type(travelled), str(travelled)) == (ArenaFault, str(refused.value))


def test_plain_python_plays_the_same_games(without_numba: Any) -> None:
    assert without_numba(answers) == answers()


@pytest.mark.parametrize(
    ("setup", "says"),
    [
        (DUEL._replace(game="nim"), "'nim' has no weights to tune: one of risk-duel, risk-campaign"),
        (DUEL._replace(depth=0), "risk-duel: depth is '0': it must be an integer from 1 to 64"),
        (DUEL._replace(nodes=10**10), "risk-duel: nodes is '10000000000': it must be an integer from 1 to 1000000000"),
        (
            DUEL._replace(depth=None),
            "risk-duel: the search needs depth (1 to 64) or nodes (1 to 1,000,000,000), else it never ends",
        ),
        (DUEL._replace(settings=DuelSettings(battles="all")), "risk-duel: battles is 'all': one of means, dice, sure"),
        (DUEL._replace(settings=DuelSettings(horizon="far")), "risk-duel: horizon is 'far': one of turns, plies, calm"),
        (
            DUEL._replace(settings=DuelSettings(draft="none")),
            "risk-duel: draft is 'none': one of search, rule, greedy, random, front",
        ),
        (DUEL._replace(config="{"), "risk-duel: config is '{': it must be a map in JSON"),
        (DUEL._replace(config="[]"), "risk-duel: config is '[]': it must be a map in JSON"),
        (DUEL._replace(config="[" * 10**6), "risk-duel: config is '" + "[" * 36 + "...: it must be a map in JSON"),
        (DUEL._replace(config='{"max_plies": 0}'), "risk-duel: max_plies is 0: it must be an integer from 1 to 10000"),
        (
            CAMPAIGN._replace(config=json.dumps({"players": 3})),
            "risk-campaign: players is 3: it must be 2, because weights are tuned one against one",
        ),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_a_setup_that_cannot_be_played_is_refused_in_one_line(setup: Setup, says: str) -> None:
    with pytest.raises(UsageFault) as refused:
        check_setup(setup)
    assert str(refused.value) == says
