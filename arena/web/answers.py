"""Answers requests. The addresses of visitors take turns, so that one with many requests does not delay the others. A
long answer is produced in pieces, as fast as the visitor reads it.
"""

from __future__ import annotations

import asyncio
import time
import zlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial
from http import HTTPStatus
from itertools import chain
from typing import NamedTuple

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from arena.network.addresses import address_of
from arena.web.rendering import (
    etag_of_source,
    headers_with_etag,
    matches_etag,
    not_modified,
    respond_with_etag,
    site_of,
)
from arena.web.serving import AnswerScheduler
from arena.web.turns import refuse

STREAMING_THRESHOLD_BYTES = 128 * 1024
"""Answers with more bytes than this are sent in pieces."""
PIECE_BYTES = 64 * 1024
"""The size in bytes of a piece of a long answer."""
TURN_S = 0.003
"""Seconds of work for one visitor after which the next visitor has a turn."""
GZIP_LEVEL = 6
"""The level of gzip compression for answers."""


Pieces = Iterator[bytes | None]
"""The pieces of an answer. A None among them marks a place where the work may pause."""


class StreamedAnswer(NamedTuple):
    """An answer that is produced in pieces, and takes `held_bytes` of memory meanwhile.

    Its entity tag is made from `source`, which identifies the content. Without a `source`, the tag is a hash of all
    bytes, so the answer is produced as a whole before it is sent.
    """

    pieces: Pieces
    media: str
    source: bytes = b""
    held_bytes: int = 0
    headers: Mapping[str, str] = {}


def visitor_of(request: Request) -> str:
    """Return the visitor's address. Requests from different addresses take turns."""
    return address_of(request.client.host if request.client else "")


def split(body: bytes) -> Pieces:
    """Split a complete answer into pieces."""
    return (body[at : at + PIECE_BYTES] for at in range(0, len(body), PIECE_BYTES))


def queue_endpoint(
    endpoint: Callable[[Request], Response | StreamedAnswer], *, slow: bool = False
) -> Callable[[Request], Awaitable[Response]]:
    """Wrap an endpoint so that it runs in a thread, when it is the turn of the visitor's address.

    A `slow` endpoint waits in the queue for long answers, any other in the queue for quick ones.
    """

    async def answer(request: Request) -> Response:
        serving = site_of(request).serving
        address = visitor_of(request)
        turns = serving.long if slow else serving.quick

        def begin() -> Response:
            """Call the endpoint and, in the same turn of the address, produce a short answer whole or the start of a
            long one.
            """
            answered = endpoint(request)
            if isinstance(answered, Response):
                if len(answered.body) <= STREAMING_THRESHOLD_BYTES:
                    return answered
                body = bytes(answered.body)
                long = StreamedAnswer(split(body), answered.media_type or "", held_bytes=len(body))
                return _StreamingResponse(serving, address, long, head=answered)
            tag = etag_of_source(answered.source) if answered.source else ""
            if tag and matches_etag(request, tag):
                return not_modified(tag, answered.headers)
            made, more = _produce_step(answered.pieces)
            if not more:
                return respond_with_etag(request, made, answered.media, answered.headers)
            return _StreamingResponse(serving, address, answered, tag, made)

        try:
            return await turns.run(address, begin, request.is_disconnected)
        except ClientDisconnect:
            return Response()

    return answer


def _produce_step(pieces: Pieces) -> tuple[bytes, bool]:
    """Produce pieces of an answer for `TURN_S` seconds or up to `PIECE_BYTES`. Return their bytes, and whether more may
    follow.
    """
    found = bytearray()
    until = time.perf_counter() + TURN_S
    for piece in pieces:
        found += piece or b""
        if len(found) >= PIECE_BYTES or time.perf_counter() >= until:
            return bytes(found), True
    return bytes(found), False


def _gzip_pieces(pieces: Pieces) -> Pieces:
    packer = zlib.compressobj(GZIP_LEVEL, wbits=31)
    for piece in pieces:
        yield packer.compress(piece or b"")
    yield packer.flush()


class _StreamingResponse(Response):
    """Sends a long answer in pieces, until the visitor disconnects or the scheduler cuts the answer off.

    `made` is the start of the answer, if it was produced already; `streamed` has the rest. `tag` is the entity tag, ""
    if it is not known yet. `head` is given if `streamed` is an answer that was produced whole, and has its headers.
    Without `head`, an answer that turns out to be short, or has no `tag`, is sent in one piece.
    """

    def __init__(
        self,
        scheduler: AnswerScheduler,
        address: str,
        streamed: StreamedAnswer,
        tag: str = "",
        made: bytes = b"",
        head: Response | None = None,
    ) -> None:
        super().__init__()
        self._scheduler, self._address, self._head = scheduler, address, head
        self._streamed, self._tag, self._made = streamed, tag, made
        self._more, self._begun = True, False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._scheduler.enter(self._address, self._streamed.held_bytes, task)
        try:
            await self._answer(Request(scope, receive), send)
        except asyncio.CancelledError:
            if self._begun or self._scheduler.leave(task):
                raise
            task.uncancel()
            raise refuse(HTTPStatus.SERVICE_UNAVAILABLE, "too many long answers are being sent") from None
        except ClientDisconnect:
            pass
        finally:
            self._scheduler.leave(task)

    async def _answer(self, request: Request, send: Send) -> None:
        long, head, begin = self._streamed, self._head, self._made
        if head is None:
            while self._more and not (self._tag and len(begin) > STREAMING_THRESHOLD_BYTES):
                begin += await self._next(request, long.pieces)
            if not self._more:
                answer = respond_with_etag(request, begin, long.media, long.headers)
                await answer(request.scope, request.receive, send)
                return
            head = Response(b"", headers=headers_with_etag(self._tag, long.headers), media_type=long.media)
        headers = head.headers
        del headers["content-length"]
        headers.add_vary_header("Accept-Encoding")
        pieces: Pieces = chain((begin,), long.pieces)
        if "gzip" in request.headers.get("accept-encoding", ""):
            headers["content-encoding"] = "gzip"  # here and not in the middleware, so that it takes turns
            pieces = _gzip_pieces(pieces)
        self._begun = True
        await send({"type": "http.response.start", "status": head.status_code, "headers": head.raw_headers})
        if request.method != "HEAD":
            while self._more:
                if piece := await self._next(request, pieces):
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _next(self, request: Request, pieces: Pieces) -> bytes:
        """Wait for the next turn of the visitor's address, and return the bytes of the answer that are produced in this
        turn.

        Raise `ClientDisconnect` if the visitor left.
        """
        turn = partial(_produce_step, pieces)
        piece, self._more = await self._scheduler.long.run(
            self._address, turn, request.is_disconnected, is_continuation=True
        )
        return piece
