"""Every game of OpenSpiel that can be played keeps the contract of a game, and is played, recorded and refereed again.

pip install -e plugins/openspiel[test] && pytest plugins/openspiel/tests
"""

from __future__ import annotations

import os
import random
import resource
import signal
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import pytest

from arena.replay.verify import verify_record
from bot_arena_openspiel.family import game_class, game_names
from bot_arena_openspiel.settings import DecimalSetting, settings_of
from bots.playing.matches import play
from protocol.dice import Dice
from protocol.errors import BadConfig
from protocol.games import guard_game, load_game
from protocol.games.simultaneous import SimultaneousGame
from protocol.games.turn_settings import IntegerSetting
from protocol.messages import CHANCE
from referee.contract import ContractChecker

NAMES = [f"openspiel:{name}" for name in game_names()]
MAX_PLIES = 20_000
"""Number of plies after which a random game counts as endless."""
MAX_PROBED_PLIES = 40
"""Number of plies that are played with each parameter."""
PROBE_MEMORY_BYTES = 2 << 30
PROBE_CPU_S = 5


def test_all_games_of_two_to_ten_seats_are_there_whose_chance_is_open() -> None:
    assert len(NAMES) >= 96


@pytest.mark.parametrize("name", NAMES)
def test_random_games_keep_the_contract(name: str) -> None:
    game = load_game(name)
    checker = ContractChecker(game, max_plies=MAX_PLIES)
    for seed in (1, 2):
        states = checker.check_game(seed).states
        guard_game(game).check_turn(states[-2])  # as when a bot fails
    checker.check_refusals()
    checker.check_hiding()


@pytest.mark.parametrize("name", NAMES)
def test_a_random_match_is_recorded_and_its_record_verifies(name: str) -> None:
    bots = [f"bot{seat}=random" for seat in range(load_game(name).seats)]
    verify_record(play(bots, name, seed=1).record)


@pytest.mark.parametrize("name", NAMES)
def test_no_parameter_that_a_config_may_set_ends_the_process_or_fills_its_memory(name: str) -> None:
    failed = [config for config in _configs(name) if not _survives(name, config)]
    assert failed == []


def _configs(name: str) -> Iterator[dict[str, Any]]:
    """Yield configs with each setting at its bounds, with all at their bounds, and with two at opposite bounds."""
    short_name = name.partition(":")[2]
    settings = settings_of(short_name, game_class(short_name).parameters)
    integers = {key: setting for key, setting in settings.items() if isinstance(setting, IntegerSetting)}
    for key, setting in settings.items():
        if isinstance(setting, IntegerSetting):
            yield from ({key: value} for value in (setting.minimum, setting.minimum + 1, setting.maximum))
        elif isinstance(setting, DecimalSetting):
            yield from ({key: value} for value in ("0", "0.3", f"{setting.maximum:g}"))
        else:
            yield from ({key: value} for value in setting.values[1:])
    yield {key: setting.minimum for key, setting in integers.items()}
    yield {key: setting.maximum for key, setting in integers.items()}
    for (one, low), (other, high) in combinations(integers.items(), 2):
        yield {one: low.minimum, other: high.maximum}
        yield {one: low.maximum, other: high.minimum}


def _survives(name: str, config: Mapping[str, Any]) -> bool:
    """Return whether a process with little memory refuses a config, or plays the beginning of a game under it."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_AS, (PROBE_MEMORY_BYTES, PROBE_MEMORY_BYTES))
            resource.setrlimit(resource.RLIMIT_CPU, (PROBE_CPU_S, PROBE_CPU_S))
            _play_beginning(name, config)
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGKILL
    return status == 0


def _play_beginning(name: str, config: Mapping[str, Any]) -> None:
    try:
        game = load_game(name, config)
    except BadConfig:
        return
    rng, key = random.Random(1), bytes(32)
    state, _ = game.initial(Dice(key, 0))
    for _ in range(MAX_PROBED_PLIES):
        seat, dice = game.to_move(state), Dice(key, game.ply(state))
        for viewer in (*range(game.seats), None):
            game.view(game.encode_state(state), viewer)
        if seat is None:
            game.ranks(state)
            return
        if seat == CHANCE:
            state, _ = game.apply_chance(state, dice)
        elif isinstance(game, SimultaneousGame):
            moves = {mover: rng.choice(game.legal_moves_of(state, mover)) for mover in game.movers(state)}
            state, _ = game.resolve_round(state, moves, dice)
        else:
            state, _ = game.apply(state, rng.choice(game.legal_moves(state)), dice)
