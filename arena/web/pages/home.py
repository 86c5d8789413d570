"""The home page: what this is, ways in, a match on a small board, and who leads each game."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from arena.ratings.rating_system import game_of
from arena.store.leaderboards import BoardRow, busiest_pools, leaderboard_page
from arena.store.match_search import Search, search_matches
from arena.store.result_queries import RecordRemoved, record_of
from arena.store.store import Reader
from arena.web.lookups import game_order
from arena.web.rendering import render_page, site_of
from protocol import reasons
from referee.result import Result

LEADERS = 5
LOOKED_AT = 20
"""So many of the latest matches are looked at for one to replay."""
PLIES = range(3, 121)
"""How long a match is that is replayed: the page loads all of it."""


class Leaders(Struct, frozen=True, kw_only=True):
    """The first bots of the pool in which most of a game is played."""

    pool: str
    rows: list[BoardRow]


def home(request: Request) -> Response:
    """The page. What is live on it, the browser asks the arena."""
    reader = site_of(request).reader
    latest = reader.read(search_matches, Search(), limit=LOOKED_AT).rows
    pools = sorted(reader.read(busiest_pools), key=lambda pool: game_order(game_of(pool)))
    replayed = next((match for match in latest if _can_be_replayed(reader, match)), None)
    return render_page(
        request,
        "home.html",
        leaders=leaders(reader, pools, LEADERS),
        shown=replayed or next(iter(latest), None),
        replayed=replayed,
    )


def leaders(reader: Reader, pools: Iterable[str], most: int) -> list[Leaders]:
    """The first bots of these pools, at most so many of each."""
    return [Leaders(pool=pool, rows=reader.read(leaderboard_page, pool, limit=most).rows) for pool in pools]


def _can_be_replayed(reader: Reader, match: Result) -> bool:
    """Whether a match is worth a look, and has its record still."""
    if match.reason == reasons.VOID or match.plies not in PLIES:
        return False
    try:
        return reader.read(record_of, match.match) is not None
    except RecordRemoved:
        return False
