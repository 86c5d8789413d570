"""The ASGI application: routes, static files, and the middleware around every answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple

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

from arena.network.addresses import Network, Proxies, misdirection_reason
from arena.store.result_queries import result_of
from arena.web.answers import GZIP_LEVEL
from arena.web.api import operations
from arena.web.api.operation import PREFIX
from arena.web.errors import json_error_response
from arena.web.pages import ROUTES
from arena.web.rendering import error_page, site_of
from arena.web.room_files import ROOMS_FOLDER, is_served, room_folders
from arena.web.site import STATIC_FOLDER, Site, arena_url, static_version
from protocol.errors import Fault


def content_security_policy(host: str, socket: str, nodes: Sequence[str] = ()) -> str:
    """Return the Content-Security-Policy of a page requested under `host`. `socket` is `Site.socket`; `nodes` are the
    URLs of an arena's nodes.
    """
    sockets = [arena_url(socket, host, encrypted=encrypted) for encrypted in (False, True)]
    connect = " ".join(dict.fromkeys(filter(None, ["'self'", *sockets, *nodes])))
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src {connect}; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )


def _add_security_headers(app: ASGIApp, site: Site) -> ASGIApp:
    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        host = Headers(scope=scope).get("host", "")
        headers = {
            "x-content-type-options": "nosniff",
            "referrer-policy": "no-referrer",
            "cross-origin-opener-policy": "same-origin",
        }

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                is_page = MutableHeaders(scope=message).get("content-type", "").startswith("text/html")
                nodes = await site.nodes.all() if is_page else ()
                headers["content-security-policy"] = content_security_policy(host, site.socket, nodes)
            await secured(message)

        secured = _set_headers(headers, send, unless_there=True)
        await app(scope, receive, told)

    return serve


def _allow_cross_origin_reads(app: ASGIApp) -> ASGIApp:
    """Wrap an application to let scripts of any origin read the API, which is below `PREFIX`, without cookies.

    CORS preflight requests are answered here.
    """

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(f"{PREFIX}/"):
            await app(scope, receive, send)
            return
        send = _set_headers({"access-control-allow-origin": "*", "access-control-expose-headers": "ETag, Link"}, send)
        if scope["method"] == "OPTIONS":
            asked = {"allow": "GET, HEAD, OPTIONS", "access-control-allow-headers": "If-None-Match"}
            may = {**asked, "access-control-allow-methods": "GET, HEAD", "access-control-max-age": "86400"}
            await Response(status_code=204, headers=may)(scope, receive, send)
            return
        await app(scope, receive, send)

    return serve


def _set_headers(headers: Mapping[str, str], send: Send, *, unless_there: bool = False) -> Send:
    """Return a `send` that sets these headers of an answer. With `unless_there`, it does not replace existing ones."""

    async def told(message: Message) -> None:
        if message["type"] == "http.response.start":
            there = MutableHeaders(scope=message)
            there.update({name: value for name, value in headers.items() if not (unless_there and name in there)})
        await send(message)

    return told


def _hint_at_websocket(app: ASGIApp, socket: str) -> ASGIApp:
    """Wrap an application to answer WebSocket requests with the URL where bots connect; `socket` is `Site.socket`."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope) if scope["type"] == "http" else {}
        if "sec-websocket-key" not in headers:  # a proxy forwards this header, unlike `Upgrade`
            await app(scope, receive, send)
            return
        sentence = "these pages show stored data: bots cannot connect here; arena serve starts a server"
        if where := arena_url(socket, headers.get("host", ""), encrypted=Request(scope).url.scheme == "https"):
            sentence = f"this is the arena's page for browsers; bots connect to {where}"
        await PlainTextResponse(f"{sentence}\n", HTTPStatus.NOT_FOUND)(scope, receive, send)

    return serve


def _refuse_other_hosts(app: ASGIApp, proxies: Proxies) -> ASGIApp:
    """Wrap an application so that a loopback address only answers requests for host names of this machine. Requests
    from a trusted proxy are not checked.
    """

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        local, peer = scope.get("server"), scope.get("client")
        wrong = None
        if scope["type"] == "http" and local and not (peer and proxies.trusts(peer[0])):
            wrong = misdirection_reason(Headers(scope=scope).get("host", ""), local[0])
        if wrong is None:
            await app(scope, receive, send)
        else:
            await PlainTextResponse(f"{wrong}\n", HTTPStatus.MISDIRECTED_REQUEST)(scope, receive, send)

    return serve


class _Bodies(NamedTuple):
    """A kind of requests with bodies: whether the body of a request is admitted, and the sentence about the limit if
    the request is of this kind, else "".
    """

    admits: Callable[[Scope], bool]
    describe_limit: Callable[[Scope], str]


NO_BODIES = _Bodies(lambda scope: False, lambda scope: "")
"""The bodies of a site that takes none."""
NO_BODY_MESSAGE = "a request to these pages must have no body"
"""The answer to a request that may have no body, and has one."""


def _refuse_bodies(app: ASGIApp, bodies: Sequence[_Bodies]) -> ASGIApp:
    """Wrap an application to refuse requests with a body, unless one of `bodies` admits it.

    The body of a refused request is not read, and its connection is closed.
    """

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        empty = headers.get("content-length", "0").strip("0") == "" and "transfer-encoding" not in headers
        if empty or any(kind.admits(scope) for kind in bodies):
            await app(scope, receive, send)
            return
        limit = next(filter(None, (kind.describe_limit(scope) for kind in bodies)), NO_BODY_MESSAGE)
        refused = HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, limit)
        response = _error_response(Request(scope), refused)
        response.headers["connection"] = "close"
        await response(scope, receive, send)

    return serve


