"""What may follow the question mark of an address, operation by operation."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from arena.store.leaderboards import SORTS
from arena.store.paging import MOST_ROWS
from arena.store.result_queries import OUTCOMES

Pool = Annotated[
    str,
    Meta(
        description="`GAME/PRESET`; of a bot also `GAME/unrated`, its matches in no pool",
        examples=["nim/classic"],
    ),
]


GameName = Annotated[str, Meta(description="the name of a game, as in `/games`")]
SeasonName = Annotated[str, Meta(description="as in `arena season list`; absent: the one that goes on")]
BotName = Annotated[str, Meta(description="in any case")]


class Query(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing."""


class Paged(Query, frozen=True, kw_only=True):
    """Which part of a list."""

    after: Annotated[str, Meta(description="the `next` of the page before; absent: the first page")] | None = None
    limit: Annotated[int, Meta(ge=1, le=MOST_ROWS, description="how many rows")] = 50


class OfGame(Query, frozen=True, kw_only=True):
    """Of one game, or of all."""

    game: GameName | None = None


class BotsQuery(Paged, frozen=True, kw_only=True):
    """Which bots."""

    search: Annotated[str, Meta(description="only bots whose name holds this, in any case")] | None = None


class BoardQuery(BotsQuery, frozen=True, kw_only=True):
    """Which part of a leaderboard, in which order."""

    sort: Literal[SORTS] = "score"  # type: ignore[valid-type]
    descending: bool = True
    season: Annotated[str, Meta(description="as `arena season list` has it; absent: the one that goes on")] | None = (
        None
    )


class OfPool(Query, frozen=True, kw_only=True):
    """In which pool."""

    pool: Pool


class PagedOfPool(Paged, frozen=True, kw_only=True):
    """Which part of a list, in which pool."""

    pool: Pool


class MatchesQuery(Paged, frozen=True, kw_only=True):
    """Which matches: those that meet all that is said. With `bot`, `reason` and `outcome` are those of its seat."""

    bot: BotName | None = None
    opponent: BotName | None = None
    game: GameName | None = None
    pool: Pool | None = None
    reason: Annotated[str, Meta(description="why it ended, of the match or of the seat of `bot`")] | None = None
    outcome: Literal[OUTCOMES] | None = None  # type: ignore[valid-type]
    tournament: Annotated[str, Meta(description="its id")] | None = None
    since: Annotated[str, Meta(description="ended then or later: a day, or a time in UTC, in ISO 8601")] | None = None
    until: Annotated[str, Meta(description="ended before; a day is included whole")] | None = None
