"""`arena-bot tune`: a tuning on the command line, from its options to the final table."""

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
from bots.commands.output import stoppable
from bots.commands.trial import Side, TrialResult, play_trial
from bots.commands.tuning_options import compile_once, read_crew, with_config, with_numbers
from bots.tuning.file import NotKept, alone, read
from bots.tuning.genetic import fittest, middle
from bots.tuning.plot import check_plot, plot
from bots.tuning.presets import PRESETS, read_preset
from bots.tuning.session import Tuner, pace
from bots.tuning.tuning import Tuning, check_tuning, numbers, under_way, value_name
from bots.tuning.weights import WEIGHED
from machine.atomic_write import check_replaceable
from machine.terminal import say
from machine.workers.local import WorkerPool
from measuring.score_format import share
from measuring.value_function import NoLuck
from protocol import VERSION
from protocol.display import shown
from protocol.errors import ArenaFault, UsageFault, os_errors_as

_PRESET = "paper"
FRESH_STARTS = 100
"""Starts, each from both seats, that measure the result of a tuning; at most as many as the tuning played games."""
USUAL = "equal"
"""The name of the default weights."""
_SHOWN = 20
"""Generations in the final table."""


class TuneOptions(NamedTuple):
    """The command-line options of a tuning; None if not given."""

    game: str
    preset: str | None
    sets: Mapping[str, str]
    config: Mapping[str, Any]
    seed: str | None


def tune(
    game: Annotated[str, typer.Argument(metavar="GAME", help=f"{' or '.join(WEIGHED)}.")],
    preset: Annotated[str | None, typer.Option(help=f"{', '.join(PRESETS)} [{_PRESET}].")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A number of the method or the search.")
    ] = None,
    config: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="A config key of the game.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Worker processes [one a core].")] = None,
    dask: Annotated[str | None, typer.Option(metavar="ADDRESS", help="A Dask scheduler instead of --jobs.")] = None,
    seed: Annotated[str | None, typer.Option(help="The same seed gives the same weights.")] = None,
    out: Annotated[str, typer.Option(metavar="FILE", help="Where the tuning is kept.")] = "weights.toml",
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the tuning that is in the file.")] = False,
    plot_: Annotated[str | None, typer.Option("--plot", metavar="FILE", help="Draw it: .svg, .png or .pdf.")] = None,
) -> None:
    """Evolve the weights of Risk's evaluation: genes play each other, the best breed."""
    given = TuneOptions(game, preset, read_pairs(set_ or (), "--set"), read_config(config or (), None) or {}, seed)
    path = _place("--out", out)
    picture = None if plot_ is None else _place("--plot", plot_)
    crew = read_crew(jobs, dask)
    if path.suffix != ".toml":
        raise UsageFault(f"--out {path}: a tuning is a TOML file, like weights.toml")
    if picture is not None:
        check_plot(picture)
    with alone(path):
        tuning = _tune(given, path, crew, resume=resume, compile_=dask is None)
    if picture is not None:
        plot(tuning, picture)


def _place(option: str, name: str) -> Path:
    """Return the path of a writable file. Raises `UsageFault`; a full disk only shows at the first write."""
    if not name.isprintable():
        raise UsageFault(f"{option} {shown(name)}: the name of a file, in printable characters")
    path = Path(os.path.expanduser(name))
    if os.path.isdir(path) or not os.access(path.parent, os.W_OK):
        raise UsageFault(f"{option} {path} can't be written: name a file in a folder that is there")
    with os_errors_as(UsageFault, f"{option} {path} can't be written"):
        check_replaceable(path)
    return path


def _tune(
    given: TuneOptions, path: Path, crew: AbstractContextManager[WorkerPool], *, resume: bool, compile_: bool
) -> Tuning:
    """Play the tuning to its end, print it and return it. Raises as `_play` does."""
    if os.path.exists(path) and not resume:
        raise UsageFault(f"{path} exists: --resume goes on with it, or name another --out")
    tuning = _resumed(given, path) if resume else fresh(given)
    if tuning.running is None:
        say(f"arena-bot: {path} is finished: there is nothing to play", err=True)
        _print(tuning, path, "", None)
        return tuning
    tuner = Tuner(tuning, path)
    fresh_score = _play(tuner, path, crew, compile_=compile_)
    _print(tuner.tuning, path, _spent(tuner), fresh_score)
    return tuner.tuning


def fresh(given: TuneOptions) -> Tuning:
    """Return a new tuning from its preset and the options. Raises `UsageFault`."""
    preset = _PRESET if given.preset is None else given.preset
    method, setup = read_preset(preset, given.game)
    method, setup = with_numbers(method, with_config(setup, given.config), given.sets)
    seed = secrets.token_hex(4) if given.seed is None else given.seed
    value = value_name(method, setup)
    tuning = Tuning(preset=preset, seed=seed, version=VERSION, method=method, setup=setup, value=value)
    check_tuning(tuning)
    return replace(tuning, running=under_way(method, seed, (), len(setup.usual)))


