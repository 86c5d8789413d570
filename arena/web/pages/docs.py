"""The pages of the project's documents, with search."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from arena.web.docs.library import MEDIA_TYPES, library
from arena.web.docs.search import search, search_partially, split_query
from arena.web.rendering import render_page, respond_with_etag

MAX_QUERY_CHARS = 100
"""The maximum length of a query in documents. The rest of a longer query is ignored."""


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
