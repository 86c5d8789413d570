"""The options of `arena test`, and what they say is asked of which two bots."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from arena.commands.tournament_options import MOST_ROUNDS, TournamentOptions, TournamentSetup, read_any_format
from arena.ratings.tournament_pairing import TEST
from arena.sprt.evidence import Question
from measuring.sequential import Hypotheses
from measuring.value_registry import names_of, value_of
from protocol.errors import UsageFault
from protocol.games.base import Game

MOST_PAIRS = 10_000
BETTER_BY = 0.02
"""What h1 is where nobody says: points a game above one half."""
NO_VALUE = "none"


class SprtOptions(TournamentOptions, frozen=True, kw_only=True):
    """The options as they were given, those of a tournament of pairs with its own."""

    form: str = TEST
    paired: bool = True
    rounds: int = MOST_PAIRS
    h0: float | None = None
    h1: float | None = None
    unit: str = "score"
    alpha: float = 0.05
    beta: float = 0.05
    raw: bool = False
    value: str | None = None
    pairs: int | None = None
    most: int | None = None


def read_options(options: SprtOptions) -> tuple[TournamentSetup, Question]:
    """What is played and what is asked; the value by which luck is measured is at hand then, which may take seconds.

    Raises `UsageFault`, and `BotFault` for a game that can't be.
    """
    if len(options.bots) != 2:
        raise UsageFault(f"a test is of two bots: {len(options.bots)} given")
    fixed = options.pairs is not None
    for word, count in (("--pairs", options.pairs), ("--most", options.most)):
        if count is not None and not 1 <= count <= MOST_ROUNDS:
            raise UsageFault(f"{word} is {count}: it is 1 to {MOST_ROUNDS}")
    if fixed and not (options.h0 is options.h1 is options.most is None):
        raise UsageFault("--pairs is for so many pairs, whatever they show: without --h0, --h1 and --most")
    rounds = options.pairs or options.most or MOST_PAIRS
    setup = read_any_format(replace(options, rounds=rounds))
    question = Question(hypotheses=None if fixed else _hypotheses(options), value=_value(options, setup.schedule.rules))
    asked = {"rounds": rounds if fixed else None, "test": msgspec.to_builtins(question)}
    schedule = replace(setup.schedule, arguments={**setup.schedule.arguments, **asked})
    return replace(setup, schedule=schedule), question


def _hypotheses(options: SprtOptions) -> Hypotheses:
    if options.h1 is None and (options.unit != "score" or options.h0 is not None):
        raise UsageFault("--h1 is missing: what A has more than B if it is better, like --h0 0 --h1 0.02")
    return Hypotheses(
        h0=options.h0 or 0.0,
        h1=BETTER_BY if options.h1 is None else options.h1,
        unit=options.unit,  # type: ignore[arg-type]  # it says what it may be
        alpha=options.alpha,
        beta=options.beta,
    )


def _value(options: SprtOptions, rules: Game[Any, Any]) -> str | None:
    """The name of the value, which is made sure of before any worker asks for it; None for results as they are."""
    if options.raw and options.value is not None:
        raise UsageFault(f"--raw takes no luck out of results, --value {options.value} does: one of them")
    if options.raw or (options.value is None and names_of(rules)[0] == NO_VALUE):
        return None
    if options.unit == "nelo":
        raise UsageFault("normalised Elo is of results with luck left in: --unit nelo goes with --raw")
    name = value_of(rules, options.value).name
    return None if name == NO_VALUE else name
