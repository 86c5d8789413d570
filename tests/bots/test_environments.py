"""The games as environments: PettingZoo's own tests, moves by number that are the rules', rewards by rank."""

from __future__ import annotations

import random
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pettingzoo import AECEnv
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, seed_test
from pettingzoo.utils.wrappers import TerminateIllegalWrapper

import bots.environments
from bots.environments import encoding_of, env, parallel_env
from bots.environments.environment import Environment
from games.risk.rules.campaign import Attack, Draft, EndTurn
from measuring.luck import luck_along
from measuring.value_registry import load_value
from protocol.dice import Dice
from protocol.errors import BadConfig, IllegalMove, UnknownGame, UsageFault
from protocol.games import game_class, game_names, load_game
from protocol.games.simultaneous import SimultaneousGame
from protocol.messages import CHANCE
from volumes import examples

PRESETS = [(name, {"preset": preset}) for name in game_names() for preset in game_class(name).presets]
CONFIGS: list[tuple[str, Mapping[str, Any]]] = [
    *PRESETS,
    ("nim", {"heaps": [9, 9, 9], "start": "p-position"}),
    ("nim", {"heaps": [1000, 1000]}),
    ("grundy", {"heaps": [5, 3, 1]}),
    ("risk-duel", {"map": "grid-6x6", "max_troops": 3, "max_plies": 60}),
    ("risk-campaign", {"map": "africa", "players": 4, "max_rounds": 5, "deal": "0" * 32}),
    ("risk-campaign", {"map": "south-america", "players": 4, "max_attacks": 20, "max_rounds": 40}),
]
MASKED = {
    "Observation is not a NumPy array",
    "Observation space for each agent probably should be gymnasium.spaces.box or gymnasium.spaces.discrete",
}
"""What PettingZoo warns of where an observation has an action mask, in games of its own too."""
every_config = pytest.mark.parametrize(("name", "config"), CONFIGS, ids=str)
FIRST = [next(row for row in CONFIGS if row[0] == name) for name in game_names()]
every_config_in_ci = pytest.mark.parametrize(
    ("name", "config"), [pytest.param(*row, marks=[] if row in FIRST else [pytest.mark.ci]) for row in CONFIGS], ids=str
)
"""Elsewhere the first preset of each game."""
PAID = ("dilemma", "kuhn", "leduc")
"""Games of which rewards are what is paid."""
by_rank = pytest.mark.parametrize(("name", "config"), [row for row in CONFIGS if row[0] not in PAID], ids=str)


def play(world: AECEnv, choose: Callable[[np.ndarray], int], seed: int | None) -> dict[str, float]:
    """What each agent got in all, one game played by `choose(mask)`."""
    world.reset(seed=seed)
    returns = dict.fromkeys(world.possible_agents, 0.0)
    for agent in world.agent_iter():
        observation, reward, terminated, _, _ = world.last()
        returns[agent] += reward
        world.step(None if terminated else choose(observation["action_mask"]))
    return returns


def at_random(seed: int) -> Callable[[np.ndarray], int]:
    draw = random.Random(seed)
    return lambda mask: draw.choice(np.flatnonzero(mask).tolist())


@every_config_in_ci
def test_pettingzoos_own_test_of_an_environment_finds_nothing_wrong(name: str, config: Mapping[str, Any]) -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        api_test(env(name, config), num_cycles=60)  # raises what is wrong, and warns of what is odd
    assert {str(each.message) for each in warned} == MASKED


@every_config_in_ci
def test_pettingzoos_own_test_of_seeds_finds_the_same_game_twice(name: str, config: Mapping[str, Any]) -> None:
    made: list[AECEnv] = []

    def make() -> AECEnv:
        made.append(env(name, config))
        return made[-1]

    seed_test(make, num_cycles=60)  # raises where two games differ
    one, other = (world.unwrapped for world in made)
    assert one.position == other.position


class Unseeded(Environment):
    """Heeds no seed."""

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        super().reset(None, options)


