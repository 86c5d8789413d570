"""How good the moves of a match were, where its game is solved: what each gave away, and each seat on average."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from arena.replay.luck import luck_in
from machine.exact.judging import judge_of
from machine.exact.verdict import Verdict
from measuring.luck import Luck
from protocol.games.base import Game
from protocol.messages import Event
from referee.record import Record
from referee.redo import moves, replay


class Graded(Struct, frozen=True, kw_only=True):
    """A move as JSON tells it. `best` is the move itself where nothing is better; the notations are for people."""

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


class Mark(Struct, frozen=True, kw_only=True):
    """How a seat did: the moves it made and what one gave away on average; None if there was none."""

    seat: int
    bot: str
    moves: int
    mean: float | None


class Grades(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A match and its grades, as JSON tells them; its luck where dice are thrown."""

    match: str
    game: str
    moves: list[Graded]
    seats: list[Mark]
    luck: Luck | None = None


def grade(record: Record, value: str | None = None) -> Grades:
    """The grades of a match, and its luck by the `value` of that name, or the best there is.

    Raises `UsageFault` where its game is not solved or has no such value, `BadRecord` as `replay` does.
    """
    header, moves = record.header, list(graded(record))
    marks = [_mark(seat, player.bot, moves) for seat, player in enumerate(header.seats)]
    return Grades(match=header.match, game=header.game, moves=moves, seats=marks, luck=luck_in(record, value))


def graded(record: Record) -> Iterator[Graded]:
    """Every move of the match. Raises as `grade` does."""
    lines = replay(record)
    _, course = next(lines)
    judge = judge_of(course.game)
    for moved in moves(course, lines):
        yield _graded(record, course.game, moved.event, moved.move, judge(moved.before, moved.move))


def _graded(record: Record, game: Game[Any, Any], event: Event, move: Any, verdict: Verdict) -> Graded:
    return Graded(
        ply=event.ply,
        seat=event.seat,
        bot=record.header.seats[event.seat].bot,
        move=game.encode_move(move),
        notation=game.notation(move),
        value=verdict.value,
        best=game.encode_move(verdict.best),
        best_notation=game.notation(verdict.best),
        best_value=verdict.best_value,
        gave_away=verdict.best_value - verdict.value,
    )


def _mark(seat: int, bot: str, moves: Sequence[Graded]) -> Mark:
    lost = [move.gave_away for move in moves if move.seat == seat]
    mean = sum(lost) / len(lost) if lost else None
    return Mark(seat=seat, bot=bot, moves=len(lost), mean=mean)
