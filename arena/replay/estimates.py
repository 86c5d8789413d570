"""Who says what moves are worth: who grades a solved game, else who estimates, found among the entry points."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any, NamedTuple

from machine.exact.graders import has_judge, judge_of
from protocol.errors import UsageFault
from protocol.games.base import Game
from protocol.launch import APPRAISERS
from referee.in_process import Appraisal, Appraiser
from referee.replay import Moved


class Opinion(NamedTuple):
    """Who says it: `judge` of a move, and by what it estimates, None where it knows."""

    judge: Callable[[Moved], Appraisal]
    estimate: str | None


def opinion_of(game: Game[Any, Any], match: str, sims: int | None) -> Opinion:
    """Who says what the moves of a match are worth; by so many simulations a move where the game is not solved.

    Raises `UsageFault` where nobody can, and with `sims` None where nobody knows.
    """
    if sims is None or has_judge(game):
        judge = judge_of(game)
        return Opinion(lambda moved: Appraisal(*judge(moved.before, moved.move), error=0.0), None)
    offers = entry_points(group=APPRAISERS)
    if not offers:
        raise UsageFault(f"nobody offers to estimate moves: no package has an entry point in {APPRAISERS}")
    appraiser: Appraiser = next(iter(offers)).load()(game, sims, match)
    return Opinion(lambda moved: appraiser.judge(moved.before, moved.move, moved.event.ply), appraiser.told)