class Forgetful(Environment):
    """Has rewards of which what agents got in all does not know."""

    def _accumulate_rewards(self) -> None:
        pass


@pytest.mark.filterwarnings("ignore")
def test_pettingzoos_own_tests_refuse_an_environment_that_is_broken() -> None:
    with pytest.raises(AssertionError, match="Incorrect"):
        seed_test(lambda: Unseeded("risk-campaign", {"preset": "world"}), num_cycles=60)
    with pytest.raises(AssertionError, match="reward"):
        api_test(Forgetful("nim"), num_cycles=60)


def test_resets_without_a_seed_go_on_from_the_last_one() -> None:
    def boards(seed: int) -> list[str]:
        world = env("risk-campaign", {"preset": "world"}, render_mode="ansi")
        world.reset(seed=seed)
        first = world.render()
        world.reset()
        return [first, world.render()]

    assert boards(5) == boards(5)
    assert len({*boards(5), *boards(6)}) == 4


@every_config
@given(seed=st.integers(0, 2**32))
@settings(max_examples=examples(1, nightly=3))
def test_a_number_is_one_move_and_every_vector_is_of_one_size(name: str, config: Mapping[str, Any], seed: int) -> None:
    rules = load_game(name, config)
    encoding = encoding_of(rules)
    draw = random.Random(seed)
    key = draw.randbytes(32)
    named: dict[int, Any] = {}
    state, _ = rules.initial(Dice(key, 0))
    for _ in range(40):
        mover = rules.to_move(state)
        if mover is None:
            break
        if mover == CHANCE:
            state, _ = rules.apply_chance(state, Dice(key, rules.ply(state)))
            continue
        moves = encoding.moves_of(state, mover)
        assert set(moves) <= set(range(encoding.actions))
        for number, move in moves.items():
            meant = kind(rules.encode_move(move), state)
            assert named.setdefault(number, meant) == meant
        assert listed(rules, state) <= set(moves.values()), "no move that the rules list is without a number"
        for seat in range(rules.seats):
            vector = encoding.vector(state, seat)
            assert (vector.shape, vector.dtype) == ((encoding.size,), np.float32)
            assert ((vector >= 0) & (vector <= 1)).all()
        move, dice = draw.choice(list(moves.values())), Dice(key, rules.ply(state))
        if isinstance(rules, SimultaneousGame):
            others = {seat: draw.choice(rules.legal_moves_of(state, seat)) for seat in rules.movers(state)}
            state, _ = rules.resolve_round(state, {**others, mover: move}, dice)
        else:
            state, _ = rules.apply(state, move, dice)


def kind(move: dict[str, Any], state: Any) -> Any:
    if "split" in move:
        return state.heaps[move["heap"]], move["split"]
    if move.get("do") == "draft":
        return "draft"
    return [value for key, value in move.items() if key != "units"]


def listed(rules: Any, state: Any) -> set[Any]:
    """The legal moves, without Grundy's of other heaps of the same size."""
    moves = rules.legal_moves(state)
    return {move for move in moves if rules.name != "grundy" or move.heap == state.heaps.index(state.heaps[move.heap])}


@by_rank
def test_rewards_sum_to_0_and_go_by_rank(name: str, config: Mapping[str, Any]) -> None:
    world = env(name, config)
    for seed in range(examples(1, nightly=3)):
        returns = play(world, at_random(seed), seed)
        ranks = world.unwrapped.rules.ranks(world.unwrapped.position)
        assert sum(returns.values()) == pytest.approx(0)
        by_rank = sorted(zip(ranks, returns.values(), strict=True))
        assert [reward for _, reward in by_rank] == sorted(returns.values(), reverse=True)
        if len(set(ranks)) == len(ranks):
            assert (by_rank[0][1], by_rank[-1][1]) == (1, -1)


def test_seats_that_tie_share_what_their_places_are_worth() -> None:
    returns = play(env("risk-campaign", {"map": "south-america", "players": 4, "max_rounds": 1}), ending, 0)
    assert set(returns.values()) == {0.0}, "nobody attacked"


