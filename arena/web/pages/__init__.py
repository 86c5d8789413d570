"""The pages and their routes, one module for each kind of page."""

from __future__ import annotations

from starlette.responses import RedirectResponse
from starlette.routing import Route

from arena.web.answers import in_turn
from arena.web.pages.api import api
from arena.web.pages.bots import bot
from arena.web.pages.docs import docs, document
from arena.web.pages.download import download, file
from arena.web.pages.help import rules, tutorial
from arena.web.pages.home import home
from arena.web.pages.leaderboard import leaderboard
from arena.web.pages.matches import match, matches
from arena.web.pages.taking_part import connect, play
from arena.web.pages.tournaments import tournament, tournaments
from arena.web.pages.wall import wall

ROUTES = [
    Route("/", in_turn(home)),
    Route("/leaderboard", in_turn(leaderboard)),
    Route("/leaderboard/{game}", in_turn(leaderboard)),
    Route("/leaderboard/{game}/{preset}", in_turn(leaderboard)),
    Route("/bots/{name}", in_turn(bot)),
    Route("/matches", in_turn(matches)),
    Route("/matches/{match}", in_turn(match, slow=True)),
    Route("/tournaments", in_turn(tournaments)),
    Route("/tournaments/{tournament}", in_turn(tournament)),
    Route("/wall", in_turn(wall)),
    Route("/connect", in_turn(connect)),
    Route("/download", in_turn(download)),
    Route("/download/{file}", in_turn(file)),
    Route("/docs", in_turn(docs)),
    Route("/docs/", lambda _: RedirectResponse("/docs")),
    Route("/docs/{name:path}", in_turn(document)),
    Route("/play", in_turn(play)),
    Route("/play/tutorial/{game}", in_turn(tutorial)),
    Route("/rules", lambda _: RedirectResponse("/docs/rules")),
    Route("/rules/{game}", in_turn(rules)),
    Route("/api", in_turn(api)),
]
