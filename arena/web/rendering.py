"""Values into pages, by templates and the words that all of them know, and answers with their entity tags."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import Response

from arena.web import bundle, formatting
from arena.web.charts import curve
from arena.web.errors import error_headers, http_status_of, sentence
from arena.web.site import Site
from protocol import VERSION
from protocol.games import NAMES

VIEWER_SHEETS = ("board/board.css", "board/risk.css", "viewer/viewer.css")
"""What the viewer needs beside the style of every page."""


_templates = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.globals.update(version=VERSION, games=NAMES, query=formatting.query, curve=curve)
_templates.globals.update(imported=bundle.modules, viewer_sheets=VIEWER_SHEETS)
_templates.filters.update(formatting.FILTERS)


def site_of(request: Request) -> Site:
    """The site whose page is asked for."""
    site: Site = request.app.state.site
    return site


def render_page(
    request: Request, template: str, status: int = 200, headers: Mapping[str, str] | None = None, **values: Any
) -> Response:
    """A page, or that the browser has it already. The template knows `site`, `path` (of the address) and the values."""
    text = render_template(template, site=site_of(request), path=request.url.path, **values)
    return respond_with_etag(request, text.encode(), "text/html", headers or {}, status)


def render_template(template: str, **values: Any) -> str:
    """A template with these values, for what is no page of a site."""
    return _templates.get_template(template).render(**values)


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
    tag = f'"{hashlib.sha256(body).hexdigest()[:24]}"'
    told = {"etag": f"W/{tag}", "cache-control": "no-cache", **headers}
    known = request.headers.get("if-none-match", "").strip()
    if status == HTTPStatus.OK and (
        known == "*" or tag in [each.strip().removeprefix("W/") for each in known.split(",")]
    ):
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=told)
    return Response(body, status, told, media)
