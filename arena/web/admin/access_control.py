"""Restricts access to the admin pages: allowed host names, sessions, and protection against forms of other sites."""

from __future__ import annotations

import hmac
import logging
import time
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from math import ceil
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from arena.network.addresses import is_allowed_host
from arena.store.tokens import hash_token
from arena.web.admin.forms import MAX_FORM_BYTES, Form, fits, read_form
from arena.web.admin.sessions import SESSION_LIFETIME_S, AdminSession, Sessions
from arena.web.admin_config import PREFIX, AdminConfig
from arena.web.answers import visitor_of
from arena.web.rendering import render_bytes, site_of
from machine.keyed_limiter import WRONG_TOKEN_BACKOFF, KeyedLimiter
from protocol.display import short_repr
from protocol.secret_text import strip_invisible

T = TypeVar("T")
COOKIE_NAME = "arena_admin"
"""The name of the cookie with the session of an operator on the admin pages."""
MAX_SIGN_IN_BYTES = 2048
"""Maximum size of the sign-in form, in bytes."""

log = logging.getLogger("arena.web.admin")


def is_admin(path: str) -> bool:
    return path == PREFIX or path.startswith(f"{PREFIX}/")


def can_have_form(scope: Scope) -> bool:
    """Return whether a request may have a body: it must send a form to an admin page and declare an allowed size."""
    headers = Headers(scope=scope)
    size = headers.get("content-length", "")
    return _is_form(scope) and "transfer-encoding" not in headers and fits(size)


def describe_form_limit(scope: Scope) -> str:
    """Return how large the body of a request may be that sends a form to an admin page; "" for another request."""
    return f"a form has {MAX_FORM_BYTES:,} bytes at most, and its size is said first" * _is_form(scope)


def _is_form(scope: Scope) -> bool:
    return scope["method"] == "POST" and is_admin(scope["path"])


def guard_admin_pages(app: ASGIApp, config: AdminConfig) -> ASGIApp:
    """Wrap an application so that admin pages are served only under trusted host names, and are never cached.

    The check of host names prevents DNS rebinding: any web page can make its own host name resolve to this machine, and
    could then read the admin pages as pages of its own origin.
    """

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not is_admin(scope["path"]):
            await app(scope, receive, send)
            return

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                # With the site-wide `no-referrer`, browsers without Sec-Fetch-Site would send forms with `Origin:
                # null`, which `_check_page` refuses.
                MutableHeaders(scope=message).update({"cache-control": "no-store", "referrer-policy": "same-origin"})
            await send(message)

        host = Headers(scope=scope).get("host", "")
        if is_allowed_host(host, config.hosts):
            await app(scope, receive, told)
            return
        text = f"{short_repr(host)} is not an address of the admin pages: --admin-host allows it\n"
        refused = PlainTextResponse(text, HTTPStatus.MISDIRECTED_REQUEST, {"connection": "close"})
        await refused(scope, receive, told)

    return serve


class AdminRequest(NamedTuple):
    """A request of a signed-in operator, with its form."""

    access: AccessControl
    request: Request
    session: AdminSession
    form: Form

    async def read(self, query: Callable[..., T], /, *args: object, **kwargs: object) -> T:
        """Query the store in a thread. The arguments are those of `Reader.read`."""
        return await run_in_threadpool(site_of(self.request).reader.read, query, *args, **kwargs)

    def show(self, template: str, status: int = HTTPStatus.OK, **values: Any) -> Response:
        """Render a page with these values, the `session`, and the result of the session's last form."""
        notice = values.pop("notice", None) or self.session.take_notice()
        body = render_bytes(self.request, template, session=self.session, notice=notice, **values)
        return Response(body, status, media_type="text/html")

    def redirect_done(self, said: str, at: str = PREFIX) -> Response:
        """Redirect to the page `at`, which then shows the message `said` about a change that succeeded."""
        self.session.notice = "done", said
        return RedirectResponse(at, HTTPStatus.SEE_OTHER)

    def redirect_failed(self, said: str, at: str = PREFIX) -> Response:
        """Redirect to the page `at`, which then shows the message `said` about a change that failed."""
        self.session.notice = "failed", said
        return RedirectResponse(at, HTTPStatus.SEE_OTHER)


Answer = Callable[[AdminRequest], Awaitable[Response]]
Endpoint = Callable[[Request], Awaitable[Response]]


