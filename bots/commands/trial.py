"""`arena-bot trial`: compares two searches or two sets of weights by games, every start position from both seats."""

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
from bots.commands.output import Json, exit_on_interrupt
from bots.commands.tuning_options import compile_once, read_pool, with_config, with_search
from bots.tuning.genetic import Gene
from bots.tuning.presets import read_preset, tuning_presets
from bots.tuning.selfplay import ScoreAndLuck, Setup, TuningGame, check_setup, play_with_luck
from bots.tuning.session import format_speed
from bots.tuning.tuning import check_seed
from bots.tuning.weights import read_weights, weight_set_names, weighted_games
from machine.console import Console
from machine.terminal import say
from machine.workers.local import WorkerPool, spread
from measuring.adjusted_scores import estimate_scores
from measuring.elo import Comparison, compare_scores
from measuring.pair_scores import SideScore
from measuring.score_format import (
    format_elo_with_interval,
    format_games,
    format_score_with_interval,
    format_superiority,
)
from measuring.value_function import NoLuck
from measuring.value_registry import value_names
from measuring.variance_reduction import VarianceReduction, estimate_reduction, format_reduction
from protocol import VERSION
from protocol.display import list_choices, short_repr
from protocol.errors import UsageFault

MAX_STARTS = 1_000_000
"""The maximum number of start positions of a trial."""


class Side(NamedTuple):
    """A side of a trial: its name on the command line, its search and its weights."""

    name: str
    setup: Setup
    weights: Gene


