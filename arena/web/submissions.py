"""Takes what authors of hosted bots hand in, and tells them how its check went.

Only the owner of a bot, by its token, and the operator get an answer. What is handed in is unpacked and checked here,
in the pages' process; the server, to which it is passed on, stores it.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from math import ceil

import msgspec
from msgspec import Struct
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Scope

from arena.hosting.submission import Submission, SubmissionLimits, read_source_file, read_submission
from arena.operator.client import connect_to_url
from arena.operator.hosting import MAX_PART_BYTES, Submit, Submitted, UploadPart
from arena.store.bot_logs import fault_notes
from arena.store.bot_versions import BotVersion, list_versions
from arena.store.registry import RegisteredBot, find_registered_bot
from arena.store.tokens import hash_token
from arena.web.answers import visitor_of
from arena.web.api.operation import JSON_MEDIA_TYPE, PREFIX
from arena.web.bot_logs import log_routes
from arena.web.errors import NotFound
from arena.web.hosting_config import HostingConfig
from arena.web.kept_files import kept_routes
from arena.web.rendering import site_of
from machine.keyed_limiter import WRONG_TOKEN_BACKOFF, KeyedLimiter
from protocol.display import short_repr
from protocol.games import offered_game_names

PATH = f"{PREFIX}/bots/{{bot}}/submissions"
"""The path of what was handed in for a bot."""
LIMITS = SubmissionLimits()
"""The limits on a submission."""
ZIP_ENDING = ".zip"
"""The ending of the name of a file that is a zip with a manifest."""
MAX_UPLOADS, MAX_UPLOADS_PER_ADDRESS = 8, 4
"""Maximum numbers of programs that are handed in at a time, by all and by one address: each is held in memory."""
RETRY_AFTER_S = 5
"""Seconds after which to hand a program in again that was one too many."""
MAX_NAME_CHARS = 100
"""Maximum characters of the name of a file that is handed in."""
NO_HOSTING_MESSAGE = "this arena runs no hosted bots: its operator can turn that on with arena serve --hosting"
"""The answer of an arena that takes no submissions."""

log = logging.getLogger("arena.web.submissions")


class VersionAnswer(Struct, frozen=True, kw_only=True):
    """A version of a hosted bot. Its state is waiting, checking, passed or failed; `active` is the one that plays."""

    number: int
    state: str
    active: bool
    digest: str
    submitted: str
    games: tuple[str, ...]
    language: str
    report: str


class VersionsAnswer(Struct, frozen=True, kw_only=True):
    """The versions of a hosted bot, newest first."""

    versions: Sequence[VersionAnswer]


def can_have_submission(scope: Scope) -> bool:
    """Return whether a request may have a body, because it hands a program in and says how large it is."""
    headers = Headers(scope=scope)
    size = headers.get("content-length", "")
    is_submission = scope["method"] == "POST" and scope["path"].startswith(f"{PREFIX}/bots/")
    return is_submission and size.isdecimal() and len(size) < 12 and int(size) <= LIMITS.packed_bytes


class Submissions:
    """The endpoints of submissions, with the limit on wrong tokens."""

    def __init__(self) -> None:
        self._wrong_tokens = KeyedLimiter(WRONG_TOKEN_BACKOFF)
        self._uploads: Counter[str] = Counter()
        """The number of uploads in progress, by address."""
        self._unpacking = asyncio.Lock()
        """The lock held while a submission is unpacked, so that only one takes memory for that."""

    @property
    def routes(self) -> list[Route]:
        return [
            Route(PATH, self._submit, methods=["POST"]),
            Route(PATH, self._list, methods=["GET"]),
            Route(f"{PATH}/{{number:int}}", self._show, methods=["GET"]),
            *log_routes(self._authorize),
            *kept_routes(self._authorize),
        ]

    async def _submit(self, request: Request) -> Response:
        hosting, bot = await self._authorize(request)
        address = visitor_of(request)
        with self._upload_place(address):
            data = await _read_body(request)
            async with self._unpacking:
                submission = await run_in_threadpool(_read, request, data)
                content = await run_in_threadpool(submission.pack)
            upload = secrets.token_hex(16)
            told = Submit(
                bot=bot.name,
                digest=submission.digest,
                upload=upload,
                manifest=msgspec.json.encode(submission.manifest).decode(),
            )
            async with connect_to_url(hosting.url, hosting.token, f"submission from {address}") as operator:
                for at in range(0, len(content), MAX_PART_BYTES):
                    await operator.ask(UploadPart(upload=upload, data=content[at : at + MAX_PART_BYTES]), object)
                stored = await operator.ask(told, Submitted)
        log.info("%s was handed in from %s: version %d", bot.name, address, stored.number)
        return _respond(stored, HTTPStatus.ACCEPTED)

    @contextmanager
    def _upload_place(self, address: str) -> Iterator[None]:
        """Count an upload of an address within the context. Raise `HTTPException` if there are too many."""
        if self._uploads[address] >= MAX_UPLOADS_PER_ADDRESS or self._uploads.total() >= MAX_UPLOADS:
            raise HTTPException(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "too many programs are handed in at a time: try again in a moment",
                {"Retry-After": str(RETRY_AFTER_S)},
            )
        self._uploads[address] += 1
        try:
            yield
        finally:
            self._uploads[address] -= 1
            if not self._uploads[address]:
                del self._uploads[address]

    async def _list(self, request: Request) -> Response:
        return _respond(VersionsAnswer(versions=await self._versions(request)))

    async def _show(self, request: Request) -> Response:
        number = request.path_params["number"]
        for version in await self._versions(request):
            if version.number == number:
                return _respond(version)
        raise NotFound(f"{request.path_params['bot']} has no version {number}")

    async def _versions(self, request: Request) -> list[VersionAnswer]:
        _, bot = await self._authorize(request)
        versions = await run_in_threadpool(site_of(request).reader.read, list_versions, bot.name)
        active = max((version for version in versions if version.active_since), key=_activity, default=None)
        notes = await run_in_threadpool(site_of(request).reader.read, fault_notes, bot.name)
        return [_answer_of(version, notes.get(version.number), is_active=version is active) for version in versions]

    async def _authorize(self, request: Request) -> tuple[HostingConfig, RegisteredBot]:
        """Return the bot of a request that has the bot's token, or the operator's. Raise `NotFound` if there is no such
        bot, and `HTTPException` for another token.
        """
        hosting = site_of(request).hosting
        if hosting is None:
            raise NotFound(NO_HOSTING_MESSAGE)
        name = request.path_params["bot"]
        bot = await run_in_threadpool(site_of(request).reader.read, find_registered_bot, name)
        if bot is None:
            raise NotFound(f"there is no bot called {short_repr(name)}: it is registered when it first connects")
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not token:
            raise _unauthorized(f"the token of {bot.name} is missing: send it as Authorization: Bearer TOKEN")
        address, now = visitor_of(request), time.monotonic()
        is_owner = bot.token_hash is not None and hmac.compare_digest(hash_token(token), bot.token_hash)
        if (is_owner and not bot.revoked) or hmac.compare_digest(token.encode(), hosting.token.encode()):
            return hosting, bot
        wait = ceil(self._wrong_tokens.wait_s(address, now))
        if wait:
            text = f"too many wrong tokens came from {address}: try again in {wait} s"
            raise HTTPException(HTTPStatus.TOO_MANY_REQUESTS, text, {"Retry-After": str(wait)})
        self._wrong_tokens.add(address, now)
        raise _unauthorized(f"that is not the token of {bot.name}")


def _unauthorized(why: str) -> HTTPException:
    return HTTPException(HTTPStatus.UNAUTHORIZED, why, {"WWW-Authenticate": "Bearer"})


async def _read_body(request: Request) -> bytes:
    body = bytearray()
    async for piece in request.stream():
        body += piece
        LIMITS.check_packed(len(body))
    return bytes(body)


def _read(request: Request, data: bytes) -> Submission:
    """Return the submission in a request's body. Raise `UsageFault` if it is wrong."""
    file = request.query_params.get("file", f"bot{ZIP_ENDING}")[:MAX_NAME_CHARS]
    games = offered_game_names()
    if file.endswith(ZIP_ENDING):
        return read_submission(data, games, LIMITS)
    return read_source_file(file, data, request.query_params.getlist("game"), games, LIMITS)


def _activity(version: BotVersion) -> tuple[str, int]:
    return version.active_since or "", version.id


def _answer_of(version: BotVersion, note: str | None, *, is_active: bool) -> VersionAnswer:
    """Return a version for its owner. The report ends with the `note` on its matches."""
    declared = msgspec.json.decode(version.manifest)
    return VersionAnswer(
        number=version.number,
        state=version.state,
        active=is_active,
        digest=version.digest,
        submitted=version.submitted,
        games=tuple(declared["games"]),
        language=declared["language"],
        report="\n".join(filter(None, (version.report, note))),
    )


def _respond(answer: Struct, status: int = HTTPStatus.OK) -> Response:
    return Response(msgspec.json.encode(answer), status, {"cache-control": "no-store"}, media_type=JSON_MEDIA_TYPE)
