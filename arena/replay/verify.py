"""Whether a record is true: the match refereed again, its result and ratings computed once more."""

from __future__ import annotations

from typing import Any

from arena.ratings import rating_system
from protocol.display import shown
from protocol.errors import BadRecord
from protocol.games.base import Game
from protocol.reasons import NO_SHOW, VOID
from referee.clock import most_given
from referee.course import Course
from referee.footer import pool_of
from referee.record import Ply, Record
from referee.replay import replay


def verify(record: Record, *, waits: bool = False) -> None:
    """Referee the match again and compare everything. Raises `BadRecord`, naming the ply where the record is wrong.

    One that `waits` to be rated has no ratings yet.
    """
    header, footer = record.header, record.footer
    course, last = _replayed(record)
    end = f"{header.match}: after ply {last}"
    if footer.reason == VOID:
        if record.lines and course.over:
            raise BadRecord(f"{end}: the match was over by {course.reason!r}, yet the footer says {VOID!r}")
        course = course.voided()
    if not course.over:
        raise BadRecord(f"{end}: seat {course.to_move} is to move, yet the footer says {footer.reason!r}")
    reasons = [course.seat_reason(seat) for seat in range(len(header.seats))]
    for what, said, found in (
        ("ranks", footer.ranks, list(course.ranks)),
        ("reason", footer.reason, course.reason),
        ("reasons", footer.reasons, reasons),
        ("plies", footer.plies, course.ply),
        ("digest", footer.digest, course.digest.hex()),
    ):
        if said != found:
            raise BadRecord(f"{end}: {what} should be {found}, the footer says {said}")
    if waits and footer.ratings is None:
        return
    _verify_ratings(record, course.game, end)


def _replayed(record: Record) -> tuple[Course, int]:
    """The course in its end, and the ply of the last event.

    Raises `BadRecord`, also where a seat was given back more time than one may be.
    """
    header = record.header
    given = [0] * len(header.seats)
    most = most_given(header.clock.bank_ms)
    lines = replay(record)
    _, course = next(lines)
    last = 0
    for line, after in lines:
        seat = course.to_move
        if isinstance(line, Ply):
            last = line.event.ply
            if seat is not None:
                given[seat] += line.given
                if given[seat] > most:
                    back = f"seat {seat} was given back {given[seat]} ms so far"
                    raise BadRecord(f"{header.match}: ply {last}: {back}: at most {most} may be")
        course = after
    return course, last


def _verify_ratings(record: Record, game: Game[Any, Any], end: str) -> None:
    header, footer, ratings = record.header, record.footer, record.footer.ratings
    pool = pool_of(header, game, footer.reason)
    if header.pool is not None and header.pool not in game.pools:
        raise BadRecord(f"{header.match}: the header's pool {shown(header.pool)} is none in which its config is rated")
    if ratings is None:
        before_pools = header.pool is None and NO_SHOW in footer.reasons  # it was unrated then
        if pool is not None and not before_pools:
            raise BadRecord(f"{end}: the match is rated, but the footer has no ratings")
        return
    if pool is None:
        raise BadRecord(f"{end}: the match is not rated, but the footer has ratings")
    if header.pool is None and ratings.pool == header.game:
        pool = header.game
    try:
        rating_system.check(pool, ratings, footer.ranks)
    except BadRecord as exc:
        raise BadRecord(f"{end}: {exc}") from exc