def ending(mask: np.ndarray) -> int:
    """The last number: the end of a turn, or a draft where there is none."""
    return int(np.flatnonzero(mask)[-1])


def test_a_seat_that_is_out_leaves_at_once_with_what_its_rank_is_worth() -> None:
    world = env("risk-campaign", {"map": "south-america", "players": 4, "max_attacks": 20})
    world.reset(seed=2)
    choose = at_random(2)
    left = []
    for agent in world.agent_iter():
        observation, reward, terminated, _, _ = world.last()
        if terminated:
            left.append((agent, reward, world.unwrapped.rules.to_move(world.unwrapped.position) is None))
        world.step(None if terminated else choose(observation["action_mask"]))
    rewards = [reward for _, reward, _ in left]
    assert rewards[:2] == pytest.approx([-1, -1 / 3])
    assert [over for _, _, over in left] == [False, False, True, True]
    assert sorted(rewards[2:]) == pytest.approx([1 / 3, 1])


@pytest.mark.parametrize("game", ["risk-duel", "risk-campaign"])
def test_with_luck_taken_off_a_return_is_the_result_less_the_luck_of_the_game(game: str) -> None:
    config = {"map": "australia"}
    plain, freed = env(game, config), env(game, config, luck="features-1")
    for seed in range(3):
        moves = Recorder(plain, at_random(seed))
        results = play(plain, moves, seed)
        luck = luck_along(plain.unwrapped.rules, load_value(plain.unwrapped.rules, "features-1"), moves.plies())
        assert any(luck.total)
        returns = play(freed, at_random(seed), seed)
        for agent, points in zip(results, luck.total, strict=True):
            assert returns[agent] == pytest.approx(results[agent] - 2 * points)


class Recorder:
    """Chooses as it is told to, and keeps the moves with the states around them."""

    def __init__(self, world: AECEnv, choose: Callable[[np.ndarray], int]) -> None:
        self._world, self._choose = world.unwrapped, choose
        self._moves: list[tuple[Any, Any]] = []

    def __call__(self, mask: np.ndarray) -> int:
        number = self._choose(mask)
        state = self._world.position
        self._moves.append((state, self._world.encoding.moves(state)[number]))
        return number

    def plies(self) -> Iterator[tuple[Any, Any, Any]]:
        ends = [*(state for state, _ in self._moves[1:]), self._world.position]
        return ((before, move, after) for (before, move), after in zip(self._moves, ends, strict=True))


def noting(choose: Callable[[np.ndarray], int], chosen: list[int]) -> Callable[[np.ndarray], int]:
    def choose_and_note(mask: np.ndarray) -> int:
        chosen.append(choose(mask))
        return chosen[-1]

    return choose_and_note


def plies_with_deals(world: AECEnv, chosen: list[int]) -> Iterator[tuple[Any, Any, Any]]:
    """The plies of the game in which these numbers were chosen one after the other, deals between moves included."""
    rules, numbers, dice = world.unwrapped.rules, iter(chosen), world.unwrapped._dice
    state = rules.initial(dice(0))[0]
    while (seat := rules.to_move(state)) is not None:
        moves: Any = None
        if seat == CHANCE:
            after = rules.apply_chance(state, dice(rules.ply(state)))[0]
        elif isinstance(rules, SimultaneousGame):
            moves = {seat: rules.legal_moves_of(state, seat)[next(numbers)] for seat in rules.movers(state)}
            after = rules.resolve_round(state, moves, dice(rules.ply(state)))[0]
        else:
            moves = world.unwrapped.encoding.moves(state)[next(numbers)]
            after = rules.apply(state, moves, dice(rules.ply(state)))[0]
        yield state, moves, after
        state = after


