"""Values into pages, by templates and the words that all of them know, and answers with their entity tags."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from http import HTTPStatus
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import Response

from arena.web import bundle, formatting, titles
from arena.web.charts import curve
from arena.web.errors import error_headers, http_status_of, sentence
from arena.web.site import Site
from protocol import VERSION
from protocol.names import folded

VIEWER_SHEETS = ("board/board.css", "board/risk.css", "board/rounds.css", "board/match.css", "viewer/viewer.css")
"""What the viewer needs beside the style of every page."""


_templates = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.globals.update(version=VERSION, query=formatting.query, curve=curve)
_templates.globals.update(preloaded=bundle.preloaded, viewer_sheets=VIEWER_SHEETS)
_templates.filters.update(formatting.FILTERS)
_templates.filters.update(titles.FILTERS)


_displays: ContextVar[Callable[[], Mapping[str, str]]] = ContextVar("_displays", default=dict)
"""What gives the display names of the site whose page is made now: macros know no site."""


def _display_name(bot: str) -> str:
    """Return what people call who plays as this bot; empty where that is the name alone."""
    return _displays.get()().get(folded(bot), "")


_templates.filters["display_name"] = _display_name


def site_of(request: Request) -> Site:
    """The site whose page is asked for."""
    site: Site = request.app.state.site
    return site


def render_page(
    request: Request, template: str, status: int = 200, headers: Mapping[str, str] | None = None, **values: Any
) -> Response:
    """A page, or that the browser has it already. The template knows `site`, `path` (of the address) and the values."""
    return respond_with_etag(request, page(request, template, **values), "text/html", headers or {}, status)


def page(request: Request, template: str, **values: Any) -> bytes:
    """The same without what makes it an answer."""
    site = site_of(request)
    shown = _displays.set(site.displays)
    try:
        text = _templates.get_template(template).render(site=site, path=request.url.path, **values)
    finally:
        _displays.reset(shown)
    return text.encode()


def render_in_pieces(template: str, **values: Any) -> Iterator[str]:
    """A template with these values, for what is no page of a site, as it is made."""
    return _templates.get_template(template).generate(**values)


def error_page(request: Request, exc: Exception) -> Response:
    """The page that says what is wrong."""
    status = http_status_of(exc)
    told = sentence(request, exc)
    return render_page(request, "fault.html", status, error_headers(exc), title=status.phrase, sentence=told)


def respond_with_etag(
    request: Request, body: bytes, media: str, headers: Mapping[str, str], status: int = HTTPStatus.OK
) -> Response:
    """An answer with its tag; nothing of it, where `If-None-Match` says that it is known.

    The tag is a weak one: the same for the same bytes, however they are packed on their way.
    """
    tag = _tag(body)
    if status == HTTPStatus.OK and is_known(request, tag):
        return not_modified(tag, headers)
    return Response(body, status, tagged(tag, headers), media)


def source_tag(source: bytes) -> str:
    """The tag of what is made of a source by this version."""
    return _tag(VERSION.encode() + b" " + source)


def _tag(body: bytes) -> str:
    return f'"{hashlib.sha256(body).hexdigest()[:24]}"'


def is_known(request: Request, tag: str) -> bool:
    """Whether `If-None-Match` has it."""
    known = request.headers.get("if-none-match", "").strip()
    return known == "*" or tag in [each.strip().removeprefix("W/") for each in known.split(",")]


def tagged(tag: str, headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of an answer with its tag."""
    return {"etag": f"W/{tag}", "cache-control": "no-cache", **headers}


def not_modified(tag: str, headers: Mapping[str, str]) -> Response:
    """The answer where the tag is known."""
    return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=tagged(tag, headers))
