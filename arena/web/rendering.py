"""Renders templates, and answers with entity tags."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from arena.web import bundle, formatting, titles
from arena.web.charts import sparkline_points
from arena.web.errors import describe_error, error_headers, http_status_of
from arena.web.room_files import describe_games, picture_of, style_sheets
from arena.web.site import Site, static_address
from protocol import VERSION
from protocol.games import clear_on_registration
from protocol.names import fold_name


def board_sheets(game: str | None = None) -> list[str]:
    """Return the paths of the style sheets of a game's board; without a game, of all boards."""
    return ["board/board.css", *style_sheets(game)]


def viewer_sheets(game: str | None = None) -> list[str]:
    """Return the paths of the style sheets that the match viewer needs in addition to the one of every page."""
    return [*board_sheets(game), "board/match.css", "viewer/viewer.css"]


@clear_on_registration
@cache
def _known_games() -> str:
    """Return the titles, presets and script addresses of all games, as JSON for a script element of a page."""
    return formatting.data(describe_games(static_address))


def _picture(game: str) -> Markup | None:
    found = picture_of(game)
    return None if found is None else Markup(found)  # noqa: S704 - it comes with the game


_templates = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.globals.update(version=VERSION, query=formatting.query, curve=sparkline_points)
_templates.globals.update(preloaded=bundle.modules_to_preload, known_games=_known_games)
_templates.globals.update(board_sheets=board_sheets, viewer_sheets=viewer_sheets)
_templates.globals.update(example_game=titles.example_game, example_pool=titles.example_pool)
_templates.filters.update(formatting.FILTERS)
_templates.filters.update(titles.FILTERS)
_templates.filters["picture"] = _picture


_displays: ContextVar[Callable[[], Mapping[str, str]]] = ContextVar("_displays", default=dict)
"""The function that returns the display names of the site whose page is rendered now. Template macros use this
variable, because they have no access to `site`.
"""


def _display_name(bot: str) -> str:
    return _displays.get()().get(fold_name(bot), "")


_templates.filters["display_name"] = _display_name


def site_of(request: Request) -> Site:
    site: Site = request.app.state.site
    return site


def render_page(
    request: Request, template: str, status: int = 200, headers: Mapping[str, str] | None = None, **values: Any
) -> Response:
    """Answer with a rendered page, or with 304 if the browser has it already. The template can use `values`, `site`,
    and the request's `path`.
    """
    return respond_with_etag(request, render_bytes(request, template, **values), "text/html", headers or {}, status)


def render_bytes(request: Request, template: str, **values: Any) -> bytes:
    site = site_of(request)
    shown = _displays.set(site.displays)
    try:
        text = _templates.get_template(template).render(site=site, path=request.url.path, **values)
    finally:
        _displays.reset(shown)
    return text.encode()


def render_in_pieces(template: str, **values: Any) -> Iterator[str]:
    """Render a template that needs no site, such as that of a match's HTML file. Yield the text in pieces."""
    return _templates.get_template(template).generate(**values)


def error_page(request: Request, exc: Exception) -> Response:
    status = http_status_of(exc)
    told = describe_error(request, exc)
    return render_page(request, "fault.html", status, error_headers(request, exc), title=status.phrase, sentence=told)


def respond_with_etag(
    request: Request, body: bytes, media: str, headers: Mapping[str, str], status: int = HTTPStatus.OK
) -> Response:
    """Answer with a body and its weak entity tag, or with 304 if `If-None-Match` contains the tag. The tag is a hash of
    the body before compression.
    """
    tag = _tag(body)
    if status == HTTPStatus.OK and matches_etag(request, tag):
        return not_modified(tag, headers)
    return Response(body, status, headers_with_etag(tag, headers), media)


def etag_of_source(source: bytes) -> str:
    """Return the entity tag of an answer that is computed from `source`. It also depends on the arena's version."""
    return _tag(VERSION.encode() + b" " + source)


def _tag(body: bytes) -> str:
    return f'"{hashlib.sha256(body).hexdigest()[:24]}"'


def matches_etag(request: Request, tag: str) -> bool:
    """Return whether the header `If-None-Match` of a request contains the tag."""
    known = request.headers.get("if-none-match", "").strip()
    return known == "*" or tag in [each.strip().removeprefix("W/") for each in known.split(",")]


def headers_with_etag(tag: str, headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of an answer together with its entity tag and cache control."""
    return {"etag": f"W/{tag}", "cache-control": "no-cache", **headers}


def not_modified(tag: str, headers: Mapping[str, str]) -> Response:
    return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers_with_etag(tag, headers))
