"""What every answer says of itself: what a browser may load and run on a page, and who may frame it."""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from arena.web.site import address


def policy(host: str, socket: str) -> str:
    """The Content-Security-Policy of a page that was asked for under `host`; `socket` is that of `Site`."""
    sockets = dict.fromkeys(address(socket, host, encrypted=encrypted) for encrypted in (False, True))
    connect = " ".join(filter(None, ["'self'", *sockets]))
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src {connect}; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )


class SafeHeaders:
    """Says the policy, and that nothing else may be made of an answer."""

    def __init__(self, app: ASGIApp, socket: str) -> None:
        self._app = app
        self._socket = socket

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve, with these headers on what is sent."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        host = Headers(scope=scope).get("host", "")

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["content-security-policy"] = policy(host, self._socket)
                headers["x-content-type-options"] = "nosniff"
                headers["referrer-policy"] = "no-referrer"
                headers["cross-origin-opener-policy"] = "same-origin"
            await send(message)

        await self._app(scope, receive, told)
