"""What pages ask of the store, and what they are answered: rows in pages, a bot, a tournament. Values only."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from msgspec import Struct

from arena.ratings.standings import TableRow
from arena.store.result_queries import LeaderboardRow
from protocol.reasons import VOID
from referee.result import Result, SeatResult

T = TypeVar("T")
UNRATED = "unrated"
"""Where a pool is named, `GAME/unrated` stands for a game's matches that are in none."""
SORTS = ("score", "bot", "mu", "sigma", "played", "wins", "draws", "losses", "share")
"""The orders of a leaderboard; `share` is that of matches won, a draw counting as half of one."""
WON, DRAWN, LOST, VOIDED = "won", "drawn", "lost", "void"
OUTCOMES = (WON, DRAWN, LOST, VOIDED)
"""What a match was for a seat: first alone, first with others, not first; or it was called off."""


class Page(Struct, Generic[T], frozen=True, kw_only=True):
    """Some rows of many. `next` is the cursor of the page after this one, None on the last.

    `total` is how many rows there are in all, None where only counting them would tell.
    """

    rows: list[T]
    next: str | None = None
    total: int | None


class BoardRow(LeaderboardRow, frozen=True, kw_only=True):
    """A line of the leaderboard; its `rank` is by score, whatever the order, `curve` its last mus, the newest last,
    to two decimals.
    """

    rank: int
    curve: list[float]


class PoolStanding(Struct, frozen=True, kw_only=True):
    """A bot in a pool: `rank` by score among the `bots` there; `ms_per_move` is the mean time of a move by the clock, a
    bot's pauses included, None if unknown.
    """

    pool: str
    game: str
    rank: int
    bots: int
    mu: float
    sigma: float
    score: float
    played: int
    wins: int
    draws: int
    losses: int
    few: bool
    version: str
    ms_per_move: float | None


class UnratedStanding(Struct, frozen=True, kw_only=True):
    """A bot's matches of a game that are in no pool; `pool` is `GAME/unrated`, `void` were called off."""

    pool: str
    game: str
    played: int
    wins: int
    draws: int
    losses: int
    void: int
    ms_per_move: float | None


class BotRow(Struct, frozen=True, kw_only=True):
    """A bot that is known: when it was registered and last came in, and whether the operator approved it."""

    bot: str
    created: str
    seen: str | None
    approved: bool


class Profile(Struct, frozen=True, kw_only=True, rename={"name": "bot"}):
    """A bot: when it was registered and last came in, the versions it played as (newest first), where it stands."""

    name: str
    created: str
    seen: str | None
    approved: bool
    revoked: bool
    versions: list[str]
    standings: list[PoolStanding]
    unrated: list[UnratedStanding]


class HistoryPoint(Struct, frozen=True, kw_only=True):
    """A bot's rating after its `played`th match in a pool, which was `match` and ended at `finished`."""

    played: int
    mu: float
    sigma: float
    finished: str
    match: str


class OpponentRow(Struct, frozen=True, kw_only=True):
    """How a bot fared against another, which it beats where its rank is better; `share` counts a draw as half a win."""

    opponent: str
    played: int
    wins: int
    draws: int
    losses: int
    share: float


class SeatRow(Struct, frozen=True, kw_only=True):
    """How a bot fared in a seat (0 moves first)."""

    seat: int
    played: int
    wins: int
    draws: int
    losses: int
    ms_per_move: float | None


class VersionRow(Struct, frozen=True, kw_only=True):
    """How a version of a bot fared; `match` is its last and ended at `finished`."""

    version: str
    played: int
    wins: int
    draws: int
    losses: int
    ms_per_move: float | None
    match: str
    finished: str


class EndingMatch(Struct, frozen=True, kw_only=True):
    """A match, and how many plies it had: where it ended."""

    match: str
    plies: int
    finished: str


class Ending(Struct, frozen=True, kw_only=True):
    """How often matches ended so for a bot: `reason` is its seat's, `latest` the last few, newest first."""

    outcome: str
    reason: str
    played: int
    latest: list[EndingMatch]


class Search(Struct, frozen=True, kw_only=True):
    """Which matches are looked for: those that meet all that is said.

    `reason` and `outcome` are those of `bot`'s seat; without a bot `reason` is the match's. `pool` may be
    `GAME/unrated`. `since` and `until` bound the match's end, in ISO 8601: a day, or a time in UTC; the former is
    included, and so is a whole day that is named by `until`.
    """

    bot: str | None = None
    opponent: str | None = None
    game: str | None = None
    pool: str | None = None
    reason: str | None = None
    outcome: str | None = None
    tournament: str | None = None
    since: str | None = None
    until: str | None = None


class TournamentRow(Struct, frozen=True, kw_only=True):
    """A tournament: `played` of `planned` matches, None for a test of as many as it takes. `arguments` are those of the
    command, without the seed.
    """

    tournament: str
    seed: str
    arguments: dict[str, Any]
    game: str
    format: str
    started: str
    finished: str | None
    played: int
    planned: int | None


class TournamentTable(TournamentRow, frozen=True, kw_only=True):
    """The same with its table, and the share of points of each bot (first key) against each other one."""

    table: list[TableRow]
    head_to_head: dict[str, dict[str, float | None]]


def group_of(result: Result) -> str:
    """The pool of a match, or what its game's unrated matches go by."""
    return result.pool or f"{result.game}/{UNRATED}"


def outcome_of(result: Result, seat: SeatResult) -> str:
    """What a match was for one of its seats, one of `OUTCOMES`."""
    if result.reason == VOID:
        return VOIDED
    if seat.rank != 1:
        return LOST
    return WON if [other.rank for other in result.seats].count(1) == 1 else DRAWN
