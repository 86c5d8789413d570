"""A tuning as a value: its preset, method, setup and progress. genetic.py explains the terms."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from bots.evaluation.base import EQUAL
from bots.tuning.genetic import Gene, Generation, Method, first_genes, fittest, next_genes
from bots.tuning.presets import PRESETS, read_preset
from bots.tuning.selfplay import Setup, check
from machine.arguments import read_value
from measuring.value_function import NoLuck
from measuring.value_registry import names_of
from protocol.display import among, shown
from protocol.errors import UsageFault

MOST_GENES_IN_ALL = 15_000
"""Genes of all generations. With more, the file would be too long for `read_file`."""
MOST_SEED = 64


class Running(NamedTuple):
    """The generation in progress: its genes, and by game the score of seat 0 that counts for the fitness; None if the
    game has not been played.
    """

    genes: tuple[Gene, ...]
    scores: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """A tuning and its progress. `running` is None when all generations are finished."""

    preset: str
    seed: str
    version: str
    """The version of bot-arena. Other versions may play different games."""
    method: Method
    setup: Setup
    value: str | None = None
    """The name of the value function that measures luck, if the fitness is luck-adjusted."""
    generations: tuple[Generation, ...] = ()
    running: Running | None = None

    @property
    def config(self) -> dict[str, Any]:
        """The game's config as given."""
        config: dict[str, Any] = json.loads(self.setup.config)
        return config

    @property
    def best(self) -> tuple[Gene, float] | None:
        """The fittest weights of the last finished generation, with their fitness."""
        if not self.generations:
            return None
        last = self.generations[-1]
        at = fittest(last)
        return last.genes[at], last.fitness[at]

    @property
    def games(self) -> int:
        """Games played so far."""
        now = 0 if self.running is None else sum(score is not None for score in self.running.scores)
        return len(self.generations) * self.method.games + now


def under_way(
    method: Method, seed: str, generations: Sequence[Generation], weights: int = len(EQUAL)
) -> Running | None:
    """Return the generation that follows the finished ones, with no game played; None after the last."""
    if len(generations) == method.generations:
        return None
    genes = next_genes(method, seed, generations[-1]) if generations else first_genes(method, seed, weights)
    return Running(genes, (None,) * method.games)


def config_text(config: Mapping[str, Any]) -> str:
    """Return a config as text for a `Setup`. Equal configs give equal texts. Nulls are dropped, as TOML has none."""
    return json.dumps(present(config), sort_keys=True, default=str)


def present(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table without its nulls."""
    return {key: value for key, value in table.items() if value is not None}


def check_tuning(tuning: Tuning) -> None:
    """Raise `UsageFault` for a tuning that can't be played, or can't be stored in a file."""
    read_preset(tuning.preset, tuning.setup.game)
    check_seed(tuning.seed)
    check(tuning.setup)
    method = tuning.method
    method.check()
    _check_value(tuning)
    genes = method.genes * method.generations
    if genes > MOST_GENES_IN_ALL:
        raise UsageFault(f"genes times generations is {genes:,}: at most {MOST_GENES_IN_ALL:,}")


def value_name(method: Method, setup: Setup) -> str | None:
    """Return the name of the best value function to measure luck by; None if the fitness is not luck-adjusted. Raises
    `UsageFault` if the game has no luck.
    """
    if method.fitness == "results":
        return None
    name = names_of(check(setup))[0]
    if name == NoLuck.name:
        raise UsageFault(f"fitness is 'adjusted': results, as no dice are thrown in {setup.game} under this config")
    return name


def _check_value(tuning: Tuning) -> None:
    """Raise `UsageFault` if the tuning can't measure luck by its value function, unless it is finished."""
    if tuning.method.fitness == "results":
        if tuning.value is not None:
            raise UsageFault(f"value is {shown(tuning.value)}: none, as fitness is 'results'")
        return
    names = names_of(check(tuning.setup))
    finished = len(tuning.generations) == tuning.method.generations
    if tuning.value is None or not (finished or tuning.value in names):
        raise UsageFault(f"value is {shown(tuning.value)}: {among(names)}")


def check_seed(seed: str) -> None:
    """Raise `UsageFault` for a seed that is too long, empty or not printable."""
    if not 1 <= len(seed) <= MOST_SEED or not seed.isprintable():
        raise UsageFault(f"seed is {shown(seed)}: 1 to {MOST_SEED} printable characters")


def command(tuning: Tuning) -> str:
    """Return the command line that makes the tuning, without the option for its file."""
    usual = PRESETS[tuning.preset][tuning.setup.game]
    words = ["arena-bot", "tune", tuning.setup.game, "--preset", tuning.preset]
    before = numbers(*usual)
    for key, value in numbers(tuning.method, tuning.setup).items():
        if value != before[key]:
            words += ["--set", f"{key}={'none' if value is None else value}"]
    usual_config = json.loads(usual.setup.config)
    for key, value in tuning.config.items():
        if key not in usual_config or value != usual_config[key]:
            words += ["--config", f"{key}={_word(value)}"]
    return shlex.join([*words, "--seed", tuning.seed])


def numbers(method: Method, setup: Setup) -> dict[str, Any]:
    """Return everything that `--set` may change, by key."""
    return {**asdict(method), **setup.search}


def _word(value: Any) -> str:
    """Return a config value in the form that `read_value` reads."""
    plain = isinstance(value, str) and not value.startswith("@") and read_value(value) == value
    return value if plain else json.dumps(value)
