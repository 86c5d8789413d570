"""Turns errors into one sentence for the visitor, as a page or as JSON."""

from __future__ import annotations

import logging
import traceback
from http import HTTPStatus

import msgspec
from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route

from arena.store.match_log import DamagedLog
from arena.store.result_queries import RecordRemoved
from arena.web.formatting import listed
from protocol.display import escape_unprintable
from protocol.errors import ArenaFault, BadRecord, Fault, UsageFault

log = logging.getLogger("arena.web.errors")


class NotFound(UsageFault):
    """Raised if nothing exists at the requested address."""


class Complaint(Struct, frozen=True, kw_only=True):
    """The `error` of an answer to a failed request: a sentence for people."""

    message: str


class Wrong(Struct, frozen=True, kw_only=True):
    """The answer to a request that failed."""

    error: Complaint


def http_status_of(exc: Exception) -> HTTPStatus:
    match exc:
        case NotFound():
            return HTTPStatus.NOT_FOUND
        case RecordRemoved():
            return HTTPStatus.GONE
        case BadRecord() | DamagedLog():
            return HTTPStatus.INTERNAL_SERVER_ERROR
        case ArenaFault():
            return HTTPStatus.SERVICE_UNAVAILABLE
        case Fault():
            return HTTPStatus.BAD_REQUEST
        case HTTPException():
            return HTTPStatus(exc.status_code)
    return HTTPStatus.INTERNAL_SERVER_ERROR


def describe_error(request: Request, exc: Exception) -> str:
    """Describe an error in one line for people. Unexpected errors are logged."""
    path = escape_unprintable(request.url.path)
    match exc:
        case Fault():
            return escape_unprintable(str(exc))
        case HTTPException(status_code=404):
            return f"there is nothing at {path}"
        case HTTPException(status_code=405):
            methods = _allowed_methods(request)
            only_forms = methods == ["POST"] and not path.startswith("/api/")
            return f"{path} accepts only {'forms, by POST' if only_forms else listed(methods)}"
        case HTTPException():
            return exc.detail
    log.error("%s failed: %s", path, _format_error(exc))
    return "this failed because of an internal error of the arena; its log has the details"


def _allowed_methods(request: Request) -> list[str]:
    """Return the methods that the address of a request accepts."""
    routes = [route for route in request.app.routes if isinstance(route, Route)]
    found = [route.methods or () for route in routes if route.matches(request.scope)[0] is Match.PARTIAL]
    return sorted({method for methods in found for method in methods})


def _format_error(exc: Exception) -> str:
    frames = traceback.extract_tb(exc.__traceback__)
    where = f", in {frames[-1].filename} line {frames[-1].lineno}" if frames else ""
    return escape_unprintable(f"{type(exc).__name__}: {exc}{where}")


def json_error_response(request: Request, exc: Exception) -> Response:
    answer = Wrong(error=Complaint(message=describe_error(request, exc)))
    headers = error_headers(request, exc)
    return Response(msgspec.json.encode(answer), http_status_of(exc), headers, media_type="application/json")


def error_headers(request: Request, exc: Exception) -> dict[str, str]:
    """Return the headers that the status of an error needs, such as the allowed methods or when to retry."""
    told = dict(getattr(exc, "headers", None) or {})
    if "Allow" in told:
        told["Allow"] = ", ".join(_allowed_methods(request))
    return {name: value for name, value in told.items() if name.lower() in ("allow", "retry-after", "www-authenticate")}
