"""What came of a match: the referee makes it, the store keeps it, the feed and the record tell it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct


class SeatResult(Struct, frozen=True, kw_only=True):
    """How one seat fared. `rank` 1 is best, equal ranks are a tie; `reason` as in docs/protocol.md.

    `moves` were accepted, `thought_ms` was taken off its clock; None where the match was called off, or of before that
    was noted.
    """

    bot: str
    version: str
    rank: int
    reason: str
    moves: int | None = None
    thought_ms: int | None = None
    payoff: float | None = None
    """The mean that it was paid a round, over so many `rounds`, where that counts and there was one; of a seat that
    left, with the least for each that was still to come.
    """
    rounds: int | None = None


class Result(Struct, frozen=True, kw_only=True):
    """A finished match. Times are UTC in ISO 8601; `digest` is the last of the chain, 64 hex digits.

    `pool` is where it is rated, None where it is not.
    """

    match: str
    game: str
    config: dict[str, Any]
    rated: bool
    pool: str | None = None
    seats: tuple[SeatResult, ...]
    reason: str
    plies: int
    digest: str
    started: str
    finished: str
    tournament: str | None = None
    """The tournament's id, where it was one, and the match's place in its schedule."""
    place: int | None = None
    annulled: str | None = None
    """The pool in which it was rated, until the operator annulled that."""
    start: str | None = None
    """The same in all matches that share a start, once they are stored; None where it shares it with none."""


def points(result: Result) -> list[float]:
    """Each seat's points, by its rank."""
    return points_of([seat.rank for seat in result.seats])


def points_of(ranks: Sequence[int]) -> list[float]:
    """By seat, the share of the other seats that it left behind, ties counting half; 1 for a win of two."""
    others = len(ranks) - 1
    return [(sum(other > rank for other in ranks) + (ranks.count(rank) - 1) / 2) / others for rank in ranks]


class SeatRating(Struct, frozen=True, kw_only=True):
    """One seat's rating before and after the match."""

    mu_before: float
    sigma_before: float
    mu_after: float
    sigma_after: float


class Ratings(Struct, frozen=True, kw_only=True):
    """How a match was rated: every number that the computation used, so that anyone can repeat it."""

    pool: str
    mu: float
    sigma: float
    beta: float
    tau: float
    draw_probability: float
    seats: tuple[SeatRating, ...]
