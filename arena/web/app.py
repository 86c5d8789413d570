"""The ASGI application: routes, static files, hosts and headers, and what stands around every answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from arena.network.addresses import Network, Proxies
from arena.network.origins import misdirected
from arena.store.result_queries import result_of
from arena.web.api import openapi
from arena.web.api.operation import PREFIX
from arena.web.errors import json_error_response
from arena.web.pages import ROUTES
from arena.web.rendering import error_page, site_of
from arena.web.site import STATIC, Site, address
from protocol.errors import Fault


def content_security_policy(host: str, socket: str) -> str:
    """The Content-Security-Policy of a page that was asked for under `host`; `socket` is that of `Site`."""
    sockets = dict.fromkeys(address(socket, host, encrypted=encrypted) for encrypted in (False, True))
    connect = " ".join(filter(None, ["'self'", *sockets]))
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src {connect}; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )


class SecurityHeaders:
    """Says the policy, and that nothing else may be made of an answer."""

    def __init__(self, app: ASGIApp, socket: str) -> None:
        self._app = app
        self._socket = socket

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve, with these headers on what is sent."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {
            "content-security-policy": content_security_policy(Headers(scope=scope).get("host", ""), self._socket),
            "x-content-type-options": "nosniff",
            "referrer-policy": "no-referrer",
            "cross-origin-opener-policy": "same-origin",
        }
        await self._app(scope, receive, _sending(headers, send))


class CrossOriginReadable:
    """Lets scripts of any page read what is under `PREFIX`. They come without cookies, and there are none."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve; the question whether a request may be sent is answered here."""
        if scope["type"] != "http" or not scope["path"].startswith(f"{PREFIX}/"):
            await self._app(scope, receive, send)
            return
        send = _sending({"access-control-allow-origin": "*", "access-control-expose-headers": "ETag, Link"}, send)
        if scope["method"] == "OPTIONS":
            asked = {"allow": "GET, HEAD, OPTIONS", "access-control-allow-headers": "If-None-Match"}
            may = {**asked, "access-control-allow-methods": "GET, HEAD", "access-control-max-age": "86400"}
            await Response(status_code=204, headers=may)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _sending(headers: Mapping[str, str], send: Send) -> Send:
    """The same, with these headers on an answer."""

    async def told(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(headers)
        await send(message)

    return told


class WebSocketHint:
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


class AllowedHosts:
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


class InternalErrors:
    """Answers what nobody foresaw; no traceback is logged."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve; an answer that has begun is cut off."""
        begun = False

        async def told(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, told)
        except Exception as exc:
            response = _error_response(Request(scope), exc)
            if not begun:
                await response(scope, receive, send)


MIN_GZIP_BYTES = 1000
HEALTH = "/healthz"
IMMUTABLE_CACHE_CONTROL = "public, max-age=31536000, immutable"


def application(site: Site, proxies: Sequence[Network] = ()) -> Starlette:
    """The pages of an arena. Of these `proxies` it is believed for whom they ask, and under which name."""
    app = Starlette(
        routes=[
            *ROUTES,
            *openapi.ROUTES,
            Mount(f"/static/{site.static_version}", _ImmutableFiles(directory=STATIC)),
            Route("/favicon.ico", lambda _: FileResponse(STATIC / "icon.svg")),
            Route(HEALTH, _health),
        ],
        middleware=[
            Middleware(SecurityHeaders, socket=site.socket),
            Middleware(GZipMiddleware, MIN_GZIP_BYTES, 6),
            Middleware(AllowedHosts, proxies=Proxies(proxies)),
            Middleware(ProxyHeadersMiddleware, trusted_hosts=[str(network) for network in proxies]),
            Middleware(WebSocketHint, socket=site.socket),
            Middleware(CrossOriginReadable),
            Middleware(InternalErrors),
        ],
        exception_handlers={Fault: _error_response, HTTPException: _error_response},
    )
    app.state.site = site
    return app


def _error_response(request: Request, exc: Exception) -> Response:
    """What is wrong, as JSON for programs and as a page for everybody else."""
    path = request.url.path
    return (json_error_response if path == HEALTH or path.startswith("/api/") else error_page)(request, exc)


class _ImmutableFiles(StaticFiles):
    """Files that never change under their address."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["cache-control"] = IMMUTABLE_CACHE_CONTROL
        return response


def _health(request: Request) -> Response:
    """Whether the page stands and its store answers; of the arena itself, its own `/healthz` says it."""
    site_of(request).reader.read(result_of, "")
    return JSONResponse({"status": "ok"}, headers={"cache-control": "no-store"})
