"""`arena-bot tune`: tunes the weights of an evaluation of Risk."""

from __future__ import annotations

import os
import secrets
import shlex
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from bots.client.settings import read_config, read_pairs
from bots.commands.output import exit_on_interrupt
from bots.commands.trial import Side, TrialResult, play_trial
from bots.commands.tuning_options import compile_once, read_pool, with_config, with_numbers
from bots.tuning.file import TuningNotSaved, load_tuning, lock_tuning
from bots.tuning.genetic import fittest_index, median_fitness
from bots.tuning.plot import check_plot, plot
from bots.tuning.presets import read_preset, tuning_presets
from bots.tuning.session import Tuner, format_speed
from bots.tuning.tuning import Tuning, begin_generation, check_tuning, choose_value_function, settable_values
from bots.tuning.weights import weighted_games
from machine.atomic_write import check_replaceable
from machine.terminal import say
from machine.workers.local import WorkerPool
from measuring.score_format import format_score_with_interval
from measuring.value_function import NoLuck
from protocol import VERSION
from protocol.display import short_repr
from protocol.errors import ArenaFault, UsageFault, os_errors_as

_DEFAULT_PRESET = "paper"
"""The preset of a tuning if the option `--preset` is not given."""
FRESH_STARTS = 100
"""The number of new start positions, each played from both seats, on which the resulting weights are measured. A tuning
of fewer games than this is measured on as many start positions as it played games."""
DEFAULT_WEIGHTS_NAME = "equal"
"""The name of the set of default weights."""
_MAX_SHOWN_GENERATIONS = 20
"""The maximum number of generations that the final table shows."""


class TuneOptions(NamedTuple):
    """The command-line options of a tuning. An option that is not given is None."""

    game: str
    preset: str | None
    sets: Mapping[str, str]
    config: Mapping[str, Any]
    seed: str | None


def tune(
    game: Annotated[str, typer.Argument(metavar="GAME", help=f"{' or '.join(weighted_games())}.")],
    preset: Annotated[str | None, typer.Option(help=f"{', '.join(tuning_presets())} [{_DEFAULT_PRESET}].")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A number of the method or the search.")
    ] = None,
    config: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="A config key of the game.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Worker processes [one per core].")] = None,
    dask: Annotated[str | None, typer.Option(metavar="ADDRESS", help="A Dask scheduler instead of --jobs.")] = None,
    seed: Annotated[str | None, typer.Option(help="The same seed gives the same weights.")] = None,
    out: Annotated[str, typer.Option(metavar="FILE", help="Store the tuning in this file.")] = "weights.toml",
    resume: Annotated[bool, typer.Option("--resume", help="Resume the tuning in the file.")] = False,
    plot_: Annotated[
        str | None, typer.Option("--plot", metavar="FILE", help="Write a plot: .svg, .png or .pdf.")
    ] = None,
) -> None:
    """Evolve the weights of Risk's evaluation by matches between them."""
    given = TuneOptions(game, preset, read_pairs(set_ or (), "--set"), read_config(config or (), None) or {}, seed)
    path = _check_output_path("--out", out)
    picture = None if plot_ is None else _check_output_path("--plot", plot_)
    crew = read_pool(jobs, dask)
    if path.suffix != ".toml":
        raise UsageFault(f"--out {path}: it must be a TOML file, like weights.toml")
    if picture is not None:
        check_plot(picture)
    with lock_tuning(path):
        tuning = _tune(given, path, crew, resume=resume, compile_=dask is None)
    if picture is not None:
        plot(tuning, picture)


def _check_output_path(option: str, name: str) -> Path:
    """Return the path of a file that an option names. Raise `UsageFault` if the file can't be written."""
    if not name.isprintable():
        raise UsageFault(f"{option} {short_repr(name)}: it must be the name of a file, in printable characters")
    path = Path(os.path.expanduser(name))
    if os.path.isdir(path) or not os.access(path.parent, os.W_OK):
        raise UsageFault(f"{option} {path} can't be written: name a file in an existing folder")
    with os_errors_as(UsageFault, f"{option} {path} can't be written"):
        check_replaceable(path)
    return path


def _tune(
    options: TuneOptions, path: Path, pool: AbstractContextManager[WorkerPool], *, resume: bool, compile_: bool
) -> Tuning:
    """Play the tuning to its end, print it and return it. Raise `SystemExit` if a signal stops it."""
    if os.path.exists(path) and not resume:
        raise UsageFault(f"{path} exists: --resume continues with it, or name another --out")
    tuning = _load_tuning(options, path) if resume else make_tuning(options)
    if tuning.running is None:
        say(f"arena-bot: {path} is finished: no game is left to play", err=True)
        _print(tuning, path, "", None)
        return tuning
    tuner = Tuner(tuning, path)
    fresh_score = _play(tuner, path, pool, compile_=compile_)
    _print(tuner.tuning, path, _format_duration(tuner), fresh_score)
    return tuner.tuning


def make_tuning(options: TuneOptions) -> Tuning:
    """Return a new tuning from its preset and the options. Raise `UsageFault` if an option is wrong."""
    preset = _DEFAULT_PRESET if options.preset is None else options.preset
    method, setup = read_preset(preset, options.game)
    method, setup = with_numbers(method, with_config(setup, options.config), options.sets)
    seed = secrets.token_hex(4) if options.seed is None else options.seed
    value = choose_value_function(method, setup)
    tuning = Tuning(preset=preset, seed=seed, version=VERSION, method=method, setup=setup, value=value)
    check_tuning(tuning)
    return replace(tuning, running=begin_generation(method, seed, (), len(setup.default_weights)))


