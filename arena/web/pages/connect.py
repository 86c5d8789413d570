"""How a bot is connected to this arena: code with its address, a token, and what went wrong with a bot of late."""

from __future__ import annotations

from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

from arena.store.match_search import Search, search_matches
from arena.store.registry import is_known_bot, latest_incidents
from arena.store.result_queries import LOST
from arena.web.rendering import render_page, site_of
from arena.web.site import address
from protocol.names import is_bot_name

LATEST = 10
EXAMPLE = "mine"
"""What the bot is called in the code as long as nobody says how."""


def connect(request: Request) -> Response:
    """The page; `bot` names the bot that the code is for, and of which it is told how it fares."""
    site = site_of(request)
    bot = request.query_params.get("bot", "").strip()
    wrong = ""
    if bot and not is_bot_name(bot):
        wrong = "a name has 1 to 32 letters, digits, dots, dashes or underscores, a letter or digit first"
    known = bool(bot) and not wrong and site.reader.read(is_known_bot, bot)
    lost = site.reader.read(search_matches, Search(bot=bot, outcome=LOST), limit=LATEST) if known else None
    return render_page(
        request,
        "connect.html",
        status=HTTPStatus.BAD_REQUEST if wrong else HTTPStatus.OK,
        address=address(site.socket, request.headers.get("host", ""), encrypted=request.url.scheme == "https"),
        bot=bot,
        name=EXAMPLE if wrong or not bot else bot,
        wrong=wrong,
        known=known,
        incidents=site.reader.read(latest_incidents, bot) if known else [],
        lost=lost,
    )
