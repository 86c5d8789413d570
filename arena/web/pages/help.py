"""Pages that explain: the documents, with search, the rules of games, from their rooms, and tutorials."""

from __future__ import annotations

import functools
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from arena.web.docs.library import MEDIA_TYPES, library
from arena.web.docs.search import search, search_partially, split_query
from arena.web.errors import NotFound
from arena.web.lookups import list_games
from arena.web.rendering import render_page, respond_with_etag, site_of
from protocol.display import list_choices
from protocol.games import (
    clear_on_registration,
    game_class,
    game_document,
    game_names,
    load_game,
    missing_rules_message,
    offered_game_names,
)

MAX_QUERY_CHARS = 100
"""The maximum length of a query in documents. The rest of a longer query is ignored."""


class Rules(NamedTuple):
    """The rules of a game as HTML: a short version, and the full one."""

    brief: str
    full: str


def docs(request: Request) -> Response:
    """Show the list of documents. With `q` in the query, show the sections that contain all its words; if there are
    none, show those that contain some.
    """
    shelf = library()
    query = request.query_params.get("q", "").strip()[:MAX_QUERY_CHARS]
    words = split_query(query)
    hits = search(words, shelf.searchable_documents()) if words else []
    near = search_partially(words, shelf.searchable_documents()) if words and not hits else None
    return render_page(
        request, "docs.html", query=query, hits=near.hits if near else hits, near=near, overview=shelf.overview
    )


def document(request: Request) -> Response:
    """Show a document, or a file to which a document links."""
    shelf, name = library(), request.path_params["name"]
    path = shelf.path(name)
    if path.suffix != ".md":
        return respond_with_etag(request, path.read_bytes(), MEDIA_TYPES[path.suffix], {})
    found = shelf.document(name.removesuffix(".md"))
    return render_page(request, "document.html", document=found)


def rules(request: Request) -> Response:
    """Show the rules of a game; the browser draws its examples."""
    game = request.path_params["game"]
    if game not in (there := list_games(site_of(request).reader)):
        raise NotFound(f"there is no game {game}: {list_choices(there)}")
    if game not in game_names():
        told = missing_rules_message(game)
        return render_page(request, "no_rules.html", game=game, told=told, others=offered_game_names())
    tutorial = game_class(game).tutorial
    return render_page(
        request,
        "rules.html",
        game=game,
        rules=rules_of(game),
        config=load_game(game, tutorial or {}).config,
        has_tutorial=tutorial is not None,
        others=[other for other in offered_game_names() if other != game],
    )


@clear_on_registration
@functools.cache
def rules_of(game: str) -> Rules:
    """Return the rules of a game: its rules document without the heading. Without such a document, return the
    description `about` of the game's class.
    """
    shelf = library()
    document = game_document(game, "rules_document")
    if document is None:
        return Rules(shelf.rendered(game_class(game).about, "docs"), "")
    _, _, text = document.partition("\n")
    brief, _, full = text.strip().partition("\n\n")
    return Rules(shelf.rendered(brief, "docs"), shelf.rendered(full, "docs"))


def tutorial(request: Request) -> Response:
    """Show the first moves of a game on a board, with instructions; the browser plays it."""
    game = request.path_params["game"]
    taught = [name for name in game_names() if game_class(name).tutorial is not None]
    if game not in taught:
        raise NotFound(f"there is no tutorial for {game}: {list_choices(taught)}")
    return render_page(request, "tutorial.html", game=game, config=load_game(game, game_class(game).tutorial).config)
