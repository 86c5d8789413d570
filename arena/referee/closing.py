"""What is left of a match that is over: its result, whether it is rated, the last line of its record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from arena.referee.course import Course
from arena.referee.record import Footer, Header
from arena.referee.result import Ratings, Result, SeatResult
from protocol.messages import Player
from protocol.reasons import NO_SHOW, VOID


def is_rated(header: Header, reason: str, reasons: Iterable[str]) -> bool:
    """Whether a match that ended so is to be rated: not where it was called off or somebody did not show up."""
    return header.rated and {VOID, NO_SHOW}.isdisjoint((reason, *reasons))


def result_of(header: Header, course: Course, players: Sequence[Player], finished: str) -> Result:
    """The outcome of a match whose course is over."""
    reasons = [course.seat_reason(seat) for seat in range(len(players))]
    return Result(
        match=header.match,
        game=course.game.name,
        config=course.game.config,
        rated=is_rated(header, course.reason, reasons),
        seats=tuple(
            SeatResult(bot=player.bot, version=player.version, rank=rank, reason=reason)
            for player, rank, reason in zip(players, course.ranks, reasons, strict=True)
        ),
        reason=course.reason,
        plies=course.ply,
        digest=course.digest.hex(),
        started=header.started,
        finished=finished,
        tournament=header.tournament,
        place=header.place,
    )


def footer_of(result: Result, seed: bytes, nonces: list[str], ratings: Ratings | None) -> Footer:
    """The footer; `seed` and `nonces` open the dice."""
    return Footer(
        ranks=[seat.rank for seat in result.seats],
        reason=result.reason,
        reasons=[seat.reason for seat in result.seats],
        plies=result.plies,
        digest=result.digest,
        seed=seed.hex(),
        nonces=nonces,
        finished=result.finished,
        ratings=ratings,
    )
