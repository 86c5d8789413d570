"""Copies of environments, made fresh and in the middle of games: they play on like the original, and apart from it."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bots.environments import Single, VectorGames, VectorSingle, env, parallel_env

WAYS: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "pickle": lambda world: pickle.loads(pickle.dumps(world)),
}
LUCK = [("risk-duel", "exact"), ("risk-campaign", "fitted-1"), ("leduc", "equilibrium")]
"""Values of luck, one of each kind: a table, fitted features, and values of hands."""
IN_TURNS = [
    *((game, "none") for game in ("nim", "grundy", "tictactoe", "risk-duel", "risk-campaign", "dilemma", "kuhn")),
    *LUCK,
]
BATCHED = [("nim", "none"), ("tictactoe", "none"), ("risk-campaign", "none"), ("risk-duel", "features-1")]


def play_in_turns(world: Any, steps: int) -> list[Any]:
    seen = []
    for _ in range(steps):
        observation, reward, over, _, _ = world.last()
        seen.append((world.agent_selection, observation["observation"].tolist(), reward, over))
        world.step(None if over else int(observation["action_mask"].argmax()))
    return seen


def play_single(world: Any, steps: int) -> list[Any]:
    seen = []
    for _ in range(steps):
        vector, reward, over, _, _ = world.step(world.action_masks().argmax())
        seen.append((vector.tolist(), reward, over))
        if over:
            vector, _ = world.reset()
            seen.append((vector.tolist(), 0.0, False))
    return seen


def play_all_seats(world: Any, steps: int) -> list[Any]:
    seen = []
    for _ in range(steps):
        vectors, masks = world.observe()
        rewards, ended, over = world.step(masks.argmax(1))
        seen.append((vectors.tolist(), world.to_move.tolist(), rewards.tolist(), ended.tolist(), over.tolist()))
    return seen


def play_vector(world: Any, steps: int) -> list[Any]:
    seen = []
    for _ in range(steps):
        vectors, rewards, over, _, infos = world.step(world.action_masks().argmax(1))
        seen.append((vectors.tolist(), rewards.tolist(), over.tolist(), infos["action_mask"].tolist()))
    return seen


def play_together(world: Any, steps: int) -> list[Any]:
    return [str(world.step(dict.fromkeys(world.agents, 0))) for _ in range(steps)]


ENVIRONMENTS = [
    *(pytest.param(lambda g=g, v=v: env(g, luck=v), play_in_turns, id=f"env-{g}-{v}") for g, v in IN_TURNS),
    *(pytest.param(lambda g=g, v=v: Single(g, luck=v), play_single, id=f"Single-{g}-{v}") for g, v in IN_TURNS),
    *(
        pytest.param(lambda g=g, v=v: VectorGames(g, num_envs=3, luck=v), play_all_seats, id=f"VectorGames-{g}-{v}")
        for g, v in BATCHED
    ),
    *(
        pytest.param(lambda g=g, v=v: VectorSingle(g, num_envs=3, luck=v), play_vector, id=f"VectorSingle-{g}-{v}")
        for g, v in BATCHED
    ),
    pytest.param(lambda: parallel_env("dilemma"), play_together, id="parallel_env-dilemma"),
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("make", "play"), ENVIRONMENTS)
def test_a_copy_in_the_middle_of_a_game_plays_on_as_the_original_does_and_apart_from_it(
    make: Callable[[], Any], play: Callable[[Any, int], list[Any]], way: str
) -> None:
    world = make()
    world.reset(seed=4)
    play(world, 2)
    copied = WAYS[way](world)
    assert play(copied, 4) == play(world, 4)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("make", "play"), ENVIRONMENTS)
def test_a_copy_of_a_fresh_environment_begins_and_plays_by_itself(
    make: Callable[[], Any], play: Callable[[Any, int], list[Any]], way: str
) -> None:
    world = make()
    copied = WAYS[way](world)
    copied.reset(seed=4)
    play(copied, 1)
    world.reset(seed=4)
    copied.reset(seed=4)
    assert play(copied, 4) == play(world, 4)


def test_turns_of_a_copied_vector_environment_go_on() -> None:
    copied = copy.deepcopy(VectorGames("nim", num_envs=2))
    copied.reset(seed=1)
    before = copied.to_move
    copied.step(copied.observe()[1].argmax(1))
    assert (copied.to_move == 1 - before).all()


def test_two_copies_have_dice_of_their_own() -> None:
    world = VectorGames("risk-campaign", {"map": "south-america", "players": 2}, num_envs=2)
    world.reset(seed=1)
    copied = copy.copy(world)
    copied.batch.seed([7, 8])
    assert not np.array_equal(copied.batch.generators, world.batch.generators)
