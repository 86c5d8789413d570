"""Values into pages: the templates, and the words that all of them know."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse

from arena.web import formats, results
from arena.web.charts import curve
from arena.web.faults import headers_of, sentence, status_of
from arena.web.formats import query
from arena.web.site import Site
from arena.web.tags import knows, tag_of
from protocol import VERSION
from protocol.games import NAMES

_templates = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.globals.update(version=VERSION, games=NAMES, query=query, curve=curve)
_templates.filters.update({**formats.FILTERS, **results.FILTERS})


def site_of(request: Request) -> Site:
    """The site whose page is asked for."""
    site: Site = request.app.state.site
    return site


def page(
    request: Request, template: str, status: int = 200, headers: Mapping[str, str] | None = None, **values: Any
) -> HTMLResponse:
    """A page, or that the browser has it already. The template knows `site`, `path` (of the address) and the values."""
    text = rendered(template, site=site_of(request), path=request.url.path, **values)
    told = {"etag": tag_of(text.encode()), "cache-control": "no-cache", **(headers or {})}
    if status == HTTPStatus.OK and knows(request.headers.get("if-none-match"), told["etag"]):
        return HTMLResponse(None, HTTPStatus.NOT_MODIFIED, told)
    return HTMLResponse(text, status, told)


def rendered(template: str, **values: Any) -> str:
    """A template with these values, for what is no page of a site."""
    return _templates.get_template(template).render(**values)


def as_page(request: Request, exc: Exception) -> HTMLResponse:
    """The page that says what is wrong."""
    status = status_of(exc)
    values = {"title": status.phrase, "sentence": sentence(request, exc)}
    return page(request, "fault.html", status.value, headers_of(exc), **values)
