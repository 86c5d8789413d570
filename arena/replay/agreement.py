"""Whether a record says what is stored beside it: the result, seat by seat, and the ratings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from arena.ratings import ladder
from arena.referee.record import Record
from arena.referee.result import Result, SeatRating, SeatResult
from protocol.names import folded


def differences(record: Record, result: Result, ratings: Sequence[SeatRating]) -> Iterator[str]:
    """What is stored otherwise than the record has it, in words. `ratings` are of all seats, or none where unrated."""
    recorded = _result_of(record, result.pool)
    for name in Result.__struct_fields__:
        if name != "seats":
            yield from _difference(name, getattr(result, name), getattr(recorded, name))
    if len(result.seats) != len(recorded.seats):
        yield f"there are {len(result.seats)} seats, the record has {len(recorded.seats)}"
        return
    for at, (stored, seat) in enumerate(zip(result.seats, recorded.seats, strict=True)):
        if folded(stored.bot) != folded(seat.bot):  # a name that is registered later may be so in other letters
            yield f"seat {at}: bot is {stored.bot!r}, the record says {seat.bot!r}"
        for name in ("version", "rank", "reason"):
            for difference in _difference(name, getattr(stored, name), getattr(seat, name)):
                yield f"seat {at}: {difference}"
    if record.footer.ratings is None or record.header.pool is None:
        return  # of before there was a pool for each preset: rated once more since
    said = record.footer.ratings.seats
    for at, (stored_rating, rating) in enumerate(zip(ratings, said, strict=False)):
        for name in SeatRating.__struct_fields__:
            a, b = getattr(stored_rating, name), getattr(rating, name)
            if not isinstance(a, float) or not ladder.same(a, b):
                yield f"seat {at}: {name} is {a!r}, the record says {b!r}"


def _difference(name: str, stored: object, recorded: object) -> Iterator[str]:
    if stored != recorded:
        yield f"{name} is {stored!r}, the record says {recorded!r}"


def _result_of(record: Record, pool: str | None) -> Result:
    """The result; old records say nothing of the pool, and are believed to be of the one that is stored."""
    header, footer = record.header, record.footer
    rated = footer.ratings is not None
    return Result(
        match=header.match,
        game=header.game,
        config=header.config,
        rated=rated,
        pool=header.pool or pool if rated else None,
        seats=tuple(
            SeatResult(bot=seat.bot, version=seat.version, rank=rank, reason=reason)
            for seat, rank, reason in zip(header.seats, footer.ranks, footer.reasons, strict=True)
        ),
        reason=footer.reason,
        plies=footer.plies,
        digest=footer.digest,
        started=header.started,
        finished=footer.finished,
        tournament=header.tournament,
        place=header.place,
    )
