"""Under which names a machine may be asked for its own page: no page on the web gets to it by a name of its own."""

from __future__ import annotations

from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from arena.network.addresses import Proxies, is_loopback
from arena.network.origins import is_own_name
from protocol.shown import shown


class OwnNames:
    """On loopback, answers only to names of this machine, but for a proxy that is trusted."""

    def __init__(self, app: ASGIApp, proxies: Proxies) -> None:
        self._app = app
        self._proxies = proxies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve, or say that this is not the host that was asked for."""
        host = Headers(scope=scope).get("host", "") if scope["type"] == "http" else ""
        if host and self._is_local(scope) and not is_own_name(host):
            text = f"{shown(host)} is no name of this machine; a proxy in front of it is named by --trusted-proxy\n"
            await PlainTextResponse(text, HTTPStatus.MISDIRECTED_REQUEST)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _is_local(self, scope: Scope) -> bool:
        local, peer = scope.get("server"), scope.get("client")
        return bool(local and is_loopback(local[0])) and not (peer and self._proxies.trusts(peer[0]))
