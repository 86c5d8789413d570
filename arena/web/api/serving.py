"""The API as an application hangs it in: its routes, and what lets pages of other origins read it."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from arena.web.api.openapi import openapi
from arena.web.api.operation import PREFIX, written
from arena.web.api.operations import OPERATIONS


def _openapi(request: Request) -> Response:
    return written(request, openapi())


ROUTES = [*(each.route for each in OPERATIONS), Route(f"{PREFIX}/openapi.json", _openapi)]


class ReadableAnywhere:
    """Lets scripts of any page read what is under `PREFIX`. They come without cookies, and there are none."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve; the question whether a request may be sent is answered here."""
        if scope["type"] != "http" or not scope["path"].startswith(f"{PREFIX}/"):
            await self._app(scope, receive, send)
            return

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["access-control-allow-origin"] = "*"
                headers["access-control-expose-headers"] = "ETag, Link"
            await send(message)

        if scope["method"] == "OPTIONS":
            asked = {"allow": "GET, HEAD, OPTIONS", "access-control-allow-headers": "If-None-Match"}
            may = {**asked, "access-control-allow-methods": "GET, HEAD", "access-control-max-age": "86400"}
            await Response(status_code=204, headers=may)(scope, receive, told)
            return
        await self._app(scope, receive, told)
