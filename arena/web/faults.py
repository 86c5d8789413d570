"""What a browser is told when something is wrong: a page with one sentence."""

from __future__ import annotations

import logging
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import Request

from protocol.errors import ArenaFault, Fault, UsageFault

log = logging.getLogger("arena.web")


class NotFound(UsageFault):
    """There is no such thing at this address."""


def status_of(exc: Exception) -> HTTPStatus:
    """The HTTP status that says whose fault it is."""
    match exc:
        case NotFound():
            return HTTPStatus.NOT_FOUND
        case ArenaFault():
            return HTTPStatus.SERVICE_UNAVAILABLE
        case Fault():
            return HTTPStatus.BAD_REQUEST
        case HTTPException():
            return HTTPStatus(exc.status_code)
    return HTTPStatus.INTERNAL_SERVER_ERROR


def sentence(request: Request, exc: Exception) -> str:
    """What is wrong, in one line for people. What nobody foresaw is in the log."""
    match exc:
        case Fault():
            return str(exc)
        case HTTPException(status_code=404):
            return f"there is no page {request.url.path}"
        case HTTPException():
            return exc.detail
    log.error("%s failed: %s: %s", request.url.path, type(exc).__name__, exc)
    return "the page could not be made, by a fault of the arena's; its log says more"
