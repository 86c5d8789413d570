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
from msgspec.structs import replace
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Scope

from arena.hosting.limits import SubmissionLimits
from arena.hosting.submission import Submission, read_source_file, read_submission
from arena.operator.client import connect_to_url
from arena.operator.hosting import MAX_PART_BYTES, Submit, Submitted, UploadPart
from arena.operator.status import ServerStatus, StatusRequest
from arena.store.bot_versions import WAITING, BotVersion, list_versions, unchecked_versions
from arena.store.registry import RegisteredBot, find_registered_bot
from arena.store.tokens import hash_token
from arena.web.answers import visitor_of
from arena.web.api.operation import JSON_MEDIA_TYPE, PREFIX
from arena.web.errors import NotFound
from arena.web.hosting_config import HostingConfig
from arena.web.rendering import site_of
from machine.keyed_limiter import WRONG_TOKEN_BACKOFF, KeyedLimiter
from protocol.display import short_repr
from protocol.errors import Fault
from protocol.games import offered_game_names

PATH = f"{PREFIX}/bots/{{bot}}/submissions"
"""The path of what was handed in for a bot."""
ZIP_ENDING = ".zip"
"""The ending of the name of a file that is a zip with a manifest."""
MAX_UPLOADS, MAX_UPLOADS_PER_ADDRESS = 8, 4
"""Maximum numbers of programs that are handed in at a time, by all and by one address: each is held in memory."""
RUNNER_COUNT_TTL_S = 2.0
"""Seconds for which the number of runners is cached."""
RETRY_AFTER_S = 5
"""Seconds after which to hand a program in again that was one too many."""
MAX_NAME_CHARS = 100
"""Maximum characters of the name of a file that is handed in."""
NO_HOSTING_MESSAGE = "this arena runs no hosted bots: its operator can turn that on with arena serve --hosting"
"""The answer of an arena that takes no submissions."""

log = logging.getLogger("arena.web.submissions")


class VersionAnswer(Struct, frozen=True, kw_only=True):
    """A version of a hosted bot. Its state is waiting, checking, passed or failed; `active` is the one that plays.

    While it waits, `runners` is the number of connected runners, and `ahead` that of the checks before its own.
    """

    number: int
    state: str
    active: bool
    digest: str
    submitted: str
    games: tuple[str, ...]
    language: str
    report: str
    runners: int | None = None
    ahead: int | None = None


class VersionsAnswer(Struct, frozen=True, kw_only=True):
    """The versions of a hosted bot, newest first, and the limits on the next one."""

    versions: Sequence[VersionAnswer]
    limits: SubmissionLimits


def can_have_submission(limits: SubmissionLimits, scope: Scope) -> bool:
    """Return whether a request may have a body, because it hands a program in and says how large it is."""
    headers = Headers(scope=scope)
    size = headers.get("content-length", "")
    is_submission = scope["method"] == "POST" and scope["path"].startswith(f"{PREFIX}/bots/")
    return is_submission and size.isdecimal() and len(size) < 12 and int(size) <= limits.packed_bytes