def _resumed(given: TuneOptions, path: Path) -> Tuning:
    """Return the tuning in the file. Raises `UsageFault` if an option contradicts it."""
    tuning = read(str(path))
    held = numbers(tuning.method, tuning.setup)
    asked = numbers(*with_numbers(tuning.method, tuning.setup, given.sets))
    said: list[tuple[str, Any, Any]] = [("GAME", given.game, tuning.setup.game)]
    said += [("--preset", tuning.preset if given.preset is None else given.preset, tuning.preset)]
    said += [("--seed", tuning.seed if given.seed is None else given.seed, tuning.seed)]
    said += [(f"--set {key}", asked[key], held[key]) for key in given.sets]
    said += [(f"--config {key}", value, tuning.config.get(key)) for key, value in given.config.items()]
    for option, value, here in said:
        if value != here:
            right = f"write {here}" if option == "GAME" else "leave it out"
            raise UsageFault(
                f"{option} is {_shown(value)}, but in {path} it is {_shown(here)}: {right}, or name another --out"
            )
    if tuning.running is not None and tuning.version != VERSION:
        raise UsageFault(
            f"{path} is of bot-arena {shown(tuning.version)}, this is {VERSION}, which may play otherwise: "
            "go on with that version, or begin anew with another --out"
        )
    return tuning


def _shown(value: Any) -> str:
    return "none" if value is None else shown(value)


def _play(tuner: Tuner, path: Path, crew: AbstractContextManager[WorkerPool], *, compile_: bool) -> TrialResult:
    """Play what is missing, then fresh games with the result. Raises `SystemExit` when stopped by a signal."""
    tuning = tuner.tuning
    try:
        with stoppable(lambda: _stopped(tuner.tuning, path)):
            if compile_:
                compile_once(tuning.setup, tuning.value)
            with crew as workers:
                say(f"arena-bot: {tuning.setup.game}, preset {tuning.preset}, seed {tuning.seed}", err=True)
                tuner.run(workers)
                return _measured(tuner.tuning, workers)
    except NotKept:
        raise
    except ArenaFault as fault:
        kept = f"; the games played are kept in {path}: --resume goes on" if os.path.exists(path) else ""
        raise ArenaFault(f"{fault}{kept}") from fault


def _measured(tuning: Tuning, workers: WorkerPool) -> TrialResult:
    """Play the resulting weights against the default ones in fresh games, as the tuning's own games flatter them."""
    assert tuning.best is not None
    sides = Side("tuned", tuning.setup, tuning.best[0]), Side(USUAL, tuning.setup, tuning.setup.usual)
    starts = min(FRESH_STARTS, tuning.method.total)
    return play_trial(workers, sides, tuning.seed, starts, tuning.value or NoLuck.name)


def _stopped(tuning: Tuning, path: Path) -> str:
    if not os.path.exists(path):
        return "stopped before the first game"
    if tuning.running is None:
        return "stopped after the last game; the same command with --resume shows the result"
    number, total = len(tuning.generations) + 1, tuning.method.total
    where = f"in generation {number} after {tuning.games:,} of {total:,} games"
    return f"stopped {where}; the same command with --resume goes on"


def _spent(tuner: Tuner) -> str:
    """Return as text how long the games of this session took."""
    before = tuner.tuning.games - tuner.played
    now = f", {tuner.played:,} of them now" if before else ""
    return f"{now} in {timedelta(seconds=round(tuner.seconds))}, {pace(tuner.played, tuner.seconds)}"


def _print(tuning: Tuning, path: Path, spent: str, fresh_score: TrialResult | None) -> None:
    """Print the finished generations, the resulting weights and their score in fresh games."""
    best = tuning.best
    assert best is not None
    say("generation   best  median  fittest weights")
    earlier = len(tuning.generations) - _SHOWN
    if earlier > 0:
        say(f"{f'1-{earlier}':>10}  are in the file")
    for generation in tuning.generations[-_SHOWN:]:
        at = fittest(generation)
        fitness, weights = generation.fitness[at], generation.genes[at]
        say(f"{generation.number:>10}  {fitness:.3f}   {middle(generation):.3f}  {_text(weights)}")
    say(f"\nweights  {_text(best[0])}")
    genes = len(tuning.generations[-1].genes)
    say(f"tuned    {best[1]:.3f}: the best of {genes} by these games, and so the luckiest, too")
    if fresh_score is not None:
        found = fresh_score.adjusted or fresh_score.score
        less = "" if fresh_score.adjusted is None else " less luck"
        say(f"fresh    {share(found)}{less}, in {fresh_score.games:,} other games against {USUAL} weights")
    words = ["arena-bot", "trial", tuning.setup.game, f"@{path}", USUAL]
    say(f"measure  {shlex.join(words)}")
    say(f"games    {tuning.games:,}{spent}")
    say(f"seed     {tuning.seed}")
    say(f"file     {path}")
    words = ["arena-bot", "run", "ga", "--game", tuning.setup.game, "--set", f"weights=@{path}"]
    say(f"play it  {shlex.join(words)}")


def _text(weights: tuple[float, ...]) -> str:
    return ", ".join(f"{weight:g}" for weight in weights)
