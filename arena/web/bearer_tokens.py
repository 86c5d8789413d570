"""Reads the tokens that requests bear, and slows down who sends wrong ones."""

from __future__ import annotations

import time
from http import HTTPStatus
from math import ceil

from starlette.exceptions import HTTPException
from starlette.requests import Request

from arena.web.answers import visitor_of
from machine.keyed_limiter import WRONG_TOKEN_BACKOFF, KeyedLimiter


class BearerTokens:
    """The limit on wrong tokens, for each address."""

    def __init__(self) -> None:
        self._wrong_tokens = KeyedLimiter(WRONG_TOKEN_BACKOFF)

    def read(self, request: Request, owner: str) -> str:
        """Return the token of a request. Raise `HTTPException` if it has none; the error says whose token it needs."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not token:
            raise _unauthorized(f"the token of {owner} is missing: send it as Authorization: Bearer TOKEN")
        return token

    def refuse(self, request: Request, owner: str) -> HTTPException:
        """Count a wrong token against the address that sent it, and return the error. It was to be the `owner`'s."""
        address, now = visitor_of(request), time.monotonic()
        wait = ceil(self._wrong_tokens.wait_s(address, now))
        if wait:
            text = f"too many wrong tokens came from {address}: try again in {wait} s"
            return HTTPException(HTTPStatus.TOO_MANY_REQUESTS, text, {"Retry-After": str(wait)})
        self._wrong_tokens.add(address, now)
        return _unauthorized(f"that is not the token of {owner}")


def _unauthorized(why: str) -> HTTPException:
    return HTTPException(HTTPStatus.UNAUTHORIZED, why, {"WWW-Authenticate": "Bearer"})
