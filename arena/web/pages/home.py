"""The home page, with a replayed match, and the wall page for a projector. Both show the leaders of each game."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from arena.ratings.rating_system import game_of
from arena.store.leaderboards import leaders_of_games
from arena.store.match_search import Search, search_matches
from arena.store.result_queries import RecordRemoved, record_of
from arena.store.store import Reader
from arena.web.lookups import game_order
from arena.web.rendering import render_page, site_of
from protocol import reasons
from referee.result import Result

HOME_LEADERS, WALL_LEADERS = 5, 10
"""The numbers of leaders of each game on the home page and on the wall page."""
REPLAY_CANDIDATES = 20
"""Number of latest matches among which the page looks for a match to replay."""
REPLAY_PLIES = range(3, 121)
"""Lengths in plies that the replayed match may have. The limit is low because the page loads the whole match."""


def home(request: Request) -> Response:
    """Show the home page. The browser gets live data from the arena."""
    reader = site_of(request).reader
    latest = reader.read(search_matches, Search(), limit=REPLAY_CANDIDATES).rows
    games = sorted(reader.read(leaders_of_games, HOME_LEADERS), key=lambda each: game_order(game_of(each.pool)))
    replayed = next((match for match in latest if _is_replayable(reader, match)), None)
    return render_page(
        request,
        "home.html",
        games=games,
        shown=replayed or next(iter(latest), None),
        replayed=replayed,
    )


def _is_replayable(reader: Reader, result: Result) -> bool:
    if result.reason == reasons.VOID or result.plies not in REPLAY_PLIES:
        return False
    try:
        return reader.read(record_of, result.match) is not None
    except RecordRemoved:
        return False


def wall(request: Request) -> Response:
    """Show the page for a projector; the leaderboard of the most played game comes first."""
    return render_page(request, "wall.html", games=site_of(request).reader.read(leaders_of_games, WALL_LEADERS))