@pytest.mark.parametrize(
    ("game", "config"),
    [("kuhn", {"hands": 5}), ("leduc", {"hands": 3}), ("dilemma", {"rounds": 4, "noise": "0.3"})],
    ids=str,
)
def test_luck_of_deals_between_moves_and_of_rounds_is_taken_off_what_is_paid(game: str, config: Any) -> None:
    plain, freed = env(game, config), env(game, config, luck=None)
    value = load_value(plain.unwrapped.rules)
    for seed in range(3):
        chosen: list[int] = []
        results = play(plain, noting(at_random(seed), chosen), seed)
        luck = luck_along(plain.unwrapped.rules, value, plies_with_deals(plain, chosen))
        assert {event.seat for event in luck.events} == {CHANCE}
        returns = play(freed, at_random(seed), seed)
        for agent, amount in zip(results, luck.total, strict=True):
            assert returns[agent] == pytest.approx(results[agent] - amount)


def test_an_observation_is_the_seats_own_view() -> None:
    world = Environment("tictactoe")
    world.reset()
    world.step(4)
    own, other = (world.observe(agent)["observation"].reshape(3, 9) for agent in ("seat_0", "seat_1"))
    assert np.flatnonzero(own[0]).tolist() == np.flatnonzero(other[1]).tolist() == [4]
    assert not world.observe("seat_0")["action_mask"].any(), "it is not its turn"
    assert np.flatnonzero(world.observe("seat_1")["action_mask"]).tolist() == [0, 1, 2, 3, 5, 6, 7, 8]


def test_a_campaign_has_numbers_for_drafts_attacks_and_the_end() -> None:
    rules = load_game("risk-campaign", {"map": "south-america", "deal": "0" * 32, "initial_units": 3})
    encoding = encoding_of(rules)
    state, _ = rules.initial(Dice(bytes(32), 0))
    own = [at for at, holder in enumerate(state.owner) if holder == 0]
    drafts = encoding.moves(state)
    assert drafts == {0: rules.legal_moves(state)[0], **{1 + at: Draft(((at, state.units),)) for at in own}}
    state, _ = rules.apply(state, drafts[0], Dice(bytes(32), 1))
    attacks = encoding.moves(state)
    assert {type(move) for move in attacks.values()} == {Attack, EndTurn}
    assert attacks[encoding.actions - 1] == EndTurn()


def test_a_masked_action_is_refused_with_those_that_are_legal_and_nothing_has_happened() -> None:
    world = env("tictactoe")
    world.reset()
    world.step(4)
    with pytest.raises(IllegalMove, match="action 4 is masked for seat_1; legal: 0, 1, 2, 3, 5, 6, 7, 8"):
        world.step(np.int64(4))
    with pytest.raises(IllegalMove, match="action None is masked for seat_1"):
        world.step(None)
    world.step(np.array(0))
    assert world.render() is None


def test_the_board_is_drawn_where_it_is_asked_for() -> None:
    world = env("tictactoe", render_mode="ansi")
    world.reset()
    world.step(4)
    assert world.render() == ". . .\n. X .\n. . ."


@pytest.mark.parametrize(("name", "config"), [("nim", {"heaps": [0]}), ("grundy", {"heaps": [2]})])
def test_a_game_that_is_over_before_it_begins_has_its_rewards(name: str, config: Mapping[str, Any]) -> None:
    assert play(env(name, config), at_random(0), 0) == {"seat_0": -1, "seat_1": 1}


@pytest.mark.parametrize("name", PAID)
def test_where_payoffs_count_rewards_are_what_was_paid_when_it_was(name: str) -> None:
    world = env(name, {"hands": 9} if name != "dilemma" else {"rounds": 9, "noise": "0.2", "go_on": "0.9"})
    world.reset(seed=5)
    choose, paid = at_random(5), [0.0, 0.0]
    for _ in world.agent_iter():
        observation, _, terminated, _, _ = world.last()
        world.step(None if terminated else choose(observation["action_mask"]))
        if not terminated:
            paid = [had + world.rewards[each] for had, each in zip(paid, world.possible_agents, strict=True)]
            assert tuple(paid) == world.unwrapped.rules.returns(world.unwrapped.position)


