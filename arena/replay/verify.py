"""Whether a record is true: its match refereed and rated once more, and compared with what is stored beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from arena.ratings import rating_system
from protocol.display import counted, shown
from protocol.errors import BadRecord
from protocol.games.base import Game
from protocol.messages import CHANCE
from protocol.names import folded
from protocol.reasons import ILLEGAL, NO_SHOW, VOID
from referee.clock import most_given
from referee.course import Course
from referee.footer import moves_of, pool_of, thinking
from referee.record import Ply, Record, Sealed, Strike
from referee.replay import replay
from referee.result import Result, SeatRating, SeatResult

CLOCK_MS = 1
"""By so much may a clock that was read from a journal differ from the one that was written there."""


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
    paid = course.payoffs
    for what, said, found in (
        ("ranks", footer.ranks, list(course.ranks)),
        ("payoffs", footer.payoffs, paid and [payoff.mean for payoff in paid]),
        ("rounds", footer.rounds, paid and [payoff.rounds for payoff in paid]),
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
        seat = line.seat if isinstance(line, Sealed) else course.to_move
        if isinstance(line, Ply):
            last = line.event.ply
        if isinstance(line, (Ply, Sealed)) and isinstance(seat, int) and seat != CHANCE:
            given[seat] += line.given
            if given[seat] > most:
                back = f"seat {seat} was given back {given[seat]} ms so far"
                raise BadRecord(f"{header.match}: ply {course.ply}: {back}: at most {most} may be")
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


def believed(record: Record) -> list[str]:
    """Name what a record that verifies has on the arena's word: nothing in it shows whether a seat really ran out of
    time or sent a move that was refused, or why a match was called off.
    """
    seats = record.header.seats
    events = [ply.event for ply in record.plies]
    told = [f"that {seats[event.seat].bot} left ({event.out})" for event in events if event.out not in (None, ILLEGAL)]
    if strikes := sum(isinstance(line, Strike) for line in record.lines):
        told.append(f"{counted(strikes, 'strike', 'strikes')} for refused moves")
    if record.footer.reason == VOID:
        told.append("that the match was called off")
    return told


def differences(record: Record, result: Result, ratings: Sequence[SeatRating]) -> Iterator[str]:
    """What is stored otherwise than the record has it, in words.

    `ratings` are of all seats, or none where it is unrated, or was rated anew since. One that was annulled has a record
    of when it was rated. A bot without a name may have any.
    """
    if result.annulled is not None:
        result = replace(result, rated=True, pool=result.annulled, annulled=None)
    recorded = _result_of(record, result.pool)
    yield from _unequal(result, recorded, [name for name in Result.__struct_fields__ if name not in ("seats", "start")])
    if len(result.seats) != len(recorded.seats):
        yield f"there are {len(result.seats)} seats, the record has {len(recorded.seats)}"
        return
    for at, (stored, seat) in enumerate(zip(result.seats, recorded.seats, strict=True)):
        # A name that is registered later may be so in other letters.
        if stored.bot and folded(stored.bot) != folded(seat.bot):
            yield f"seat {at}: bot is {stored.bot!r}, the record says {seat.bot!r}"
        names = ["version", "rank", "reason", "payoff", "rounds"]
        a, b = stored.thought_ms, seat.thought_ms
        if stored.moves is not None or a is not None:  # else of before that was noted
            names.append("moves")
            if not (isinstance(a, int) and isinstance(b, int) and abs(a - b) <= CLOCK_MS):
                names.append("thought_ms")
        for difference in _unequal(stored, seat, names):
            yield f"seat {at}: {difference}"
    if record.footer.ratings is None or record.header.pool is None:
        return  # of before there was a pool for each preset: rated once more since
    said = record.footer.ratings.seats
    for at, (stored_rating, rating) in enumerate(zip(ratings, said, strict=False)):
        for name in SeatRating.__struct_fields__:
            a, b = getattr(stored_rating, name), getattr(rating, name)
            if not isinstance(a, float) or not rating_system.nearly_equal(a, b):
                yield f"seat {at}: {name} is {a!r}, the record says {b!r}"


def _unequal(stored: object, recorded: object, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        a, b = getattr(stored, name), getattr(recorded, name)
        if a != b:
            yield f"{name} is {a!r}, the record says {b!r}"


def _result_of(record: Record, pool: str | None) -> Result:
    """The result; old records say nothing of the pool, and are believed to be of the one that is stored."""
    header, footer = record.header, record.footer
    rated = footer.ratings is not None
    plies = list(record.plies)
    thought: Sequence[tuple[int | None, int | None]] = [(None, None)] * len(header.seats)
    if footer.reason != VOID and plies:
        thought = thinking(header, moves_of(ply.event for ply in plies), plies[-1].clock)
    return Result(
        match=header.match,
        game=header.game,
        config=header.config,
        rated=rated,
        pool=header.pool or pool if rated else None,
        seats=tuple(
            SeatResult(
                bot=seat.bot,
                version=seat.version,
                rank=rank,
                reason=reason,
                moves=moves,
                thought_ms=thought_ms,
                payoff=payoff,
                rounds=rounds,
            )
            for seat, rank, reason, (moves, thought_ms), (payoff, rounds) in zip(
                header.seats, footer.ranks, footer.reasons, thought, record.payoffs, strict=True
            )
        ),
        reason=footer.reason,
        plies=footer.plies,
        digest=footer.digest,
        started=header.started,
        finished=footer.finished,
        tournament=header.tournament,
        place=header.place,
    )
