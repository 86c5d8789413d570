"""The results of matches. The referee makes them, the store keeps them, and the feed and the records publish them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct


class SeatResult(Struct, frozen=True, kw_only=True):
    """The result of one seat. `rank` 1 is best, and equal ranks are a tie. `reason` is as in docs/protocol.md.

    `moves` is the number of accepted moves, and `thought_ms` the time taken off the seat's clock. Both fields are None
    if the match is void.
    """

    bot: str
    version: str
    rank: int
    reason: str
    moves: int | None = None
    thought_ms: int | None = None
    payoff: float | None = None
    """The mean payoff per round, if payoffs are the result and there was a round; the field `rounds` has the number of
    rounds. A seat that left gets the least payoff for each round still to come.
    """
    rounds: int | None = None


class Result(Struct, frozen=True, kw_only=True):
    """A finished match. Times are UTC in ISO 8601. `digest` is the last of the chain, 64 hex digits.

    `pool` is the pool that rates it, None if it is unrated.
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
    """The id of the match's tournament. The field `place` is the match's place in the schedule of the tournament."""
    place: int | None = None
    annulled: str | None = None
    """The name of the rating pool in which the operator has annulled the rating of this match; None if nothing was
    annulled.
    """
    start: str | None = None
    """The name of the start position that the match shares with other matches of a paired tournament. It is None if the
    match shares none.
    """


def match_points(result: Result) -> list[float]:
    """Return each seat's points, from its rank."""
    return points_from_ranks([seat.rank for seat in result.seats])


def points_from_ranks(ranks: Sequence[int]) -> list[float]:
    """Return the fraction of the other seats that each seat beat. A tie counts half. With two seats, a win is 1."""
    others = len(ranks) - 1
    return [(sum(other > rank for other in ranks) + (ranks.count(rank) - 1) / 2) / others for rank in ranks]


class SeatRating(Struct, frozen=True, kw_only=True):
    """One seat's rating before and after the match."""

    mu_before: float
    sigma_before: float
    mu_after: float
    sigma_after: float


class Ratings(Struct, frozen=True, kw_only=True):
    """The changes of ratings by a match, with every number of the computation, so that anyone can repeat it."""

    pool: str
    mu: float
    sigma: float
    beta: float
    tau: float
    draw_probability: float
    seats: tuple[SeatRating, ...]
