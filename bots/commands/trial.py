"""`arena-bot trial`: plays two sides against each other, every start from both seats, and reports the result."""

from __future__ import annotations

import json
import secrets
import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import fmean
from time import monotonic
from typing import Annotated, NamedTuple

import msgspec
import typer
from msgspec.structs import asdict
from rich.progress import Progress

from bots.client.settings import read_config, read_pairs
from bots.commands.output import Json, stoppable
from bots.commands.tuning_options import compile_once, read_crew, with_config, with_search
from bots.tuning.genetic import Gene
from bots.tuning.presets import PRESETS, read_preset
from bots.tuning.selfplay import Freed, Seats, Setup, check, play_freed
from bots.tuning.session import pace
from bots.tuning.tuning import check_seed
from bots.tuning.weights import NAMES, WEIGHED, read_weights
from machine.console import Console
from machine.terminal import say
from machine.workers.local import WorkerPool, spread
from measuring.elo import Comparison, compare_scores
from measuring.pair_scores import SideScore
from measuring.score_format import better, elo, games, share, times
from measuring.scores import estimate_scores
from measuring.value_function import NoLuck
from measuring.value_registry import names_of
from measuring.variance_reduction import VarianceReduction, factor
from protocol import VERSION
from protocol.display import among, shown
from protocol.errors import UsageFault

MOST_STARTS = 1_000_000


class Side(NamedTuple):
    """A side of a trial: its name on the command line, its search and its weights."""

    name: str
    setup: Setup
    weights: Gene


class TrialResult(NamedTuple):
    """The result of a trial for the first side, with and without adjustment for luck, and for seat 0.

    `worth` is the number of unadjusted games that would be as certain, `factor` that number divided by the games
    played. `adjusted`, `worth` and `factor` are None if luck is not measured or too little was played: fewer than two
    starts for the first, `MIN_UNITS` for the others. `worth` and `factor` are also None if all results are equal.
    """

    games: int
    won: int
    drawn: int
    lost: int
    seat_0: float
    score: Comparison
    adjusted: Comparison | None
    worth: float | None
    factor: VarianceReduction | None


def trial(
    game: Annotated[str, typer.Argument(metavar="GAME", help=f"{' or '.join(WEIGHED)}.")],
    one: Annotated[str, typer.Argument(metavar="SIDE", help=f"WEIGHTS or WEIGHTS:KEY=VALUE,… ({', '.join(NAMES)}).")],
    other: Annotated[str, typer.Argument(metavar="SIDE", help="What it is compared with, as equal:draft=greedy.")],
    starts: Annotated[int, typer.Option(help="How many starts; each is played from both seats.")] = 500,
    preset: Annotated[str, typer.Option(help=f"The game and the search: {', '.join(PRESETS)}.")] = "paired",
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A number of the search, for both.")
    ] = None,
    config: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="A config key of the game.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Worker processes [one a core].")] = None,
    dask: Annotated[str | None, typer.Option(metavar="ADDRESS", help="A Dask scheduler instead of --jobs.")] = None,
    seed: Annotated[str | None, typer.Option(help="The same seed gives the same games.")] = None,
    value: Annotated[
        str | None, typer.Option(help="What luck is measured by [the best there is]; none: it is not.")
    ] = None,
    json_: Json = False,
) -> None:
    """Play two sets of weights, or two ways to search, against each other: each start from both seats."""
    if not 1 <= starts <= MOST_STARTS:
        raise UsageFault(f"--starts is {starts:,}: 1 to {MOST_STARTS:,}")
    setup = read_setup(game, preset, config or (), set_ or ())
    sides = read_side(setup, one), read_side(setup, other)
    seed = secrets.token_hex(4) if seed is None else seed
    check_seed(seed)
    value = read_value_name(setup, value)
    with stoppable(lambda: "stopped before the last game: a trial has its result then"):
        crew = read_crew(jobs, dask)
        if dask is None:
            compile_once(setup, value)
        began = monotonic()
        with crew as workers:
            result = _play(workers, sides, seed, starts, value)
    if json_:
        say(_json(sides, seed, value, result))
    else:
        _print(setup, sides, seed, value, result, pace(result.games, monotonic() - began))


def read_value_name(setup: Setup, name: str | None) -> str:
    """Return the name of the value function that measures luck. Raises `UsageFault` if the game lacks it."""
    names = names_of(check(setup))
    if name is not None and name not in names:
        raise UsageFault(f"--value is {shown(name)}: {among(names)}")
    return name or names[0]


def _play(crew: WorkerPool, sides: tuple[Side, Side], seed: str, starts: int, value: str) -> TrialResult:
    console = Console(stderr=True)
    with Progress(console=console, disable=not console.is_terminal, transient=True) as progress:
        bar = progress.add_task("games", total=2 * starts)
        return play_trial(crew, sides, seed, starts, value, lambda: progress.advance(bar))


