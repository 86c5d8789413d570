"""How games are played: their rules, and a tutorial of five moves for each game of Risk."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from arena.web.errors import NotFound
from arena.web.rendering import render_page
from protocol.display import among
from protocol.games import load

TUTORIALS: dict[str, dict[str, Any]] = {
    "risk-duel": {"map": "south-america"},
    "risk-campaign": {"map": "south-america", "draft": "classic", "initial_units": 2},
}
"""The configs on which games are taught; their moves are in `static/tutorial`."""


def tutorial(request: Request) -> Response:
    """Five moves of a game on a real board; all of it happens in the browser."""
    game = request.path_params["game"]
    if game not in TUTORIALS:
        raise NotFound(f"there is no tutorial of {game}: {among(TUTORIALS)}")
    return render_page(request, "tutorial.html", game=game, config=load(game, TUTORIALS[game]).config)
