"""Entity tags: what saves a browser what it has already."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response


def respond_with_etag(
    request: Request, body: bytes, media: str, headers: Mapping[str, str], status: int = HTTPStatus.OK
) -> Response:
    """An answer with its tag; nothing of it, where the request says that it is known."""
    told = {"etag": _etag_of(body), "cache-control": "no-cache", **headers}
    if status == HTTPStatus.OK and _is_not_modified(request.headers.get("if-none-match"), told["etag"]):
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=told)
    return Response(body, status, told, media)


def _etag_of(body: bytes) -> str:
    """A weak tag: the same for the same bytes, however they are packed on their way."""
    return f'W/"{hashlib.sha256(body).hexdigest()[:24]}"'


def _is_not_modified(known: str | None, tag: str) -> bool:
    """Whether `If-None-Match` names the tag."""
    if known is None:
        return False
    return known.strip() == "*" or tag.removeprefix("W/") in (
        each.strip().removeprefix("W/") for each in known.split(",")
    )
