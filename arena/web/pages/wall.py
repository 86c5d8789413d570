"""The wall page for a projector: live boards, which the browser gets from the arena, beside each game's leaders."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from arena.store.leaderboards import leaders_of_games
from arena.web.rendering import render_page, site_of

LEADERS_PER_GAME = 10
"""The number of leaders of each game on the page for a wall screen."""


def wall(request: Request) -> Response:
    """Show the page; the leaderboard of the most played game comes first."""
    return render_page(request, "wall.html", games=site_of(request).reader.read(leaders_of_games, LEADERS_PER_GAME))
