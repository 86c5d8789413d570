"""Who gets to the operator's pages: under which names, with which session, by forms of these pages alone."""

from __future__ import annotations

import hmac
import logging
import time
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from math import ceil
from typing import Any, NamedTuple, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from arena.network.addresses import answers_to
from arena.network.rate_limits import FREE_FAILURES, LONGEST_WAIT, FailureBackoff
from arena.store.tokens import hash_token
from arena.web.admin.forms import MAX_FORM, Form, read_form
from arena.web.admin.sessions import LIFETIME, Session, Sessions
from arena.web.admin_config import PREFIX, AdminConfig
from arena.web.answers import visitor_of
from arena.web.rendering import page, site_of
from protocol.display import shown
from protocol.secret_text import strip_invisible

T = TypeVar("T")
COOKIE = "arena_admin"
MAX_SIGN_IN = 2048
"""Bytes of the form of who is not signed in yet."""

log = logging.getLogger("arena.web.admin")


def is_admin(path: str) -> bool:
    """Whether an address is one of these pages."""
    return path == PREFIX or path.startswith(f"{PREFIX}/")


def takes_form(scope: Scope) -> bool:
    """Whether a request may have a body: a form for one of these pages that says its size, and is not too large."""
    headers = Headers(scope=scope)
    size = headers.get("content-length", "")
    fits = size.isdecimal() and int(size) <= MAX_FORM and "transfer-encoding" not in headers
    return scope["method"] == "POST" and is_admin(scope["path"]) and fits


def guarded(app: ASGIApp, config: AdminConfig) -> ASGIApp:
    """Answers for these pages only under names that nobody else can have lead here, and has no answer kept.

    A page on the web may have its own name lead here; it would read with the rights of its own origin.
    """

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not is_admin(scope["path"]):
            await app(scope, receive, send)
            return

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                # a browser says with a form from which page it comes, unless that page has it not say so
                MutableHeaders(scope=message).update({"cache-control": "no-store", "referrer-policy": "same-origin"})
            await send(message)

        host = Headers(scope=scope).get("host", "")
        if answers_to(host, config.hosts):
            await app(scope, receive, told)
            return
        text = f"{shown(host)} is no name of this page for the operator: --admin-host names it\n"
        refused = PlainTextResponse(text, HTTPStatus.MISDIRECTED_REQUEST, {"connection": "close"})
        await refused(scope, receive, told)

    return serve


class Visit(NamedTuple):
    """A request of who is signed in, with what its form says."""

    access: AccessControl
    request: Request
    session: Session
    form: Form

    async def read(self, query: Callable[..., T], /, *args: object, **kwargs: object) -> T:
        """What the store answers, as `Reader.read`."""
        return await run_in_threadpool(site_of(self.request).reader.read, query, *args, **kwargs)

    def show(self, template: str, status: int = HTTPStatus.OK, **values: Any) -> Response:
        """A page, which knows the `session`, and the notice of what its last form came to."""
        notice = values.pop("notice", None) or self.session.take_notice()
        body = page(self.request, template, session=self.session, notice=notice, **values)
        return Response(body, status, media_type="text/html")

    def done(self, said: str, at: str = PREFIX) -> Response:
        """A change was made: the page `at` an address says so."""
        self.session.notice = "done", said
        return RedirectResponse(at, HTTPStatus.SEE_OTHER)

    def failed(self, said: str, at: str = PREFIX) -> Response:
        """It was not."""
        self.session.notice = "failed", said
        return RedirectResponse(at, HTTPStatus.SEE_OTHER)


Answer = Callable[[Visit], Awaitable[Response]]
Endpoint = Callable[[Request], Awaitable[Response]]


class AccessControl:
    """Who is signed in, and who may try to."""

    def __init__(self, config: AdminConfig) -> None:
        self.config = config
        self.sessions = Sessions()
        self._guesses = FailureBackoff(LONGEST_WAIT, free=FREE_FAILURES)

    def reading(self, answer: Answer) -> Endpoint:
        """A page for who is signed in; others are asked for the token."""

        async def endpoint(request: Request) -> Response:
            session = self._session(request)
            if session is None:
                if request.url.path != PREFIX:
                    return RedirectResponse(PREFIX, HTTPStatus.SEE_OTHER)
                return _sign_in_page(request)
            return await answer(Visit(self, request, session, Form({})))

        return endpoint

    def changing(self, answer: Answer) -> Endpoint:
        """What a form has done for who is signed in; a form of any other page does nothing."""

        async def endpoint(request: Request) -> Response:
            _check_page(request)
            session = self._session(request)
            if session is None:
                said = "you are not signed in any more, and nothing was done: sign in again"
                return _sign_in_page(request, said, HTTPStatus.FORBIDDEN, {"connection": "close"})
            form = await read_form(request)
            if not hmac.compare_digest(form.one("csrf").encode(), session.csrf.encode()):
                raise _refused("this form is not of your session, and nothing was done: load the page again")
            return await answer(Visit(self, request, session, form))

        return endpoint

    async def sign_in(self, request: Request) -> Response:
        """Begin a session for who gives the operator's token."""
        _check_page(request)
        address, now = visitor_of(request), time.monotonic()
        form = await read_form(request, MAX_SIGN_IN)
        token = strip_invisible(form.one("token"))
        if not hmac.compare_digest(hash_token(token), self.config.token_hash):
            wait = ceil(self._guesses.wait(address, now))
            if wait:  # nobody guesses 256 bits: who tries is held up, and no one else who comes from there
                said = f"too many wrong tokens from your address: try again in {wait} s"
                return _sign_in_page(request, said, HTTPStatus.TOO_MANY_REQUESTS, {"retry-after": str(wait)})
            self._guesses.fail(address, now)
            log.warning("a wrong operator's token came to the page, from %s", address)
            return _sign_in_page(request, "that is not the operator’s token", HTTPStatus.FORBIDDEN)
        log.info("the operator signed in to the page, from %s", address)
        response = RedirectResponse(PREFIX, HTTPStatus.SEE_OTHER)
        session = self.sessions.begin(token, now)
        self._set_cookie(request, response, session.id, int(LIFETIME))
        return response

    async def sign_out(self, visit: Visit) -> Response:
        """End the session."""
        self.sessions.end(visit.session)
        response = _sign_in_page(visit.request, "You are signed out.")
        self._set_cookie(visit.request, response, "", 0)
        return response

    def _session(self, request: Request) -> Session | None:
        return self.sessions.find(request.cookies.get(COOKIE, ""), time.monotonic())

    @staticmethod
    def _set_cookie(request: Request, response: Response, value: str, seconds: int) -> None:
        encrypted = request.url.scheme == "https"
        response.set_cookie(
            COOKIE, value, max_age=seconds, path=PREFIX, secure=encrypted, httponly=True, samesite="strict"
        )


def _sign_in_page(
    request: Request, said: str = "", status: int = HTTPStatus.OK, headers: dict[str, str] | None = None
) -> Response:
    body = page(request, "admin_sign_in.html", said=said, wrong=status != HTTPStatus.OK)
    return Response(body, status, headers, media_type="text/html")


def _check_page(request: Request) -> None:
    """Raise `HTTPException` unless a browser says that the form is of a page of this origin."""
    site = request.headers.get("sec-fetch-site")
    own = f"{request.url.scheme}://{request.headers.get('host', '')}".lower()
    if site is None:
        if request.headers.get("origin", "").lower() == own:
            return
    elif site == "same-origin":
        return
    raise _refused("this form is of another page, and nothing was done")


def _refused(why: str) -> HTTPException:
    return HTTPException(HTTPStatus.FORBIDDEN, why)