def test_no_agent_sees_what_another_chose_before_all_have() -> None:
    for choice in (0, 1):
        world = Environment("dilemma", {"rounds": 3})
        world.reset()
        world.step(choice)
        assert world.agent_selection == "seat_1"
        seen = world.observe("seat_1")
        assert seen["observation"].tolist() == [0, 0, 0, 0, 0, 1]
        assert seen["action_mask"].tolist() == [1, 1]
        assert not world.observe("seat_0")["action_mask"].any(), "it has chosen"
        world.step(1)
        assert world.observe("seat_1")["observation"].tolist() == pytest.approx([0, 1, 1 - choice, choice, 1 / 3, 0])


def test_an_observation_in_poker_has_the_agents_own_card_and_not_the_others() -> None:
    encoding = encoding_of(load_game("leduc"))
    for other in (2, 4):
        state = load_game("leduc").decode_state(
            {"hand": 0, "chips": [0, 0], "cards": [1, other], "public": 3, "bets": ["kbrc", ""], "paid": [5, 5]}
            | {"to_move": 0, "ply": 6}
        )
        mine, others = encoding.vector(state, 0), encoding.vector(state, 1)
        assert mine[:6].tolist() == [1, 0, 0, 0, 1, 0]
        assert others[:3].tolist() == [0, other == 2, other == 4]
        assert (mine[6:] == encoding.vector(state._replace(cards=(1, None)), 0)[6:]).all()


@pytest.mark.parametrize("preset", game_class("dilemma").presets)
def test_pettingzoos_own_test_of_agents_that_step_at_once_finds_nothing_wrong(preset: str) -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        parallel_api_test(parallel_env("dilemma", {"preset": preset, "rounds": 20}), num_cycles=50)
        parallel_seed_test(lambda: parallel_env("dilemma", {"preset": preset, "noise": "0.3"}), num_cycles=50)
    assert {str(each.message) for each in warned} <= MASKED


def test_agents_that_step_at_once_are_paid_for_the_round_and_end_together() -> None:
    world = parallel_env("dilemma", {"rounds": 2})
    world.reset(seed=1)
    _, rewards, ended, _, _ = world.step({"seat_0": 0, "seat_1": 1})
    assert (dict(rewards), any(ended.values())) == ({"seat_0": 0.0, "seat_1": 5.0}, False)
    observations, rewards, ended, _, _ = world.step({"seat_0": 1, "seat_1": 1})
    assert (dict(rewards), all(ended.values()), world.agents) == ({"seat_0": 1.0, "seat_1": 1.0}, True, [])
    assert observations["seat_0"]["observation"].tolist() == [0, 1, 0, 1, 1, 0]


def test_what_cannot_be_made_is_refused_in_one_line() -> None:
    with pytest.raises(UsageFault, match="in nim agents take turns: use env"):
        parallel_env("nim")
    with pytest.raises(UnknownGame, match="there is no game 'chess': one of nim"):
        env("chess")
    with pytest.raises(BadConfig, match="nim has no config key 'colour'"):
        env("nim", {"colour": "red"})
    with pytest.raises(UsageFault, match="render_mode is 'rgb_array': it must be None or one of ansi, human"):
        env("nim", render_mode="rgb_array")
    with pytest.raises(UsageFault, match="nim under this config has no value function 'exact': it has no chance"):
        env("nim", luck="exact")


@pytest.mark.parametrize("name", ["env", "Single"])
def test_without_the_extra_the_way_to_it_is_told(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pettingzoo", None)
    for module in ("bots.environments.environment", "bots.environments.environment"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(UsageFault, match=r"bots.environments needs pettingzoo: pip install 'bot-arena\[rl\]'"):
        getattr(bots.environments, name)


def test_who_does_not_mask_may_have_illegal_actions_lose() -> None:
    world = TerminateIllegalWrapper(env("tictactoe"), -1)
    world.reset()
    world.step(4)
    world.step(4)
    assert (world.rewards, world.terminations) == ({"seat_0": 0, "seat_1": -1}, {"seat_0": True, "seat_1": True})