def _answer_internal_errors(app: ASGIApp) -> ASGIApp:
    """Wrap an application to answer unexpected errors, and log them without a traceback. An answer that the error
    interrupts is cut off.
    """

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def told(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await app(scope, receive, told)
        except Exception as exc:
            response = _error_response(Request(scope), exc)
            if not begun:
                await response(scope, receive, send)

    return serve


MIN_GZIP_BYTES = 1000
"""The size in bytes from which answers are compressed."""
LIVENESS_PATH, READINESS_PATH = "/healthz", "/readyz"
"""Paths of the health checks whether the process is alive (`LIVENESS_PATH`) and the store works (`READINESS_PATH`)."""
IMMUTABLE_CACHE_CONTROL = "public, max-age=31536000, immutable"
"""The header Cache-Control of files that never change under their URL."""


def application(site: Site, proxies: Sequence[Network] = ()) -> Starlette:
    """Return the application for an arena's pages. `proxies` are trusted to forward addresses and host names."""
    admin = _admin_pages(site)
    submissions, submission_routes = _submissions(site)
    app = Starlette(
        routes=[
            *ROUTES,
            *operations.ROUTES,
            *submission_routes,
            *(
                Mount(f"/static/{static_version()}/{ROOMS_FOLDER}/{room}", _RoomFiles(room, directory=folder))
                for room, folder in room_folders().items()
            ),
            Mount(f"/static/{static_version()}", _ImmutableFiles(directory=STATIC_FOLDER)),
            Route("/favicon.ico", lambda _: FileResponse(STATIC_FOLDER / "icon.svg")),
            Route(LIVENESS_PATH, _alive),
            Route(READINESS_PATH, _ready),
            *admin.routes,
        ],
        middleware=[
            Middleware(_add_security_headers, site=site),
            Middleware(GZipMiddleware, MIN_GZIP_BYTES, GZIP_LEVEL),
            Middleware(_refuse_other_hosts, proxies=Proxies(proxies)),
            *admin.guards,
            Middleware(ProxyHeadersMiddleware, trusted_hosts=[str(network) for network in proxies]),
            Middleware(_hint_at_websocket, socket=site.socket),
            Middleware(_allow_cross_origin_reads),
            Middleware(_answer_internal_errors),
            Middleware(_refuse_bodies, bodies=(admin.bodies, submissions)),
        ],
        exception_handlers={Fault: _error_response, HTTPException: _error_response},
    )
    app.state.site = site
    return app


class _AdminPages(NamedTuple):
    """The routes, middleware and forms of the admin pages. The defaults are for a site without admin pages."""

    routes: Sequence[Route] = ()
    guards: Sequence[Middleware] = ()
    bodies: _Bodies = NO_BODIES


def _admin_pages(site: Site) -> _AdminPages:
    if site.admin is None:
        return _AdminPages()
    from arena.web.admin.access_control import (  # most sites don't need it
        AccessControl,
        can_have_form,
        describe_form_limit,
        guard_admin_pages,
    )
    from arena.web.admin.routes import routes

    return _AdminPages(
        routes(AccessControl(site.admin)),
        [Middleware(guard_admin_pages, config=site.admin)],
        _Bodies(can_have_form, describe_form_limit),
    )


def _submissions(site: Site) -> tuple[_Bodies, Sequence[Route]]:
    """Return the bodies of requests that hand a program in, and the routes of hosted bots."""
    if site.hosting is None:
        return NO_BODIES, ()
    from arena.web.bearer_tokens import BearerTokens  # most sites don't need these
    from arena.web.plans import Plans
    from arena.web.program_uploads import can_have_submission, describe_submission_limit
    from arena.web.submissions import Submissions

    tokens = BearerTokens()
    routes = [*Submissions(tokens).routes, *Plans(tokens).routes]
    limits = site.hosting.limits
    return _Bodies(partial(can_have_submission, limits), partial(describe_submission_limit, limits)), routes


def _error_response(request: Request, exc: Exception) -> Response:
    path = request.url.path
    return (json_error_response if path in (LIVENESS_PATH, READINESS_PATH) or path.startswith("/api/") else error_page)(
        request, exc
    )


class _ImmutableFiles(StaticFiles):
    """Static files that browsers may cache forever, because their URLs change with their content."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["cache-control"] = IMMUTABLE_CACHE_CONTROL
        return response


class _RoomFiles(_ImmutableFiles):
    """The files in the folder of a room, of which only those that `is_served` allows are served."""

    def __init__(self, room: str, *, directory: Path) -> None:
        super().__init__(directory=directory)
        self._room = room

    async def get_response(self, path: str, scope: Scope) -> Response:
        if not is_served(self._room, path):
            raise HTTPException(HTTPStatus.NOT_FOUND)
        return await super().get_response(path, scope)


def _alive(request: Request) -> Response:
    """Answer that the process is alive, whatever the state of the store. The arena itself has its own `/healthz`."""
    return JSONResponse({"status": "ok"}, headers={"cache-control": "no-store"})


def _ready(request: Request) -> Response:
    """Answer that the process is alive and the store works; a failing store is an error."""
    site_of(request).reader.read(result_of, "")
    return _alive(request)