def play_trial(
    crew: WorkerPool,
    sides: tuple[Side, Side],
    seed: str,
    starts: int,
    value: str,
    played: Callable[[], object] = lambda: None,
) -> TrialResult:
    """Play all games; `played` is called after each. No tuning plays these starts, unless its seed is like `trial/…`.
    `value` names the value function that measures luck, or is `none`.
    """
    found: list[list[Freed]] = []
    for seat, (first, second) in enumerate((sides, sides[::-1])):
        # A game's dice follow from its deal and the seat of the first side.
        deals = [f"trial/{seed}/{k}" for k in range(starts)]
        seatings = [Seats(first.weights, second.weights, deal, f"{deal}/{seat}") for deal in deals]
        work = partial(play_freed, first.setup, version=VERSION, value=value, second=second.setup)
        freed = [Freed(0.0, 0.0)] * starts
        for k, game in spread(crew, work, seatings):
            freed[k] = game
            played()
        found.append(freed)
    return summed_up(*found, freed=value != NoLuck.name)


def summed_up(first: Sequence[Freed], second: Sequence[Freed], *, freed: bool) -> TrialResult:
    """Return the result from seat 0's games by start, with the first side there in `first`. Luck counts if `freed`."""
    scores = [
        SideScore(points, luck if freed else None, start, seat=seat)
        for start, (one, two) in enumerate(zip(first, second, strict=True))
        for seat, (points, luck) in enumerate((one, (1 - two.score, -two.luck)))
    ]
    own = [score.points for score in scores]
    what = estimate_scores(scores)
    assert what.score is not None
    return TrialResult(
        games=len(own),
        won=own.count(1.0),
        drawn=own.count(0.5),
        lost=own.count(0.0),
        seat_0=fmean(game.score for game in (*first, *second)),
        score=compare_scores(what.score),
        adjusted=None if what.adjusted is None else compare_scores(what.adjusted),
        worth=what.worth,
        factor=factor(scores),
    )


def read_setup(game: str, preset: str, config: Sequence[str], sets: Sequence[str]) -> Setup:
    """Return what both sides play and their default search. Raises `UsageFault`."""
    setup = with_config(read_preset(preset, game).setup, read_config(config, None) or {})
    check(setup)
    return _searching(setup, read_pairs(sets, "--set"), "--set")


def read_side(setup: Setup, text: str) -> Side:
    """Return a side as named on the command line. Raises `UsageFault`, whose message begins with the side."""
    where = f"side {shown(text)}"
    if not text.isprintable():
        raise UsageFault(f"{where}: printable characters")
    weights, colon, settings = text.partition(":")
    pairs = read_pairs(settings.split(","), f"{where}:") if colon else {}
    searching = _searching(setup, pairs, where)
    return Side(text, searching, read_weights(where, weights, searching.evaluation, strict=True)[setup.game])


def _searching(setup: Setup, sets: Mapping[str, str], where: str) -> Setup:
    try:
        setup = with_search(setup, sets)
        check(setup)
    except UsageFault as fault:
        raise UsageFault(f"{where}: {fault}") from fault
    return setup


def _json(sides: tuple[Side, Side], seed: str, value: str, result: TrialResult) -> str:
    setup = sides[0].setup
    told = [{"name": side.name, "weights": side.weights, **side.setup.search} for side in sides]
    what = {"version": VERSION, "game": setup.game, "config": json.loads(setup.config), "seed": seed, "sides": told}
    found = {**result._asdict(), **asdict(result.score), "value": value}
    found["factor"] = None if result.factor is None else result.factor._asdict()
    return msgspec.json.encode({**what, **found}).decode()


def _print(setup: Setup, sides: tuple[Side, Side], seed: str, value: str, result: TrialResult, speed: str) -> None:
    unheeded = {} if setup.settings.heeded else asdict(setup.settings)
    search = {key: value for key, value in setup.search.items() if value is not None and key not in unheeded}
    config = {key: shown(value) for key, value in json.loads(setup.config).items()}
    rows = {
        "game": ": ".join(filter(None, (setup.game, _listed(config)))),
        "search": _listed(search),
        "one": sides[0].name,
        "other": sides[1].name,
        "games": f"{result.games:,}, each start from both seats; {speed}",
        "score": f"{share(result.score)} of the points for one; {elo(result.score)}, better {better(result.score)}",
        "less luck": _less_luck(value, result),
        "won": f"{result.won:,}, drawn {result.drawn:,}, lost {result.lost:,}",
        "seat 0": f"{result.seat_0:.3f} of the points",
        "seed": seed,
    }
    for key, text in rows.items():
        if text:
            indent = " " * 11
            say(textwrap.fill(text, 80, initial_indent=f"{key:<11}", subsequent_indent=indent, break_on_hyphens=False))


def _less_luck(value: str, result: TrialResult) -> str:
    """Return the luck-adjusted result as text; empty if luck was not measured."""
    if result.adjusted is None:
        return ""
    parts = [f"{share(result.adjusted)} by {value}"]
    if result.worth is not None and result.factor is not None:
        parts.append(f"worth {games(result.worth)} games, {times(result.factor)}")
    return "; ".join([*parts, f"{elo(result.adjusted)}, better {better(result.adjusted)}"])


def _listed(values: Mapping[str, object]) -> str:
    return ", ".join(f"{key} {value}" for key, value in values.items())
