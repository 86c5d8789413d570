"""Operator requests of runners about the files of hosted bots: logs of matches, and what bots keep between matches."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from arena.hosting.uploads import Uploads
from arena.operator.bot_files import ReadState, StatePart, StoreMatchLog, StoreState, UploadFilePart
from arena.operator.requests import OperationHandler, SendEvent
from arena.store.bot_logs import add_log
from arena.store.bot_states import read_state, store_state
from protocol.errors import UsageFault
from protocol.match_logs import STATE_HEADERS_BYTES, MatchLog

if TYPE_CHECKING:
    from arena.server.arena import Arena

MAX_FILE_UPLOADS = 64
"""Maximum number of files that runners hand in at a time."""
MAX_UNPACKED_LOG_BYTES = 2 * 1024 * 1024
"""Maximum bytes of a log as JSON."""


def handlers(arena: Arena, kept_bytes: int) -> Iterator[OperationHandler]:
    """Yield the handlers of requests about the files of hosted bots, each of which keeps at most `kept_bytes`."""
    uploads = Uploads("bot's file", kept_bytes + STATE_HEADERS_BYTES, MAX_FILE_UPLOADS)

    async def upload_part(request: UploadFilePart, tell: SendEvent) -> None:
        uploads.add(request.upload, request.data)

    async def store_log(request: StoreMatchLog, tell: SendEvent) -> None:
        await arena.store.write(add_log, request.bot, request.number, unpack_log(uploads.take(request.upload)))

    async def keep_state(request: StoreState, tell: SendEvent) -> None:
        content = uploads.take(request.upload)
        await arena.store.write(store_state, request.bot, request.number, request.digest, content)

    async def read_kept(request: ReadState, tell: SendEvent) -> StatePart:
        found = await arena.store.read_slowly(read_state, request.bot, request.number, request.offset)
        return StatePart(data=found)

    yield OperationHandler(UploadFilePart, upload_part)
    yield OperationHandler(StoreMatchLog, store_log)
    yield OperationHandler(StoreState, keep_state)
    yield OperationHandler(ReadState, read_kept)


def unpack_log(packed: bytes) -> MatchLog:
    """Return the log of a match that a runner has packed. Raise `UsageFault` if it is none, or too large."""
    unpacking = zlib.decompressobj()
    try:
        data = unpacking.decompress(packed, MAX_UNPACKED_LOG_BYTES)
        if not unpacking.eof:
            raise UsageFault("the log of a match is not whole, or too large")
        return msgspec.json.decode(data, type=MatchLog)
    except (zlib.error, msgspec.MsgspecError) as exc:
        raise UsageFault(f"the log of a match can't be read: {exc}") from exc
