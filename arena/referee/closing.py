"""What is left of a match that is over: its result, whether it is rated, the last line of its record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arena.referee.course import Course
from arena.referee.record import Footer, Header
from arena.referee.result import Ratings, Result, SeatResult
from protocol.games.base import Game
from protocol.messages import Player
from protocol.reasons import VOID


def pool_of(header: Header, game: Game[Any, Any], reason: str) -> str | None:
    """The pool in which a match that ended so is rated; None where it is not, or was called off.

    A header of before there was a pool for each preset names none: the config tells, or else it is the game's.
    """
    if not header.rated or reason == VOID:
        return None
    return header.pool or next(iter(game.pools), header.game)


def result_of(header: Header, course: Course, players: Sequence[Player], finished: str) -> Result:
    """The outcome of a match whose course is over."""
    reasons = [course.seat_reason(seat) for seat in range(len(players))]
    pool = pool_of(header, course.game, course.reason)
    return Result(
        match=header.match,
        game=course.game.name,
        config=course.game.config,
        rated=pool is not None,
        pool=pool,
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