class Submissions:
    """The endpoints of submissions, with the limit on wrong tokens."""

    def __init__(self) -> None:
        self._wrong_tokens = KeyedLimiter(WRONG_TOKEN_BACKOFF)
        self._uploads: Counter[str] = Counter()
        """The number of uploads in progress, by address."""
        self._runners = _RunnerCount()
        self._unpacking = asyncio.Lock()
        """The lock held while a submission is unpacked, so that only one takes memory for that."""

    @property
    def routes(self) -> list[Route]:
        return [
            Route(PATH, self._submit, methods=["POST"]),
            Route(PATH, self._list, methods=["GET"]),
            Route(f"{PATH}/{{number:int}}", self._show, methods=["GET"]),
        ]

    async def _submit(self, request: Request) -> Response:
        hosting, bot = await self._authorize(request)
        address = visitor_of(request)
        with self._upload_place(address):
            data = await _read_body(request, hosting.limits)
            async with self._unpacking:
                submission = await run_in_threadpool(_read, request, data, hosting.limits)
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
        hosting, bot = await self._authorize(request)
        return _respond(VersionsAnswer(versions=await self._versions(request, hosting, bot), limits=hosting.limits))

    async def _show(self, request: Request) -> Response:
        number = request.path_params["number"]
        for version in await self._versions(request, *await self._authorize(request)):
            if version.number == number:
                return _respond(version)
        raise NotFound(f"{request.path_params['bot']} has no version {number}")

    async def _versions(self, request: Request, hosting: HostingConfig, bot: RegisteredBot) -> list[VersionAnswer]:
        reader = site_of(request).reader
        versions = await run_in_threadpool(reader.read, list_versions, bot.name)
        active = max((version for version in versions if version.active_since), key=_activity, default=None)
        answers = [_answer_of(version, is_active=version is active) for version in versions]
        if not any(version.state == WAITING for version in versions):
            return answers
        queue = await run_in_threadpool(reader.read, unchecked_versions)
        runners = await self._runners.get(hosting)
        return [
            replace(answer, runners=runners, ahead=queue.index(version.id) if version.id in queue else 0)
            if version.state == WAITING
            else answer
            for version, answer in zip(versions, answers, strict=True)
        ]

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


class _RunnerCount:
    """The number of connected runners, which only the server knows. It is cached for `RUNNER_COUNT_TTL_S`."""

    def __init__(self) -> None:
        self._count: int | None = None
        self._read = -RUNNER_COUNT_TTL_S
        self._lock = asyncio.Lock()

    async def get(self, hosting: HostingConfig) -> int | None:
        """Return the number; None if the server does not answer."""
        async with self._lock:
            if time.monotonic() - self._read >= RUNNER_COUNT_TTL_S:
                self._count = await self._ask(hosting)
                self._read = time.monotonic()
            return self._count

    async def _ask(self, hosting: HostingConfig) -> int | None:
        try:
            async with connect_to_url(hosting.url, hosting.token, "submissions") as operator:
                status = await operator.ask(StatusRequest(most=0), ServerStatus)
        except Fault as fault:
            log.warning("the number of runners is not known: %s", fault)
            return None
        return None if status.hosting is None else len(status.hosting.runners)


def _unauthorized(why: str) -> HTTPException:
    return HTTPException(HTTPStatus.UNAUTHORIZED, why, {"WWW-Authenticate": "Bearer"})


async def _read_body(request: Request, limits: SubmissionLimits) -> bytes:
    body = bytearray()
    async for piece in request.stream():
        body += piece
        limits.check_packed(len(body))
    return bytes(body)


def _read(request: Request, data: bytes, limits: SubmissionLimits) -> Submission:
    """Return the submission in a request's body. Raise `UsageFault` if it is wrong."""
    file = request.query_params.get("file", f"bot{ZIP_ENDING}")[:MAX_NAME_CHARS]
    games = offered_game_names()
    if file.endswith(ZIP_ENDING):
        return read_submission(data, games, limits)
    return read_source_file(file, data, request.query_params.getlist("game"), games, limits)


def _activity(version: BotVersion) -> tuple[str, int]:
    return version.active_since or "", version.id


def _answer_of(version: BotVersion, *, is_active: bool) -> VersionAnswer:
    declared = msgspec.json.decode(version.manifest)
    return VersionAnswer(
        number=version.number,
        state=version.state,
        active=is_active,
        digest=version.digest,
        submitted=version.submitted,
        games=tuple(declared["games"]),
        language=declared["language"],
        report=version.report,
    )


def _respond(answer: Struct, status: int = HTTPStatus.OK) -> Response:
    return Response(msgspec.json.encode(answer), status, {"cache-control": "no-store"}, media_type=JSON_MEDIA_TYPE)
