"""What the operator decides about the ladder: which matches count, and when ratings begin anew."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from arena.operator.requests import Handler, Request, Tell
from arena.store import annulment, result_queries, seasons
from arena.store.annulment import Annulment

if TYPE_CHECKING:
    from arena.server.arena import Arena


class Annul(Request, frozen=True, tag="annul"):
    """Annul matches, and those of a bot that ended `since` a time (as results have it), or `undo` that.

    Raises `UsageFault`, having changed nothing, for what there is none of, and a match that was never rated.
    """

    ids: list[str]
    bot: str | None = None
    since: str | None = None
    undo: bool = False


class StartSeason(Request, frozen=True, tag="start_season"):
    """Begin ratings anew under this name."""

    name: str


def operations(arena: Arena) -> Iterator[Handler]:
    """What concerns the ladder."""
    store = arena.store

    async def annul(request: Annul, tell: Tell) -> Annulment:
        done = await store.write(annulment.annul_matches, request.ids, request.bot, request.since, undo=request.undo)
        await arena.ratings_changed(done.pools)
        return done

    async def start_season(request: StartSeason, tell: Tell) -> None:
        pools = await store.read(result_queries.rated_pools)
        await store.write(seasons.start_season, request.name)
        await arena.ratings_changed(pools)

    yield Handler(Annul, annul)
    yield Handler(StartSeason, start_season)
