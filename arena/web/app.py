"""The ASGI application: routes, static files, and what stands around every answer."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from arena.network.addresses import Network, Proxies
from arena.web.allowed_hosts import OwnNames
from arena.web.api import serving as api
from arena.web.errors import Unforeseen, as_json
from arena.web.headers import SafeHeaders
from arena.web.pages import ROUTES
from arena.web.rendering import as_page, site_of
from arena.web.site import STATIC, Site
from arena.web.websocket_tunnel import NoWebSocket
from protocol.errors import Fault

LEAST_ZIPPED = 1000
HEALTH = "/healthz"
FOR_EVER = "public, max-age=31536000, immutable"


def application(site: Site, proxies: Sequence[Network] = ()) -> Starlette:
    """The pages of an arena. Of these `proxies` it is believed for whom they ask, and under which name."""
    app = Starlette(
        routes=[
            *ROUTES,
            *api.ROUTES,
            Mount(f"/static/{site.edition}", _Kept(directory=STATIC)),
            Route("/favicon.ico", lambda _: FileResponse(STATIC / "icon.svg")),
            Route(HEALTH, _health),
        ],
        middleware=[
            Middleware(SafeHeaders, socket=site.socket),
            Middleware(GZipMiddleware, LEAST_ZIPPED, 6),
            Middleware(OwnNames, proxies=Proxies(proxies)),
            Middleware(ProxyHeadersMiddleware, trusted_hosts=[str(network) for network in proxies]),
            Middleware(NoWebSocket, socket=site.socket),
            Middleware(api.ReadableAnywhere),
            Middleware(Unforeseen, answer=_told),
        ],
        exception_handlers={Fault: _told, HTTPException: _told},
    )
    app.state.site = site
    return app


def _told(request: Request, exc: Exception) -> Response:
    """What is wrong, as JSON for programs and as a page for everybody else."""
    path = request.url.path
    return (as_json if path == HEALTH or path.startswith("/api/") else as_page)(request, exc)


class _Kept(StaticFiles):
    """Files that never change under their address."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["cache-control"] = FOR_EVER
        return response


def _health(request: Request) -> Response:
    """Whether the page stands and its store answers; of the arena itself, its own `/healthz` says it."""
    site_of(request).reader.match("")
    return JSONResponse({"status": "ok"}, headers={"cache-control": "no-store"})
