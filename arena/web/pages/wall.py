"""The wall: for a projector, live boards, which the browser asks of the arena, beside the first of each game."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from arena.store.leaderboards import leaders_of_games
from arena.web.rendering import render_page, site_of

FIRST = 10


def wall(request: Request) -> Response:
    """The page; of the leaderboards, that of the game that is played most comes first."""
    return render_page(request, "wall.html", games=site_of(request).reader.read(leaders_of_games, FIRST))
