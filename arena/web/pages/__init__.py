"""The pages, a module for those of a kind, and their addresses."""

from __future__ import annotations

from starlette.responses import RedirectResponse
from starlette.routing import Route

from arena.web.pages.api import api
from arena.web.pages.bots import bot
from arena.web.pages.leaderboard import leaderboard
from arena.web.pages.matches import match, matches
from arena.web.pages.taking_part import connect, play
from arena.web.pages.tournaments import tournament, tournaments

ROUTES = [
    Route("/", leaderboard),
    Route("/leaderboard", lambda _: RedirectResponse("/")),
    Route("/leaderboard/{game}", leaderboard),
    Route("/leaderboard/{game}/{preset}", leaderboard),
    Route("/bots/{name}", bot),
    Route("/matches", matches),
    Route("/matches/{match}", match),
    Route("/tournaments", tournaments),
    Route("/tournaments/{tournament}", tournament),
    Route("/connect", connect),
    Route("/play", play),
    Route("/api", api),
]