class AccessControl:
    """The sessions of the admin pages, with limits on failed attempts to sign in."""

    def __init__(self, config: AdminConfig) -> None:
        self.config = config
        self.sessions = Sessions()
        self._wrong_tokens = KeyedLimiter(WRONG_TOKEN_BACKOFF)

    def wrap_page(self, answer: Answer) -> Endpoint:
        """Wrap a page so that only signed-in operators get it. All other visitors get the sign-in page."""

        async def endpoint(request: Request) -> Response:
            session = self._session(request)
            if session is None:
                if request.url.path != PREFIX:
                    page = request.url.path + (f"?{request.url.query}" if request.url.query else "")
                    return RedirectResponse(f"{PREFIX}?{urlencode({'to': page})}", HTTPStatus.SEE_OTHER)
                return _sign_in_page(request, to=request.query_params.get("to", ""))
            return await answer(AdminRequest(self, request, session, Form({})))

        return endpoint

    def wrap_form(self, answer: Answer) -> Endpoint:
        """Wrap the handler of a form so that it only gets forms that signed-in operators send from this site."""

        async def endpoint(request: Request) -> Response:
            _check_page(request)
            session = self._session(request)
            if session is None:
                said = "your session has ended, and nothing was changed: sign in again"
                return _sign_in_page(request, said, HTTPStatus.FORBIDDEN, {"connection": "close"})
            form = await read_form(request)
            if not hmac.compare_digest(form.one("csrf").encode(), session.csrf.encode()):
                raise _refused("this form belongs to another session, and nothing was changed: reload the page")
            return await answer(AdminRequest(self, request, session, form))

        return endpoint

    async def sign_in(self, request: Request) -> Response:
        """Start a session for a visitor whose form has the operator's token."""
        _check_page(request)
        address, now = visitor_of(request), time.monotonic()
        form = await read_form(request, MAX_SIGN_IN_BYTES)
        token, to = strip_invisible(form.one("token")), form.one("to")
        if not hmac.compare_digest(hash_token(token), self.config.token_hash):
            wait = ceil(self._wrong_tokens.wait_s(address, now))
            if wait:  # the token has 256 bits: slowing down failures suffices, and never affects a correct token
                said = f"too many wrong tokens from your address: try again in {wait} s"
                return _sign_in_page(request, said, HTTPStatus.TOO_MANY_REQUESTS, {"retry-after": str(wait)}, to)
            self._wrong_tokens.add(address, now)
            log.warning("a wrong operator token was sent to the admin pages, from %s", address)
            return _sign_in_page(request, "that is not the operator’s token", HTTPStatus.FORBIDDEN, to=to)
        log.info("the operator signed in to the admin pages, from %s", address)
        response = RedirectResponse(to if is_admin(to) else PREFIX, HTTPStatus.SEE_OTHER)
        session = self.sessions.begin(token, now)
        self._set_cookie(request, response, session.id, int(SESSION_LIFETIME_S))
        return response

    async def sign_out(self, request: AdminRequest) -> Response:
        self.sessions.end(request.session)
        response = _sign_in_page(request.request, "You are signed out.")
        self._set_cookie(request.request, response, "", 0)
        return response

    def _session(self, request: Request) -> AdminSession | None:
        return self.sessions.find(request.cookies.get(COOKIE_NAME, ""), time.monotonic())

    @staticmethod
    def _set_cookie(request: Request, response: Response, value: str, seconds: int) -> None:
        encrypted = request.url.scheme == "https"
        response.set_cookie(
            COOKIE_NAME, value, max_age=seconds, path=PREFIX, secure=encrypted, httponly=True, samesite="strict"
        )


def _sign_in_page(
    request: Request, said: str = "", status: int = HTTPStatus.OK, headers: dict[str, str] | None = None, to: str = ""
) -> Response:
    """Return the page to sign in. The admin page `to` is shown after that."""
    body = render_bytes(request, "admin_sign_in.html", said=said, wrong=status != HTTPStatus.OK, to=to)
    return Response(body, status, headers, media_type="text/html")


def _check_page(request: Request) -> None:
    """Raise `HTTPException` if the browser does not say that the form comes from a page of this origin."""
    site = request.headers.get("sec-fetch-site")
    own = f"{request.url.scheme}://{request.headers.get('host', '')}".lower()
    if site is None:
        if request.headers.get("origin", "").lower() == own:
            return
    elif site == "same-origin":
        return
    raise _refused("this form was sent from another site, and nothing was changed")


def _refused(why: str) -> HTTPException:
    return HTTPException(HTTPStatus.FORBIDDEN, why)
