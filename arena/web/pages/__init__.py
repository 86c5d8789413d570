"""The pages and their routes, one module for each kind of page."""

from __future__ import annotations

from starlette.responses import RedirectResponse
from starlette.routing import Route

from arena.web.answers import queue_endpoint
from arena.web.pages.api import api
from arena.web.pages.bots import bot
from arena.web.pages.help import docs, document, rules, tutorial
from arena.web.pages.home import home, wall
from arena.web.pages.leaderboard import leaderboard
from arena.web.pages.matches import match, matches
from arena.web.pages.taking_part import connect, download, file, play
from arena.web.pages.tournaments import tournament, tournaments

ROUTES = [
    Route("/", queue_endpoint(home)),
    Route("/leaderboard", queue_endpoint(leaderboard)),
    Route("/leaderboard/{game}", queue_endpoint(leaderboard)),
    Route("/leaderboard/{game}/{preset}", queue_endpoint(leaderboard)),
    Route("/bots/{name}", queue_endpoint(bot)),
    Route("/matches", queue_endpoint(matches)),
    Route("/matches/{match}", queue_endpoint(match, slow=True)),
    Route("/tournaments", queue_endpoint(tournaments)),
    Route("/tournaments/{tournament}", queue_endpoint(tournament)),
    Route("/wall", queue_endpoint(wall)),
    Route("/connect", queue_endpoint(connect)),
    Route("/download", queue_endpoint(download)),
    Route("/download/{file}", queue_endpoint(file)),
    Route("/docs", queue_endpoint(docs)),
    Route("/docs/", lambda _: RedirectResponse("/docs")),
    Route("/docs/{name:path}", queue_endpoint(document)),
    Route("/play", queue_endpoint(play)),
    Route("/play/tutorial/{game}", queue_endpoint(tutorial)),
    Route("/rules", lambda _: RedirectResponse("/docs/rules")),
    Route("/rules/{game}", queue_endpoint(rules)),
    Route("/api", queue_endpoint(api)),
]
"""The routes of all pages but the admin pages."""
