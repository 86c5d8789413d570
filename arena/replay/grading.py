"""How good the moves of a match were: what each gave away, and each seat on average. Known where the game is solved,
estimated elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import entry_points
from typing import Any, NamedTuple

from msgspec import Struct

from arena.replay.luck_report import record_luck
from machine.exact.graders import has_judge, judge_of
from measuring.luck import Luck
from measuring.position_kinds import kinds_of
from measuring.scores import Z95
from protocol.bot_launch import APPRAISERS
from protocol.errors import UsageFault
from protocol.games.base import Game
from referee.in_process import Appraisal, Appraiser
from referee.record import Record
from referee.replay import Moved, moves, replay


class MoveGrader(NamedTuple):
    """Who says it: `judge` of a move, and by what it estimates, None where it knows."""

    judge: Callable[[Moved], Appraisal]
    estimate: str | None


def move_grader_for(game: Game[Any, Any], match: str, sims: int | None) -> MoveGrader:
    """Who says what the moves of a match are worth; by so many simulations a move where the game is not solved.

    Raises `UsageFault` where nobody can, and with `sims` None where nobody knows.
    """
    if sims is None or has_judge(game):
        judge = judge_of(game)
        return MoveGrader(lambda moved: Appraisal(*judge(moved.before, moved.move), error=0.0), None)
    offers = entry_points(group=APPRAISERS)
    if not offers:
        raise UsageFault(f"nobody offers to estimate moves: no package has an entry point in {APPRAISERS}")
    appraiser: Appraiser = next(iter(offers)).load()(game, sims, match)
    return MoveGrader(lambda moved: appraiser.judge(moved.before, moved.move, moved.event.ply), appraiser.told)


class Graded(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A move as JSON tells it. `best` is the move itself where nothing is better; the notations are for people.

    `kinds` are those of its position. Of an estimate, `best` is what the search would play, `error` the standard error
    of what was given away, which is below 0 where the move looks better than that.
    """

    ply: int
    seat: int
    bot: str
    move: dict[str, Any]
    notation: str
    value: float
    best: dict[str, Any]
    best_notation: str
    best_value: float
    gave_away: float
    kinds: dict[str, str] = {}
    error: float | None = None


class Mark(Struct, frozen=True, kw_only=True):
    """How a seat did: the moves it made and what one gave away on average; None if there was none."""

    seat: int
    bot: str
    moves: int
    mean: float | None


class Grades(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A match and its grades, as JSON tells them; its luck where dice are thrown.

    `estimate` says by what the moves were estimated; a loss below `noise` is none that could be told from chance.
    """

    match: str
    game: str
    moves: list[Graded]
    seats: list[Mark]
    luck: Luck | None = None
    estimate: str | None = None
    noise: float | None = None


def grade(
    record: Record,
    value: str | None = None,
    *,
    sims: int | None = None,
    seat: int | None = None,
    with_luck: bool = True,
    told: Callable[[Iterator[Graded]], Iterable[Graded]] = lambda moves: moves,
) -> Grades:
    """The grades of a match, and its luck by the `value` of that name, or the best there is.

    With `sims` they are estimated by so many simulations a move where the game is not solved; with `seat` they are of
    this seat alone. The moves go through `told`, as they are graded. Raises `UsageFault` where nobody can grade them or
    there is no such value, `BadRecord` as `replay` does.
    """
    header = record.header
    opinion, found = _move_grader(record, sims, seat)
    moves = list(told(found))
    marks = [_mark(seat, player.bot, moves) for seat, player in enumerate(header.seats)]
    return Grades(
        match=header.match,
        game=header.game,
        moves=moves,
        seats=marks,
        luck=record_luck(record, value) if with_luck else None,
        estimate=opinion.estimate,
        noise=noise_threshold(moves) if opinion.estimate else None,
    )


def graded(record: Record) -> Iterator[Graded]:
    """Every move of a match of a solved game. Raises as `grade` does."""
    return _move_grader(record, None, None)[1]


def noise_threshold(moves: Iterable[Graded]) -> float | None:
    """What a loss has to be above to be told from chance, with 95 % confidence; None where nothing was compared."""
    errors = [move.error for move in moves if move.error]
    return Z95 * math.sqrt(sum(error**2 for error in errors) / len(errors)) if errors else None


def _move_grader(record: Record, sims: int | None, seat: int | None) -> tuple[MoveGrader, Iterator[Graded]]:
    lines = replay(record)
    _, course = next(lines)
    opinion, kinds = move_grader_for(course.game, record.header.match, sims), kinds_of(course.game)
    chosen = (moved for moved in moves(course, lines) if seat in (None, moved.event.seat))
    return opinion, (_graded(record, course.game, moved, opinion.judge(moved), kinds(moved.before)) for moved in chosen)


def _graded(record: Record, game: Game[Any, Any], moved: Moved, found: Appraisal, kinds: Mapping[str, str]) -> Graded:
    event = moved.event
    return Graded(
        ply=event.ply,
        seat=event.seat,
        bot=record.header.seats[event.seat].bot,
        move=game.encode_move(moved.move),
        notation=game.notation(moved.move),
        value=found.value,
        best=game.encode_move(found.best),
        best_notation=game.notation(found.best),
        best_value=found.best_value,
        gave_away=found.best_value - found.value,
        kinds=dict(kinds),
        error=found.error or None,
    )


def _mark(seat: int, bot: str, moves: Sequence[Graded]) -> Mark:
    lost = [move.gave_away for move in moves if move.seat == seat]
    mean = sum(lost) / len(lost) if lost else None
    return Mark(seat=seat, bot=bot, moves=len(lost), mean=mean)
