"""The page on which a person plays: what may be sought there. The rest the browser does with the arena itself."""

from __future__ import annotations

import functools
from itertools import count, takewhile
from typing import Any

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from arena.web.rendering import render_page
from protocol.errors import BadConfig
from protocol.games import NAMES, game_class, load


class PresetOffered(Struct, frozen=True, kw_only=True):
    """A preset: its config as it differs from the defaults, and how many may sit at its table."""

    preset: str
    config: dict[str, Any]
    seats: list[int]
    usual: int


class GameOffered(Struct, frozen=True, kw_only=True):
    """A game with its presets."""

    game: str
    presets: list[PresetOffered]


def play(request: Request) -> Response:
    """The page; what is chosen on it is in the address, for the browser to read."""
    return render_page(request, "play.html", offered=offered())


@functools.cache
def offered() -> list[GameOffered]:
    """All games, with all that can be chosen without writing a config."""
    return [
        GameOffered(game=game, presets=[_preset(game, name) for name in game_class(game).presets]) for game in NAMES
    ]


def _preset(game: str, name: str) -> PresetOffered:
    made = load(game, {"preset": name})
    seats = [made.seats]
    if "players" in made.config:
        seats = list(takewhile(lambda number: _has_table(game, name, number), count(2)))
    return PresetOffered(preset=name, config=dict(game_class(game).presets[name]), seats=seats, usual=made.seats)


def _has_table(game: str, name: str, seats: int) -> bool:
    try:
        load(game, {"preset": name, "players": seats})
    except BadConfig:
        return False
    return True
