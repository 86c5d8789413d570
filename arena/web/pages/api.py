"""The page of the JSON API. It lists all operations, each with an example."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from arena.store.match_search import Search, search_matches
from arena.store.result_queries import pool_or_unrated
from arena.store.store import Reader
from arena.store.tournaments import tournaments_page
from arena.web.api.operation import PREFIX, Operation
from arena.web.api.operations import OPERATIONS
from arena.web.rendering import render_page, site_of
from machine.exact.graders import solved_games
from protocol.games import game_names, game_spec


class Field(Struct, frozen=True):
    """The description of a query field in words."""

    name: str
    what: str
    required: bool


class OperationDescription(Struct, frozen=True):
    """The description of an operation in words. `example` is a path, or None if the store has nothing to show."""

    name: str
    address: str
    summary: str
    fields: list[Field]
    example: str | None


def api(request: Request) -> Response:
    names = _names(site_of(request).reader)
    told = [
        OperationDescription(
            each.name, PREFIX + each.path, each.summary, list(map(_field, each.in_query)), _example(each, names)
        )
        for each in OPERATIONS
    ]
    return render_page(
        request, "api.html", operations=told, pieces=pieces, here=str(request.base_url).rstrip("/"), prefix=PREFIX
    )


def _names(reader: Reader) -> dict[str, str]:
    """Return names for the examples of operations: of the newest match, of the newest match of a solved game, of the
    newest tournament, and of a game of a file.
    """
    names: dict[str, str] = {}
    for name in game_names():
        if game_spec(name).digest:
            names["brought"] = name
    for match in reader.read(search_matches, Search(), limit=1).rows:
        names |= {"match": match.match, "bot": match.seats[0].bot, "pool": pool_or_unrated(match)}
    for game in solved_games():
        for match in reader.read(search_matches, Search(game=game), limit=1).rows:
            names.setdefault("solved", match.match)
    for tournament in reader.read(tournaments_page, limit=1).rows:
        names["tournament"] = tournament.tournament
    return names


def _example(operation: Operation, names: dict[str, str]) -> str | None:
    known = {name: quote(value) for name, value in names.items()}
    if not set(re.findall(r"{(\w+)}", operation.example)) <= known.keys():
        return None
    return PREFIX + operation.example.format_map(known)


def _field(parameter: dict[str, Any]) -> Field:
    schema = parameter["schema"]
    kinds = [each for each in schema.get("anyOf", [schema]) if each.get("type") != "null"]
    kind = kinds[0]
    if "enum" in kind:
        what = "one of " + ", ".join(kind["enum"])
    elif kind.get("type") == "integer":
        what = f"{kind['minimum']} to {kind['maximum']}"
    elif kind.get("type") == "boolean":
        what = "true or false"
    else:
        what = ""
    described = schema.get("description") or kind.get("description") or ""
    default = schema.get("default")
    told = [described, what, "" if default is None else f"by default {str(default).lower()}"]
    return Field(parameter["name"], "; ".join(filter(None, told)), parameter["required"])


def pieces(text: str) -> list[tuple[bool, str]]:
    """Split text at backticks. Return each piece with a flag that says whether it is code."""
    return [(at % 2 == 1, piece) for at, piece in enumerate(text.split("`")) if piece]
