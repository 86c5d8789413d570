"""Under which names a machine may be asked for its own page: no page on the web gets to it by a name of its own."""

from __future__ import annotations

from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from arena.network.addresses import Proxies
from arena.network.origins import misdirected


class OwnNames:
    """On loopback, answers only to names of this machine, but for a proxy that is trusted."""

    def __init__(self, app: ASGIApp, proxies: Proxies) -> None:
        self._app = app
        self._proxies = proxies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve, or say that this is not the host that was asked for."""
        wrong = self._misdirected(scope) if scope["type"] == "http" else None
        if wrong is None:
            await self._app(scope, receive, send)
        else:
            await PlainTextResponse(f"{wrong}\n", HTTPStatus.MISDIRECTED_REQUEST)(scope, receive, send)

    def _misdirected(self, scope: Scope) -> str | None:
        local, peer = scope.get("server"), scope.get("client")
        if not local or (peer and self._proxies.trusts(peer[0])):
            return None
        return misdirected(Headers(scope=scope).get("host", ""), local[0])
