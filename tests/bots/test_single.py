"""One seat of a game for a learner: the others play by themselves, and nothing that it is rewarded for is lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import ActionWrapper, Env
from gymnasium.utils.env_checker import check_env

from bots.environments import Single
from bots.environments.encodings import Mask, Vector
from bots.environments.environment import choose_uniformly
from protocol.errors import IllegalMove, UsageFault

GAMES = [("tictactoe", {}), ("risk-duel", {}), ("risk-campaign", {"map": "south-america", "players": 4})]


def first(vector: Vector, mask: Mask, random: np.random.Generator) -> int:
    return int(np.flatnonzero(mask)[0])


def play(world: Single, seed: int | None) -> tuple[float, str]:
    """What the learner, moving at random, got in all, and where it sat."""
    vector, _ = world.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        assert vector in world.observation_space
        action = choose_uniformly(vector, world.action_masks(), world.np_random)
        vector, reward, over, _, _ = world.step(np.int64(action))
        total += reward
    assert not world.action_masks().any()
    return total, world.agent


class Legal(ActionWrapper[Vector, np.int64, np.int64]):
    """Takes the legal action that follows, where one is masked: `check_env` knows no masks."""

    def action(self, action: np.int64) -> np.int64:
        legal = np.flatnonzero(self.get_wrapper_attr("action_masks")())
        return np.int64(legal[np.searchsorted(legal, action) % len(legal)])


@pytest.mark.parametrize(("game", "config"), GAMES)
@pytest.mark.filterwarnings("ignore::UserWarning")  # the checker's, of what is not registered with Gymnasium
def test_gymnasiums_own_test_of_an_environment_finds_nothing_wrong(game: str, config: dict[str, object]) -> None:
    check_env(Legal(Single(game, config, render_mode="ansi")), skip_render_check=True)


@pytest.mark.parametrize(("game", "config"), GAMES)
def test_the_learner_gets_what_its_seat_is_worth_and_sits_in_every_one(game: str, config: dict[str, object]) -> None:
    world = Single(game, config)
    assert isinstance(world, Env)
    sat = set()
    for seed in range(30):
        total, agent = play(world, seed)
        ranks = world.environment.rules.ranks(world.environment.position)
        seat = world.environment.possible_agents.index(agent)
        better = sum(rank < ranks[seat] for rank in ranks)
        worse = sum(rank > ranks[seat] for rank in ranks)
        if world.environment.rules.to_move(world.environment.position) is None:
            assert total == pytest.approx((worse - better) / (len(ranks) - 1))
        sat.add(agent)
    assert sat == set(world.environment.possible_agents)


def test_a_game_that_is_over_before_it_begins_is_refused() -> None:
    with pytest.raises(UsageFault, match="nim_v1: under this config the game is over before it begins"):
        Single("nim", {"heaps": [0]}).reset()


def test_a_game_that_has_not_begun_asks_for_a_reset_and_an_opponent_is_a_function() -> None:
    world = Single("nim", render_mode="ansi")
    for call in (lambda: world.step(np.int64(0)), world.action_masks, world.render):
        with pytest.raises(UsageFault, match=r"the game has not begun: call reset\(\) first"):
            call()
    by_name: Any = "random"
    with pytest.raises(
        UsageFault, match="opponent is 'random': it must be a function of a vector, a mask and a generator"
    ):
        Single("nim", opponent=by_name)


def test_luck_in_the_opponents_throws_is_taken_off_too() -> None:
    returns = [play(Single("risk-duel", {"map": "australia"}, luck=luck), 3)[0] for luck in ("none", "features-1")]
    assert returns[0] in (-1, 1)
    assert returns[1] not in (-1, 0, 1)
    spreads = [
        np.std([play(world, seed)[0] for seed in range(30)])
        for world in (Single("risk-duel", luck="none"), Single("risk-duel", luck="features-1"))
    ]
    assert spreads[1] < 0.6 * spreads[0]


def test_the_same_seed_gives_the_same_game_whoever_the_opponent_is() -> None:
    for opponent in (choose_uniformly, first):
        one, other = (Single("risk-duel", opponent=opponent) for _ in range(2))
        assert [play(one, seed) for seed in (5, None, None)] == [play(other, seed) for seed in (5, None, None)]


def test_a_masked_action_is_refused_and_the_board_drawn_where_asked_for() -> None:
    world = Single("tictactoe", opponent=first, render_mode="ansi")
    world.reset(seed=1)
    taken = int(np.flatnonzero(world.action_masks() == 0)[0]) if not world.action_masks().all() else 9
    with pytest.raises(IllegalMove, match="is masked"):
        world.step(np.int64(taken))
    assert str(world.render()).count("\n") == 2


def test_for_a_human_the_board_is_printed_at_every_move_of_anybody(capsys: pytest.CaptureFixture[str]) -> None:
    world: Any = Single("tictactoe", opponent=first, render_mode="human")
    world.reset(seed=1)
    over = False
    while not over:
        *_, over, _, _ = world.step(np.int64(np.flatnonzero(world.action_masks())[-1]))
    boards = capsys.readouterr().out.split("\n\n")[:-1]
    marks = [9 - board.count(".") for board in boards]
    assert marks == list(range(len(boards)))
    assert boards[-1] == world.environment.rules.draw_board(world.environment.position)
    assert world.render() is None, "it is printed already"