def _load_tuning(options: TuneOptions, path: Path) -> Tuning:
    """Return the tuning in the file that the options name. Raise `UsageFault` if an option contradicts the tuning."""
    tuning = load_tuning(str(path))
    held = settable_values(tuning.method, tuning.setup)
    asked = settable_values(*with_numbers(tuning.method, tuning.setup, options.sets))
    said: list[tuple[str, Any, Any]] = [("GAME", options.game, tuning.setup.game)]
    said += [("--preset", tuning.preset if options.preset is None else options.preset, tuning.preset)]
    said += [("--seed", tuning.seed if options.seed is None else options.seed, tuning.seed)]
    said += [(f"--set {key}", asked[key], held[key]) for key in options.sets]
    said += [(f"--config {key}", value, tuning.config.get(key)) for key, value in options.config.items()]
    for option, value, here in said:
        if value != here:
            right = f"write {here}" if option == "GAME" else "leave it out"
            raise UsageFault(
                f"{option} is {_format_value(value)}, but in {path} it is {_format_value(here)}: {right}, or "
                "name another --out"
            )
    if tuning.running is not None and tuning.version != VERSION:
        raise UsageFault(
            f"{path} is of bot-arena {short_repr(tuning.version)}, this is {VERSION}, which may play differently: "
            "continue with that version, or start again with another --out"
        )
    return tuning


def _format_value(value: Any) -> str:
    return "none" if value is None else short_repr(value)


def _play(tuner: Tuner, path: Path, pool: AbstractContextManager[WorkerPool], *, compile_: bool) -> TrialResult:
    """Play the missing games of the tuning, then new games to measure the resulting weights. Return the result of the
    new games. Raise `SystemExit` if a signal stops it.
    """
    tuning = tuner.tuning
    try:
        with exit_on_interrupt(lambda: _format_interruption(tuner.tuning, path)):
            if compile_:
                compile_once(tuning.setup, tuning.value)
            with pool as workers:
                say(f"arena-bot: {tuning.setup.game}, preset {tuning.preset}, seed {tuning.seed}", err=True)
                tuner.run(workers)
                return _measure_result(tuner.tuning, workers)
    except TuningNotSaved:
        raise
    except ArenaFault as fault:
        kept = f"; the games played are kept in {path}: --resume continues" if os.path.exists(path) else ""
        raise ArenaFault(f"{fault}{kept}") from fault


def _measure_result(tuning: Tuning, workers: WorkerPool) -> TrialResult:
    """Measure the resulting weights against the default weights in new games. The tuning's own games overrate them."""
    assert tuning.best is not None
    sides = (
        Side("tuned", tuning.setup, tuning.best[0]),
        Side(DEFAULT_WEIGHTS_NAME, tuning.setup, tuning.setup.default_weights),
    )
    starts = min(FRESH_STARTS, tuning.method.total)
    return play_trial(workers, sides, tuning.seed, starts, tuning.value or NoLuck.name)


def _format_interruption(tuning: Tuning, path: Path) -> str:
    if not os.path.exists(path):
        return "stopped before the first game"
    if tuning.running is None:
        return "stopped after the last game; the same command with --resume shows the result"
    number, total = len(tuning.generations) + 1, tuning.method.total
    where = f"in generation {number} after {tuning.games:,} of {total:,} games"
    return f"stopped {where}; the same command with --resume continues"


def _format_duration(tuner: Tuner) -> str:
    before = tuner.tuning.games - tuner.played
    now = f", {tuner.played:,} of them now" if before else ""
    return f"{now} in {timedelta(seconds=round(tuner.seconds))}, {format_speed(tuner.played, tuner.seconds)}"


def _print(tuning: Tuning, path: Path, spent: str, trial_result: TrialResult | None) -> None:
    """Print the finished generations, the resulting weights and their score in the new games."""
    best = tuning.best
    assert best is not None
    say("generation   best  median  fittest weights")
    earlier = len(tuning.generations) - _MAX_SHOWN_GENERATIONS
    if earlier > 0:
        say(f"{f'1-{earlier}':>10}  are in the file")
    for generation in tuning.generations[-_MAX_SHOWN_GENERATIONS:]:
        at = fittest_index(generation)
        fitness, weights = generation.fitness[at], generation.genes[at]
        say(f"{generation.number:>10}  {fitness:.3f}   {median_fitness(generation):.3f}  {_format_weights(weights)}")
    say(f"\nweights  {_format_weights(best[0])}")
    genes = len(tuning.generations[-1].genes)
    say(f"tuned    {best[1]:.3f}, the best of {genes} in these games, partly by luck")
    if trial_result is not None:
        found = trial_result.adjusted or trial_result.score
        less = "" if trial_result.adjusted is None else " luck-adjusted"
        say(
            f"fresh    {format_score_with_interval(found)}{less}, in {trial_result.games:,} other games "
            f"against {DEFAULT_WEIGHTS_NAME} weights"
        )
    words = ["arena-bot", "trial", tuning.setup.game, f"@{path}", DEFAULT_WEIGHTS_NAME]
    say(f"measure  {shlex.join(words)}")
    say(f"games    {tuning.games:,}{spent}")
    say(f"seed     {tuning.seed}")
    say(f"file     {path}")
    words = ["arena-bot", "run", "ga", "--game", tuning.setup.game, "--set", f"weights=@{path}"]
    say(f"play it  {shlex.join(words)}")


def _format_weights(weights: tuple[float, ...]) -> str:
    return ", ".join(f"{weight:g}" for weight in weights)
