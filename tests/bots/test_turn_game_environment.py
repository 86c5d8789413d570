"""A game that is its rules and nothing else is an environment for learners."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from pettingzoo.test import api_test

from bots import play
from bots.environments import VectorGames, VectorSingle, env
from bots.environments.batched.single_games import SingleGamesBatch
from bots.environments.encodings import encoding_of
from bots.environments.vector_single import choose_uniformly
from example_games import CONNECT_FOUR, EXAMPLES, ONE_CARD, PIG
from machine.game_discovery import load_game_file
from protocol.errors import IllegalMove, UsageFault
from protocol.games.base import NO_DICE
from registered_games import registered


@pytest.fixture(autouse=True)
def known() -> Iterator[None]:
    """Have the arena know two of the examples."""
    with registered(*(spec for file in ("connect4", "pig") for spec in load_game_file(EXAMPLES / f"{file}.py"))):
        yield


@pytest.mark.parametrize("name", ["connect4", "pig"])
def test_it_is_an_environment_of_pettingzoo(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    api_test(env(name), num_cycles=60)
    assert "Passed" in capsys.readouterr().out


def test_a_file_of_a_game_is_an_environment_and_is_played_by_the_library() -> None:
    file = str(EXAMPLES / "pig.py")
    assert env(file).metadata["name"] == VectorSingle(file, num_envs=1).metadata["name"] == "pig_v1"
    played, known = (play(["random", "r2=random"], game, seed=1) for game in (file, "pig"))
    assert played.result.digest == known.result.digest


def test_a_vector_has_the_seats_own_marks_first() -> None:
    rules: Any = CONNECT_FOUR.rules({"width": 4, "height": 4})
    encoding = encoding_of(rules)
    state = rules.apply(rules.initial(NO_DICE)[0], 2, NO_DICE)[0]
    own, other, empty = np.split(encoding.vector(state, 0), 3)
    assert (own.sum(), other.sum(), empty.sum()) == (1, 0, 15)
    assert own[13] == 1, "the last row is the lowest, and the second cell is in column 2"
    assert (np.split(encoding.vector(state, 1), 3)[1] == own).all()
    assert encoding.moves(state) == {0: 1, 1: 2, 2: 3, 3: 4}


def test_features_are_the_vector_of_a_game_without_a_grid() -> None:
    rules: Any = PIG.rules({"target": 20})
    state = rules.initial(NO_DICE)[0]
    state = state._replace(state=state.state._replace(scores=(5, 10), at_risk=4))
    assert encoding_of(rules).vector(state, 1).tolist() == pytest.approx([0.5, 0.25, 0.2])


def test_a_game_without_marks_and_features_has_no_encoding() -> None:
    with pytest.raises(UsageFault, match="onecard has no encoding: write the method features, or grid and marks"):
        encoding_of(ONE_CARD.rules({}))


@pytest.mark.parametrize("name", ["connect4", "pig", "grundy", "kuhn", "dilemma"])
def test_a_game_without_rules_for_batches_is_played_as_single_games(name: str) -> None:
    """Each game of a vector goes as the environment does alone: views, masks, rewards, and who has settled its rank."""
    rng = np.random.default_rng(1)
    games = VectorGames(name, num_envs=2)
    games.reset(seed=5)
    for _ in range(60):
        alone = copy.deepcopy(games.batch)
        assert isinstance(alone, SingleGamesBatch)
        vectors, masks = games.observe()
        actions = choose_uniformly(vectors, masks, rng)
        rewards, settled, over = games.step(actions)
        for game, environment in enumerate(alone._environments):
            seen = environment.observe(environment.agent_selection)
            assert (seen["observation"] == vectors[game]).all()
            assert (seen["action_mask"] == masks[game]).all()
            environment.step(int(actions[game]))
            for seat, agent in enumerate(environment.possible_agents):
                assert rewards[game, seat] == environment.rewards.get(agent, 0)
                assert settled[game, seat] == environment.terminations.get(agent, True)
            assert over[game] == all(environment.terminations.values())
            if not over[game]:
                assert games.to_move[game] == environment.possible_agents.index(environment.agent_selection)
                assert games.batch.position(game) == environment.position


def test_a_learner_plays_one_seat_of_each_of_many_brought_games() -> None:
    worlds = VectorSingle("connect4", {"width": 4, "height": 4}, num_envs=3, render_mode="ansi")
    worlds.reset(seed=7)
    ended = np.zeros(3, int)
    for _ in range(40):
        _, rewards, over, _, _ = worlds.step(worlds.action_masks().argmax(1))
        assert (rewards[~over] == 0).all()
        ended += over
    assert (ended > 1).all()
    boards = worlds.render()
    assert boards is not None
    assert len(boards) == 3


def test_equal_seeds_give_equal_games_of_dice_and_a_masked_action_changes_nothing() -> None:
    games = [VectorGames("pig", num_envs=3) for _ in range(2)]
    for one in games:
        one.reset(seed=3)
        for _ in range(30):
            one.step(one.observe()[1].argmax(1))
    assert [games[0].batch.position(game) for game in range(3)] == [games[1].batch.position(game) for game in range(3)]
    before = [games[0].batch.position(game) for game in range(3)]
    with pytest.raises(IllegalMove, match=r"action 9 is masked for seat_. of game 1; legal: 0"):
        games[0].step(np.array([0, 9, 0]))
    assert [games[0].batch.position(game) for game in range(3)] == before
