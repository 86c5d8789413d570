"""Programs on their way to the pages: how many come at a time, and how long each may take."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Scope

from arena.hosting.limits import KIB, SubmissionLimits
from arena.web.api.operation import PREFIX
from protocol.errors import UsageFault
from protocol.submissions import MIN_UPLOAD_BYTES_PER_S

MAX_UPLOADS, MAX_UPLOADS_PER_ADDRESS = 8, 4
"""Maximum numbers of programs that are handed in at a time, by all and by one address: each is held in memory. A bot
has one.
"""
RETRY_AFTER_S = 5
"""Seconds after which to hand a program in again that was one too many."""


@dataclass(frozen=True)
class UploadTimeouts:
    """Time limits for handing a program in."""

    begin_timeout_s: float = 20.0
    """Seconds that a program has besides those for its bytes at `MIN_UPLOAD_BYTES_PER_S`."""


def can_have_submission(limits: SubmissionLimits, scope: Scope) -> bool:
    """Return whether a request may have a body, because it hands a program in and says how large it is."""
    size = Headers(scope=scope).get("content-length", "")
    return _is_submission(scope) and size.isdecimal() and len(size) < 12 and int(size) <= limits.packed_bytes


def describe_submission_limit(limits: SubmissionLimits, scope: Scope) -> str:
    """Return how large the body of a request may be that hands a program in; "" for another request."""
    return f"a program has {limits.packed_bytes:,} bytes at most, and its size is said first" * _is_submission(scope)


def _is_submission(scope: Scope) -> bool:
    path: str = scope["path"]
    return scope["method"] == "POST" and path.startswith(f"{PREFIX}/bots/") and path.endswith("/submissions")


class UploadPlaces:
    """The uploads in progress."""

    def __init__(self) -> None:
        self._uploads: Counter[str] = Counter()
        """The number of uploads, by address."""
        self._uploading: set[str] = set()
        """The bots whose programs are being uploaded."""

    @contextmanager
    def take(self, address: str, bot: str) -> Iterator[None]:
        """Count an upload of a bot and an address within the context. Raise `HTTPException` if there are too many."""
        if bot in self._uploading:
            raise _busy(f"another program of {bot} is being handed in: try again when it is there")
        if self._uploads[address] >= MAX_UPLOADS_PER_ADDRESS:
            raise _busy(f"{MAX_UPLOADS_PER_ADDRESS} programs are being handed in from {address}: try again in a moment")
        if self._uploads.total() >= MAX_UPLOADS:
            raise _busy("too many programs are handed in at a time: try again in a moment")
        self._uploading.add(bot)
        self._uploads[address] += 1
        try:
            yield
        finally:
            self._uploading.discard(bot)
            self._uploads[address] -= 1
            if not self._uploads[address]:
                del self._uploads[address]


async def read_body(request: Request, limits: SubmissionLimits, begin_timeout_s: float) -> bytes:
    """Return the body of a request. Raise `UsageFault` if it is too large, empty or a form, and `HTTPException` if it
    comes at less than `MIN_UPLOAD_BYTES_PER_S` after `begin_timeout_s`.
    """
    how = "send the file itself as the body, as curl --data-binary @mine.py does"
    if request.headers.get("content-type", "").lower().startswith("multipart/"):
        raise UsageFault(f"the body is a form: {how}")
    body = bytearray()
    try:
        async with asyncio.timeout(begin_timeout_s) as timeout:
            until = asyncio.get_running_loop().time() + begin_timeout_s
            async for piece in request.stream():
                body += piece
                limits.check_packed(len(body))
                timeout.reschedule(until + len(body) / MIN_UPLOAD_BYTES_PER_S)
    except TimeoutError:
        rate = f"{MIN_UPLOAD_BYTES_PER_S // KIB} KiB"
        text = f"{len(body)} bytes came, less than {rate} a second: hand in less, or on a faster connection"
        raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, text, {"Connection": "close"}) from None
    if not body:
        raise UsageFault(f"the body is empty: {how}")
    return bytes(body)


def _busy(text: str) -> HTTPException:
    return HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, text, {"Retry-After": str(RETRY_AFTER_S)})
