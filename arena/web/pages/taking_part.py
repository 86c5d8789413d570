"""The pages to take part: downloading the client, connecting a bot, and playing as a person."""

from __future__ import annotations

import functools
from http import HTTPStatus
from typing import Any

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from arena.store.match_search import Search, search_matches
from arena.store.registry import is_known_bot, latest_incidents
from arena.store.result_queries import LOST
from arena.web.client_wheel import build_client_wheel
from arena.web.errors import NotFound
from arena.web.grading import grading_method
from arena.web.rendering import render_page, respond_with_etag, site_of
from arena.web.site import arena_url, page_url
from arena.web.strengths import MIN_RATED_MATCHES, STRENGTH_WORDS, strengths
from protocol.display import short_repr
from protocol.errors import BadConfig
from protocol.games import clear_on_registration, game_class, load_game, playable_game_names
from protocol.games.base import Game
from protocol.names import is_bot_name

MAX_LOST_MATCHES = 10
"""Maximum number of recent losses of a bot that the page for connecting it shows."""
MAX_OFFERED_SEATS = 16
"""The largest number of seats that a page offers, even if the rules of a game accept any number."""
EXAMPLE_NAME = "mine"
"""The bot's name in the example code, unless the visitor gives one."""


class PresetOffer(Struct, frozen=True, kw_only=True):
    """A preset that can be chosen on a page. `config` has only what differs from the game's defaults.

    `seats` are the possible numbers of seats, `usual` is the number in the preset. `graded` is the method by which
    moves are graded. `pools` maps a number of seats to the name of the preset with this number and otherwise the same
    config. Each preset has a rating pool.
    """

    preset: str
    config: dict[str, Any]
    seats: list[int]
    usual: int
    pools: dict[int, str]
    graded: str


class GameOffer(Struct, frozen=True, kw_only=True):
    """A game with its presets."""

    game: str
    presets: list[PresetOffer]
    first: str
    """The preset that the page selects by default."""
    tutorial: bool
    """True if the game has a tutorial."""


def download(request: Request) -> Response:
    return render_page(request, "download.html", wheel=build_client_wheel(), pip=pip_command(request))


def file(request: Request) -> Response:
    """Send the wheel, whose name contains its version."""
    wheel, name = build_client_wheel(), request.path_params["file"]
    if name != wheel.name:
        raise NotFound(f"there is no file {short_repr(name)} here: the client is {wheel.name}, on the page /download")
    return respond_with_etag(request, wheel.content, "application/octet-stream", {})


def pip_command(request: Request) -> str:
    """Return the command that installs the client from the address under which the visitor reached this page."""
    home = page_url(request.headers.get("host", ""), encrypted=request.url.scheme == "https")
    return f"python -m pip install {home}/download/{build_client_wheel().name}"


def connect(request: Request) -> Response:
    """Show how to connect a bot; `bot` in the query names it, for the code and for its recent losses and incidents."""
    site = site_of(request)
    bot = request.query_params.get("bot", "").strip()
    wrong = ""
    if bot and not is_bot_name(bot):
        wrong = "a name has 1 to 32 letters, digits, dots, dashes or underscores, and starts with a letter or digit"
    known = bool(bot) and not wrong and site.reader.read(is_known_bot, bot)
    lost = site.reader.read(search_matches, Search(bot=bot, outcome=LOST), limit=MAX_LOST_MATCHES) if known else None
    return render_page(
        request,
        "connect.html",
        status=HTTPStatus.BAD_REQUEST if wrong else HTTPStatus.OK,
        address=arena_url(site.socket, request.headers.get("host", ""), encrypted=request.url.scheme == "https"),
        pip=pip_command(request),
        games=playable_game_names(),
        bot=bot,
        name=EXAMPLE_NAME if wrong or not bot else bot,
        wrong=wrong,
        known=known,
        incidents=site.reader.read(latest_incidents, bot) if known else [],
        lost=lost,
    )


def play(request: Request) -> Response:
    """Show the page on which a person plays. The URL selects the game; the browser does the rest."""
    site = site_of(request)
    found = strengths(site.reader) if site.socket else {}
    return render_page(
        request, "play.html", offered=list_offers(), strengths=found, early=MIN_RATED_MATCHES, words=STRENGTH_WORDS
    )


@clear_on_registration
@functools.cache
def list_offers() -> list[GameOffer]:
    """Return all games with their presets, which a visitor can choose without writing a config."""
    return [
        GameOffer(
            game=game,
            presets=[_preset(game, name) for name in game_class(game).presets],
            first=game_class(game).preset_for_people or next(iter(game_class(game).presets)),
            tutorial=game_class(game).tutorial is not None,
        )
        for game in playable_game_names()
    ]


def _preset(game: str, name: str) -> PresetOffer:
    made = load_game(game, {"preset": name})
    tables = {made.seats: made}
    if "players" in made.config:
        numbers = range(2, min(game_class(game).max_seats, MAX_OFFERED_SEATS) + 1)
        tables = {number: table for number in numbers if (table := _table(game, name, number)) is not None}
    return PresetOffer(
        preset=name,
        config=dict(game_class(game).presets[name]),
        seats=list(tables),
        usual=made.seats,
        pools={number: table.preset for number, table in tables.items() if table.preset is not None},
        graded=grading_method(game, made.config),
    )


def _table(game: str, name: str, seats: int) -> Game[Any, Any] | None:
    """Return the game that a preset becomes with this number of seats; None if the rules don't allow that number."""
    try:
        return load_game(game, {"preset": name, "players": seats})
    except BadConfig:
        return None
