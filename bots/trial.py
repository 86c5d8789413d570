"""`arena-bot trial`: two sides against each other in process, every start from both seats: who is better, and how sure
that is.
"""

from __future__ import annotations

import json
import math
import secrets
import sys
from collections.abc import Sequence
from functools import partial
from statistics import fmean, stdev
from time import monotonic
from typing import Annotated, NamedTuple

import typer
from rich.progress import track

from bots.presets import PRESETS
from bots.selfplay import Seats, Setup, check, play_all
from bots.settings import read_config, read_pairs
from bots.tuned import SEARCH
from bots.tuner import pace
from bots.tuning import Gene
from bots.tuning_options import compile_once, read_crew, read_preset, with_config, with_search
from bots.weights import GAMES, NAMES, read_weights
from bots.workers import Crew, spread
from protocol import VERSION
from protocol.errors import UsageFault

MOST_STARTS = 1_000_000
Z95 = 1.959963984540054
_PRESET = "paired"


class Side(NamedTuple):
    """What plays: weights, and how a move is searched."""

    setup: Setup
    weights: Gene


class Outcome(NamedTuple):
    """What the first side made of its games: its share of the points with a 95 % interval; and what seat 0 made."""

    games: int
    won: int
    drawn: int
    lost: int
    score: float
    low: float
    high: float
    seat_0: float


def trial(
    game: Annotated[str, typer.Argument(metavar="GAME", help=f"{' or '.join(GAMES)}.")],
    one: Annotated[str, typer.Argument(metavar="SIDE", help=f"WEIGHTS or WEIGHTS:KEY=VALUE,… ({', '.join(NAMES)}).")],
    other: Annotated[str, typer.Argument(metavar="SIDE", help="What it is compared with, as equal:draft=greedy.")],
    starts: Annotated[int, typer.Option(help="How many starts; each is played from both seats.")] = 500,
    preset: Annotated[str, typer.Option(help=f"The game and the search: {', '.join(PRESETS)}.")] = _PRESET,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A number of the search, for both.")
    ] = None,
    config: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="A config key of the game.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Worker processes [one a core].")] = None,
    dask: Annotated[str | None, typer.Option(metavar="ADDRESS", help="A Dask scheduler instead of --jobs.")] = None,
    seed: Annotated[str | None, typer.Option(help="The same seed gives the same games.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Play two sets of weights, or two ways to search, against each other: each start from both seats."""
    if not 1 <= starts <= MOST_STARTS:
        raise UsageFault(f"--starts is {starts}: 1 to {MOST_STARTS:,}")
    setup = with_config(read_preset(preset, game).setup, read_config(config or (), None) or {})
    setup = with_search(setup, read_pairs(set_ or (), "--set"))
    sides = read_side(setup, one), read_side(setup, other)
    seed = secrets.token_hex(4) if seed is None else seed
    crew = read_crew(jobs, dask)
    if dask is None:
        compile_once(setup)
    began = monotonic()
    with crew as workers:
        outcome = play_trial(workers, sides, seed, starts)
    if json_:
        print(json.dumps({"game": game, "one": one, "other": other, "seed": seed, **outcome._asdict()}))
    else:
        _print(setup, one, other, outcome)
        print(f"seed {seed}; {pace(outcome.games, monotonic() - began)}")


def read_side(setup: Setup, text: str) -> Side:
    """A side as the command line has it. Raises `UsageFault`."""
    weights, _, settings = text.partition(":")
    changed = with_search(setup, read_pairs(settings.split(","), f"{text[:40]}:")) if settings else setup
    check(changed)
    return Side(changed, read_weights("trial", weights)[setup.game])


def play_trial(crew: Crew, sides: tuple[Side, Side], seed: str, starts: int) -> Outcome:
    """Play all games. Starts are none that a tuning plays, whatever the seeds."""
    scores: list[list[float]] = []
    for first, second in (sides, sides[::-1]):
        games = [Seats(first.weights, second.weights, f"trial/{seed}/{k}") for k in range(starts)]
        work = partial(play_all, first.setup, version=VERSION, second=second.setup)
        found = [0.0] * starts
        results = spread(crew, work, games)
        about = f"{len(scores) + 1}/2"
        for k, score in track(results, about, starts, disable=not sys.stderr.isatty(), transient=True):
            found[k] = score
        scores.append(found)
    return judge(*scores)


def judge(first: Sequence[float], second: Sequence[float]) -> Outcome:
    """From seat 0's scores by start, where the side sat there and where the other did.

    The interval is that of the mean over starts, each the mean of its two games, with two more of each extreme added: so
    it holds for few starts too, and is not empty where the seat decides every game. Source: A. Agresti, B. A. Coull,
    Approximate is better than "exact" for interval estimation of binomial proportions (1998).
    """
    own = [*first, *(1 - score for score in second)]
    halves = [(one + 1 - two) / 2 for one, two in zip(first, second, strict=True)]
    widened = [*halves, 0.0, 0.0, 1.0, 1.0]
    reach = Z95 * stdev(widened) / math.sqrt(len(widened))
    return Outcome(
        games=len(own),
        won=own.count(1.0),
        drawn=own.count(0.5),
        lost=own.count(0.0),
        score=fmean(own),
        low=max(0.0, fmean(widened) - reach),
        high=min(1.0, fmean(widened) + reach),
        seat_0=fmean([*first, *second]),
    )


def _print(setup: Setup, one: str, other: str, outcome: Outcome) -> None:
    keys = SEARCH if setup.game == "risk-campaign" else ("depth", "nodes")
    search = ", ".join(f"{key} {getattr(setup, key)}" for key in keys if getattr(setup, key) is not None)
    print(f"{setup.game} {setup.config}; {search}")
    print(f"{one} against {other}: {outcome.games:,} games, each start from both seats")
    print(f"score    {outcome.score:.3f}, 95 % {outcome.low:.3f}-{outcome.high:.3f}")
    print(f"won      {outcome.won:,}, drawn {outcome.drawn:,}, lost {outcome.lost:,}")
    print(f"seat 0   {outcome.seat_0:.3f} of the points")
