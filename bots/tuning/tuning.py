"""A tuning of weights: its preset, method, setup and progress. genetic.py explains the terms."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from bots.evaluation.base import EQUAL_WEIGHTS
from bots.tuning.genetic import Gene, Generation, Method, breed_genes, draw_first_genes, fittest_index
from bots.tuning.presets import read_preset, tuning_presets
from bots.tuning.selfplay import Setup, check_setup
from machine.arguments import read_value
from measuring.value_function import NoLuck
from measuring.value_registry import value_names
from protocol.display import list_choices, short_repr
from protocol.errors import UsageFault

MAX_TOTAL_GENES = 15_000
"""The maximum number of genes of all generations together. With more, the tuning's file would be too long for
`read_file`.
"""
MAX_SEED_LENGTH = 64
"""The maximum number of characters of a tuning's seed."""


class RunningGeneration(NamedTuple):
    """The generation in progress: its genes, and the score of seat 0 in each game (None: not played yet)."""

    genes: tuple[Gene, ...]
    scores: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """A tuning and its progress. `running` is None when all generations are finished."""

    preset: str
    seed: str
    version: str
    """The version of bot-arena that plays the tuning. Other versions may play different games."""
    method: Method
    setup: Setup
    value: str | None = None
    """The name of the value function that measures luck; None if the fitness is not luck-adjusted."""
    generations: tuple[Generation, ...] = ()
    running: RunningGeneration | None = None

    @property
    def config(self) -> dict[str, Any]:
        """The game's config: the keys that the preset and the user give."""
        config: dict[str, Any] = json.loads(self.setup.config)
        return config

    @property
    def best(self) -> tuple[Gene, float] | None:
        """The fittest weights of the last finished generation, and their fitness."""
        if not self.generations:
            return None
        last = self.generations[-1]
        at = fittest_index(last)
        return last.genes[at], last.fitness[at]

    @property
    def games(self) -> int:
        """The number of games played so far."""
        now = 0 if self.running is None else sum(score is not None for score in self.running.scores)
        return len(self.generations) * self.method.games + now


def begin_generation(
    method: Method, seed: str, generations: Sequence[Generation], weights: int = len(EQUAL_WEIGHTS)
) -> RunningGeneration | None:
    """Return the generation after the finished `generations`. Its games are not yet played. Return None if all
    generations are finished.
    """
    if len(generations) == method.generations:
        return None
    genes = breed_genes(method, seed, generations[-1]) if generations else draw_first_genes(method, seed, weights)
    return RunningGeneration(genes, (None,) * method.games)


def format_config(config: Mapping[str, Any]) -> str:
    """Return the text of a config for a `Setup`. Equal configs give equal texts. Nulls are left out: TOML has none."""
    return json.dumps(drop_nulls(config), sort_keys=True, default=str)


def drop_nulls(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if value is not None}


def check_tuning(tuning: Tuning) -> None:
    """Raise `UsageFault` if a tuning cannot be played or cannot be stored in a file."""
    read_preset(tuning.preset, tuning.setup.game)
    check_seed(tuning.seed)
    check_setup(tuning.setup)
    method = tuning.method
    method.check()
    _check_value(tuning)
    genes = method.genes * method.generations
    if genes > MAX_TOTAL_GENES:
        raise UsageFault(f"genes times generations is {genes:,}: the maximum is {MAX_TOTAL_GENES:,}")


def choose_value_function(method: Method, setup: Setup) -> str | None:
    """Return the name of the best value function to measure luck by; None if the fitness is not luck-adjusted. Raise
    `UsageFault` if the game has no luck.
    """
    if method.fitness == "results":
        return None
    name = value_names(check_setup(setup))[0]
    if name == NoLuck.name:
        raise UsageFault(
            f"fitness is 'adjusted': it must be 'results', because {setup.game} has no dice under this config"
        )
    return name


def _check_value(tuning: Tuning) -> None:
    """Raise `UsageFault` if the tuning's value function does not fit its fitness, or cannot measure luck for the games
    that are still to be played.
    """
    if tuning.method.fitness == "results":
        if tuning.value is not None:
            raise UsageFault(f"value is {short_repr(tuning.value)}: it must be none, because fitness is 'results'")
        return
    names = value_names(check_setup(tuning.setup))
    finished = len(tuning.generations) == tuning.method.generations
    if tuning.value is None or not (finished or tuning.value in names):
        raise UsageFault(f"value is {short_repr(tuning.value)}: {list_choices(names)}")


def check_seed(seed: str) -> None:
    """Raise `UsageFault` if a seed is too long, empty or not printable."""
    if not 1 <= len(seed) <= MAX_SEED_LENGTH or not seed.isprintable():
        raise UsageFault(f"seed is {short_repr(seed)}: it must have 1 to {MAX_SEED_LENGTH} printable characters")


def format_command(tuning: Tuning) -> str:
    """Return the command line that starts the same tuning, without the name of its file."""
    usual = tuning_presets()[tuning.preset][tuning.setup.game]
    words = ["arena-bot", "tune", tuning.setup.game, "--preset", tuning.preset]
    before = settable_values(*usual)
    for key, value in settable_values(tuning.method, tuning.setup).items():
        if value != before[key]:
            words += ["--set", f"{key}={'none' if value is None else value}"]
    usual_config = json.loads(usual.setup.config)
    for key, value in tuning.config.items():
        if key not in usual_config or value != usual_config[key]:
            words += ["--config", f"{key}={_format_value(value)}"]
    return shlex.join([*words, "--seed", tuning.seed])


def settable_values(method: Method, setup: Setup) -> dict[str, Any]:
    """Return the values that `--set` may change, by their keys in `--set`."""
    return {**asdict(method), **setup.search}


def _format_value(value: Any) -> str:
    """Return the text of a config value, from which `read_value` reads the value again."""
    plain = isinstance(value, str) and not value.startswith("@") and read_value(value) == value
    return value if plain else json.dumps(value)
