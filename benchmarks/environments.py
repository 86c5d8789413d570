"""Measure the steps per second of environments: for many games at once, for a single game, and OpenSpiel's.

In a step, the player to move gets a vector and a mask and takes a random legal action. A finished game restarts. In
each of several rounds, all environments are measured in turn, in processor time, so that other load matters little. The
program prints the median, minimum and maximum of the rounds. Ratios compare environments within a round.

`python benchmarks/environments.py [--seconds 0.3] [--rounds 5]`
The program takes a minute. OpenSpiel needs `pip install open_spiel`; `ARENA_PLAIN=1` measures uncompiled rules.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from statistics import median
from typing import Any

import numpy as np
from toolkit import option, read_options

from bots.environments import VectorGames, VectorSingle, env
from bots.environments.vector_single import choose_uniformly
from machine.compiled import HAS_NUMBA

BATCH_GAMES = 1024
"""The number of games that an environment for many games plays at once."""
SPIEL_GAMES = 16
"""The number of games in OpenSpiel's vector environment, which plays them one after the other."""
SPIEL_NAMES = {"nim": "nim(pile_sizes=3;5;7,is_misere=false)", "tictactoe": "tic_tac_toe"}
"""The name of each game in OpenSpiel, with parameters."""
GAMES: Sequence[tuple[str, Mapping[str, Any], str | None]] = (
    ("nim", {}, "none"),
    ("tictactoe", {}, "none"),
    ("risk-duel", {}, "none"),
    ("risk-duel", {}, "exact" if HAS_NUMBA else "features-1"),
    ("risk-campaign", {}, "none"),
    ("risk-campaign", {"preset": "world"}, "none"),
)
"""The games to measure, each with its config and the value function that measures luck."""
StepFunction = Callable[[], int]
"""The type of a function that plays for a few milliseconds and returns the number of steps."""
ROW_FORMAT = "{:<28}{:<34}{:>12}{:>26}{:>9}{:>20}"
"""The format of a row of the printed table."""


def main() -> None:
    given = read_options(__doc__, seconds=option(0.3, "for each, in each round"), rounds=5)
    print(f"{os.cpu_count()} processors, of which one at a time; batches of {BATCH_GAMES:,} games")
    print(ROW_FORMAT.format("game", "environment", "steps/s", "", "batch is", ""))
    for game, config, luck in GAMES:
        named = f"{game} {config.get('preset', '')}".strip() + ("" if luck == "none" else f", luck {luck}")
        print_speeds(named, make_environments(game, config, luck), given.seconds, given.rounds)


def make_environments(game: str, config: Mapping[str, Any], luck: str | None) -> dict[str, StepFunction]:
    """Return the step functions of the environments to compare, by name. The batch of many games comes first."""
    found = {
        "batch, all seats": make_batch(game, config, luck),
        "batch, a seat against others": make_single_seat_batch(game, config, luck),
        "one at a time (PettingZoo)": make_pettingzoo(game, config, luck),
    }
    if game in SPIEL_NAMES and find_spec("pyspiel") is not None:
        found["OpenSpiel, states"] = make_spiel_states(SPIEL_NAMES[game])
        found["OpenSpiel, SyncVectorEnv"] = make_spiel_vector(SPIEL_NAMES[game])
    return found


def print_speeds(game: str, found: Mapping[str, StepFunction], seconds: float, rounds: int) -> None:
    for stepping in found.values():
        stepping()  # warm up: some code is compiled at the first call
    speeds: dict[str, list[float]] = {name: [] for name in found}
    for _ in range(rounds):
        for name, stepping in found.items():
            steps, began = 0, time.process_time()
            while (spent := time.process_time() - began) < seconds:
                steps += stepping()
            speeds[name].append(steps / spent)
    first = next(iter(speeds.values()))
    for name, own in speeds.items():
        ratios = [one / other for one, other in zip(first, own, strict=True)]
        figures = f"{median(own):,.0f}", f"{min(own):,.0f} to {max(own):,.0f}"
        beside = f"{median(ratios):,.1f}x", f"{min(ratios):,.1f} to {max(ratios):,.1f}"
        print(ROW_FORMAT.format(game, name, *figures, *beside), flush=True)


def make_batch(game: str, config: Mapping[str, Any], luck: str | None) -> StepFunction:
    games = VectorGames(game, config, num_envs=BATCH_GAMES, luck=luck)
    games.reset(seed=1)
    draw = np.random.default_rng(1)

    def stepping() -> int:
        games.step(choose_uniformly(*games.observe(), draw))
        return BATCH_GAMES

    return stepping


def make_single_seat_batch(game: str, config: Mapping[str, Any], luck: str | None) -> StepFunction:
    """Return a step function for a batch of games in which one seat takes the actions and random opponents play the
    others. The step function returns the number of steps, including those of the opponents.
    """
    made = 0

    def opponent(vectors: Any, masks: Any, draw: np.random.Generator) -> Any:
        nonlocal made
        made += len(vectors)
        return choose_uniformly(vectors, masks, draw)

    world = VectorSingle(game, config, num_envs=BATCH_GAMES, opponent=opponent, luck=luck)
    world.reset(seed=1)
    draw, nothing = np.random.default_rng(1), np.empty((0, 0), np.float32)

    def stepping() -> int:
        nonlocal made
        made = 0
        masks = world.action_masks()
        world.step(choose_uniformly(nothing, masks, draw))
        return made + int(masks.any(1).sum())

    return stepping


def make_pettingzoo(game: str, config: Mapping[str, Any], luck: str | None) -> StepFunction:
    world = env(game, config, luck=luck)
    world.reset(seed=1)
    draw = random.Random(1)

    def stepping() -> int:
        made = 0
        for _ in range(20):
            if not world.agents:
                world.reset()
            observation, _, terminated, _, _ = world.last()
            world.step(None if terminated else draw.choice(np.flatnonzero(observation["action_mask"])))
            made += not terminated
        return made

    return stepping


def make_spiel_states(name: str) -> StepFunction:
    import pyspiel

    rules, draw = pyspiel.load_game(name), random.Random(1)
    state = rules.new_initial_state()

    def stepping() -> int:
        nonlocal state
        for _ in range(100):
            if state.is_terminal():
                state = rules.new_initial_state()
            state.observation_tensor()
            state.legal_actions_mask()
            state.apply_action(draw.choice(state.legal_actions()))
        return 100

    return stepping


def make_spiel_vector(name: str) -> StepFunction:
    from open_spiel.python.rl_agent import StepOutput
    from open_spiel.python.rl_environment import Environment
    from open_spiel.python.vector_env import SyncVectorEnv

    worlds, draw = SyncVectorEnv([Environment(name) for _ in range(SPIEL_GAMES)]), random.Random(1)
    times = worlds.reset()

    def stepping() -> int:
        nonlocal times
        legal = (each.observations["legal_actions"][each.observations["current_player"]] for each in times)
        times, *_ = worlds.step([StepOutput(draw.choice(actions), None) for actions in legal], reset_if_done=True)
        return SPIEL_GAMES

    return stepping


if __name__ == "__main__":
    main()
