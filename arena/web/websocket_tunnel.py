"""A bot that comes to the page's port, where no WebSocket is: it is told where the arena is."""

from __future__ import annotations

from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from arena.web.site import address


class NoWebSocket:
    """Answers whoever asks for a WebSocket with a line; `socket` is that of `Site`."""

    def __init__(self, app: ASGIApp, socket: str) -> None:
        self._app = app
        self._socket = socket

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve, or say where bots connect."""
        if scope["type"] == "http":
            request = Request(scope)
            if "sec-websocket-key" in request.headers:  # a proxy passes it on, unlike `Upgrade`
                await PlainTextResponse(f"{self._sentence(request)}\n", HTTPStatus.NOT_FOUND)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _sentence(self, request: Request) -> str:
        where = address(self._socket, request.headers.get("host", ""), encrypted=request.url.scheme == "https")
        if where:
            return f"this is the arena's page for browsers; bots connect to {where}"
        return "these are the pages of a stored arena, to which nothing can connect; arena serve starts one"