class TrialResult(NamedTuple):
    """The result of a trial, from the first side's view.

    - `seat_0`: the mean points of seat 0.
    - `score`: the result without adjustment for luck.
    - `adjusted`: the luck-adjusted result; None with fewer than two start positions.
    - `worth`: how many games without adjustment would give an equally certain result. None if all results are equal or
      there are fewer than `MIN_UNITS` (measuring.pair_scores) start positions.
    - `factor`: `worth` divided by the number of games played.

    The last three are also None if luck is not measured.
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
    game: Annotated[str, typer.Argument(metavar="GAME", help=f"{' or '.join(weighted_games())}.")],
    one: Annotated[
        str, typer.Argument(metavar="SIDE", help=f"WEIGHTS or WEIGHTS:KEY=VALUE,… ({', '.join(weight_set_names())}).")
    ],
    other: Annotated[str, typer.Argument(metavar="SIDE", help="The other side, like equal:draft=greedy.")],
    starts: Annotated[int, typer.Option(help="How many starts; each is played from both seats.")] = 500,
    preset: Annotated[str, typer.Option(help=f"The game and the search: {', '.join(tuning_presets())}.")] = "paired",
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A number of the search, for both.")
    ] = None,
    config: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="A config key of the game.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Worker processes [one per core].")] = None,
    dask: Annotated[str | None, typer.Option(metavar="ADDRESS", help="A Dask scheduler instead of --jobs.")] = None,
    seed: Annotated[str | None, typer.Option(help="The same seed gives the same games.")] = None,
    value: Annotated[
        str | None, typer.Option(help="Value function that measures luck [the best there is]; none: leave luck in.")
    ] = None,
    json_: Json = False,
) -> None:
    """Compare two sets of weights, or two searches, by matches.

    Each start is played from both seats.
    """
    if not 1 <= starts <= MAX_STARTS:
        raise UsageFault(f"--starts is {starts:,}: 1 to {MAX_STARTS:,}")
    setup = read_setup(game, preset, config or (), set_ or ())
    sides = read_side(setup, one), read_side(setup, other)
    seed = secrets.token_hex(4) if seed is None else seed
    check_seed(seed)
    value = read_value_name(setup, value)
    with exit_on_interrupt(lambda: "stopped before the last game: a trial has no result before that"):
        crew = read_pool(jobs, dask)
        if dask is None:
            compile_once(setup, value)
        began = monotonic()
        with crew as workers:
            result = _play(workers, sides, seed, starts, value)
    if json_:
        say(_json(sides, seed, value, result))
    else:
        _print(setup, sides, seed, value, result, format_speed(result.games, monotonic() - began))


def read_value_name(setup: Setup, name: str | None) -> str:
    """Return the name of the value function that measures luck: `name`, or by default the game's best one. Raise
    `UsageFault` if the game does not have it.
    """
    names = value_names(check_setup(setup))
    if name is not None and name not in names:
        raise UsageFault(f"--value is {short_repr(name)}: {list_choices(names)}")
    return name or names[0]


def _play(pool: WorkerPool, sides: tuple[Side, Side], seed: str, starts: int, value: str) -> TrialResult:
    console = Console(stderr=True)
    with Progress(console=console, disable=not console.is_terminal, transient=True) as progress:
        bar = progress.add_task("games", total=2 * starts)
        return play_trial(pool, sides, seed, starts, value, lambda: progress.advance(bar))


def play_trial(
    pool: WorkerPool,
    sides: tuple[Side, Side],
    seed: str,
    starts: int,
    value: str,
    on_game_played: Callable[[], object] = lambda: None,
) -> TrialResult:
    """Play all games of a trial. `on_game_played` is called after each game. `value` names the value function that
    measures luck, or is `none`.

    The start positions follow from a seed that begins with `trial/`. No tuning has used them, unless the tuning's seed
    begins so too.
    """
    found: list[list[ScoreAndLuck]] = []
    for seat, (first, second) in enumerate((sides, sides[::-1])):
        # A game's dice follow from its deal and the seat of the first side.
        deals = [f"trial/{seed}/{k}" for k in range(starts)]
        seatings = [TuningGame(first.weights, second.weights, deal, f"{deal}/{seat}") for deal in deals]
        work = partial(play_with_luck, first.setup, version=VERSION, value=value, second_setup=second.setup)
        freed = [ScoreAndLuck(0.0, 0.0)] * starts
        for k, game in spread(pool, work, seatings):
            freed[k] = game
            on_game_played()
        found.append(freed)
    return summarize_games(*found, has_luck=value != NoLuck.name)


def summarize_games(first: Sequence[ScoreAndLuck], second: Sequence[ScoreAndLuck], *, has_luck: bool) -> TrialResult:
    """Return the result of a trial for its first side. Each start position is played twice, with seats swapped: the
    first side has seat 0 in the games of `first`, seat 1 in those of `second`. Both lists have the points and luck of
    seat 0, by start position.
    """
    scores = [
        SideScore(points, luck if has_luck else None, start, seat=seat)
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
        factor=estimate_reduction(scores),
    )


def read_setup(game: str, preset: str, config: Sequence[str], sets: Sequence[str]) -> Setup:
    """Return the game of both sides, its config and their default search. Raise `UsageFault` if an option is wrong."""
    setup = with_config(read_preset(preset, game).setup, read_config(config, None) or {})
    check_setup(setup)
    return _set_search(setup, read_pairs(sets, "--set"), "--set")


def read_side(setup: Setup, text: str) -> Side:
    """Return the side that `text` names. If it is wrong, raise a `UsageFault` that begins with `text`."""
    where = f"side {short_repr(text)}"
    if not text.isprintable():
        raise UsageFault(f"{where}: use printable characters")
    weights, colon, settings = text.partition(":")
    pairs = read_pairs(settings.split(","), f"{where}:") if colon else {}
    searching = _set_search(setup, pairs, where)
    return Side(text, searching, read_weights(where, weights, searching.evaluation, strict=True)[setup.game])


def _set_search(setup: Setup, sets: Mapping[str, str], where: str) -> Setup:
    try:
        setup = with_search(setup, sets)
        check_setup(setup)
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
    unheeded = {} if setup.settings.is_used else asdict(setup.settings)
    search = {key: value for key, value in setup.search.items() if value is not None and key not in unheeded}
    config = {key: short_repr(value) for key, value in json.loads(setup.config).items()}
    rows = {
        "game": ": ".join(filter(None, (setup.game, _format_pairs(config)))),
        "search": _format_pairs(search),
        "one": sides[0].name,
        "other": sides[1].name,
        "games": f"{result.games:,}, each start from both seats; {speed}",
        "score": f"{format_score_with_interval(result.score)} of the points for one; "
        f"{format_elo_with_interval(result.score)}, better {format_superiority(result.score)}",
        "adjusted": _format_adjusted(value, result),
        "won": f"{result.won:,}, drawn {result.drawn:,}, lost {result.lost:,}",
        "seat 0": f"{result.seat_0:.3f} of the points",
        "seed": seed,
    }
    for key, text in rows.items():
        if text:
            indent = " " * 11
            say(textwrap.fill(text, 80, initial_indent=f"{key:<11}", subsequent_indent=indent, break_on_hyphens=False))


def _format_adjusted(value: str, result: TrialResult) -> str:
    if result.adjusted is None:
        return ""
    parts = [f"{format_score_with_interval(result.adjusted)} by {value}"]
    if result.worth is not None and result.factor is not None:
        parts.append(f"worth {format_games(result.worth)} games, {format_reduction(result.factor)}")
    return "; ".join(
        [*parts, f"{format_elo_with_interval(result.adjusted)}, better {format_superiority(result.adjusted)}"]
    )


def _format_pairs(values: Mapping[str, object]) -> str:
    return ", ".join(f"{key} {value}" for key, value in values.items())
