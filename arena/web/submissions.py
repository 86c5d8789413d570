"""Takes what authors of hosted bots hand in, tells them how its check went, and changes how their bots run.

Only the owner of a bot, by its token, and the operator get an answer; a source that the owner has published is for
everybody. What is handed in is unpacked and checked here, in the pages' process; the server, to which it is passed on,
stores it. The server makes the changes too.
"""

from __future__ import annotations

import asyncio
import hmac
import itertools
import logging
import secrets
import time
import unicodedata
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import TypeVar
from urllib.parse import quote

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from arena.hosting.limits import MAX_LIMITS, SubmissionLimits
from arena.hosting.submission import Submission, digest_of_source, read_source_file, read_submission, unpack
from arena.operator.client import connect_to_url
from arena.operator.hosting import (
    MAX_PART_BYTES,
    ChangeHosting,
    FindRequestedMatch,
    PublishVersion,
    RequestedMatch,
    RequestedMatchState,
    RequestMatch,
    Submit,
    Submitted,
    UploadPart,
)
from arena.operator.status import RunnerStatus, ServerStatus, StatusRequest
from arena.store.bot_logs import fault_notes
from arena.store.bot_versions import (
    CHECKING,
    WAITING,
    BotVersion,
    HostedVersion,
    active_version,
    is_paused,
    list_versions,
    published_versions,
    records_of_check,
    source_of,
    unchecked_versions,
)
from arena.store.registry import RegisteredBot, find_registered_bot, token_hashes
from arena.store.tokens import hash_token
from arena.web.answers import Pieces, StreamedAnswer, queue_endpoint, visitor_of
from arena.web.api.operation import JSON_MEDIA_TYPE, PREFIX
from arena.web.bearer_tokens import BearerTokens
from arena.web.bot_logs import log_routes
from arena.web.errors import NotFound
from arena.web.hosted_sources import find_token, read_only_file
from arena.web.hosting_config import HostingConfig
from arena.web.kept_files import is_version_number, kept_routes
from arena.web.offline import grades_of, offline_page_in_pieces
from arena.web.program_uploads import UploadPlaces, UploadTimeouts, read_body
from arena.web.rendering import site_of
from arena.web.truth_values import read_truth
from machine.timeouts import scale_timeouts
from protocol.display import list_choices, short_repr
from protocol.errors import Fault, UsageFault
from protocol.games import offered_game_names
from protocol.names import is_bot_name
from protocol.submissions import is_zip
from referee.record_reader import read_record_in_steps

PATH = f"{PREFIX}/bots/{{bot}}/submissions"
"""The path of what was handed in for a bot."""
HOSTING_PATH, MATCHES_PATH = f"{PREFIX}/bots/{{bot}}/hosting", f"{PREFIX}/bots/{{bot}}/matches"
"""The paths of how a bot runs, and of the matches that its owner asks for."""
RUNNERS_TTL_S = 2.0
"""Seconds for which the state of the runners is cached."""
MAX_NAME_CHARS = 100
"""Maximum characters of the name of a file that is handed in."""
NO_HOSTING_MESSAGE = "this arena runs no hosted bots: its operator can turn that on with arena serve --hosting"
"""The answer of an arena that takes no submissions."""

log = logging.getLogger("arena.web.submissions")


class VersionAnswer(Struct, frozen=True, kw_only=True):
    """A version of a hosted bot. Its state is waiting, checking, passed or failed; `active` is the one that plays.

    While it waits, `runners` is the number of connected runners, and `ahead` that of the checks before its own;
    `starting` says that no runner is connected yet, but that the server starts some.
    It plays `games`, which are all that it declares or those that its owner chose. `file` is the name of its only file,
    or null if a zip was handed in. `published` says whether everybody may read its source. `matches` are the games of
    the check whose matches are kept.
    """

    number: int
    state: str
    active: bool
    digest: str
    submitted: str
    games: tuple[str, ...]
    declared_games: tuple[str, ...]
    language: str
    file: str | None
    published: bool
    report: str
    matches: tuple[str, ...]
    runners: int | None = None
    ahead: int | None = None
    starting: bool = False


class VersionsAnswer(Struct, frozen=True, kw_only=True):
    """The versions of a hosted bot, newest first, whether its owner has paused it, and the limits on the next one."""

    paused: bool
    versions: Sequence[VersionAnswer]
    limits: SubmissionLimits


AnyVersion = TypeVar("AnyVersion", BotVersion, VersionAnswer)


class Submissions:
    """The endpoints of submissions."""

    def __init__(self, tokens: BearerTokens) -> None:
        self._tokens = tokens
        self._places = UploadPlaces()
        self._timeouts = scale_timeouts(UploadTimeouts())
        self._runners = _Runners()
        self._unpacking = asyncio.Lock()
        """The lock held while a submission is unpacked, so that only one takes memory for that."""

    @property
    def routes(self) -> list[Route]:
        return [
            Route(PATH, self._submit, methods=["POST"]),
            Route(PATH, self._list, methods=["GET"]),
            Route(f"{PATH}/{{number}}", self._show, methods=["GET"]),
            Route(f"{PATH}/{{number}}", self._publish, methods=["POST"]),
            Route(f"{PATH}/{{number}}/source", self._send_source, methods=["GET"]),
            Route(f"{PATH}/{{number}}/matches/{{game}}", self._send_replay, methods=["GET"]),
            Route(HOSTING_PATH, self._change, methods=["POST"]),
            Route(MATCHES_PATH, self._request_match, methods=["POST"]),
            Route(f"{MATCHES_PATH}/{{match}}", self._find_match, methods=["GET"]),
            *log_routes(self._authorize),
            *kept_routes(self._authorize),
        ]

    async def _submit(self, request: Request) -> Response:
        hosting, bot = await self._authorize(request)
        address = visitor_of(request)
        with self._places.take(address, bot.name):
            data = await read_body(request, hosting.limits, self._timeouts.begin_timeout_s)
            file = _file_of(request)
            token = self._tokens.read(request, bot.name).encode()
            if file is not None:
                data = data.replace(token, b"")
            async with self._unpacking:
                submission = await run_in_threadpool(_read, request, file, data, hosting.limits)
                content = await run_in_threadpool(submission.pack)
                advice = "take it out, or leave out the file"
                await run_in_threadpool(_check_has_no_token, request, submission.files, token, advice)
            upload = secrets.token_hex(16)
            told = Submit(
                bot=bot.name,
                digest=submission.digest,
                upload=upload,
                manifest=msgspec.json.encode(submission.manifest).decode(),
                file=file,
                source_digest=None if file is None else digest_of_source(submission, file),
            )
            async with connect_to_url(hosting.url, hosting.token, f"submission from {address}") as operator:
                for at in range(0, len(content), MAX_PART_BYTES):
                    await operator.ask(UploadPart(upload=upload, data=content[at : at + MAX_PART_BYTES]), object)
                stored = await operator.ask(told, Submitted)
        log.info("%s was handed in from %s: version %d", bot.name, address, stored.number)
        starting = hosting.starts_runners and stored.runners == 0
        return _respond(replace(stored, starting=starting), HTTPStatus.ACCEPTED)

    async def _list(self, request: Request) -> Response:
        hosting, bot = await self._authorize(request)
        return _respond(await self._all_versions(request, hosting, bot.name))

    async def _show(self, request: Request) -> Response:
        hosting, bot = await self._authorize(request)
        return _respond(await self._one_version(request, hosting, bot.name))

    async def _change(self, request: Request) -> Response:
        """Pause or resume a bot, make another version active, or choose the games that it plays."""
        hosting, bot = await self._authorize(request)
        query = request.query_params
        _check_query(request, ("paused", "version", "game"))
        games = tuple(game for game in query.getlist("game") if game)
        change = ChangeHosting(
            bot=bot.name,
            version=_read_number(query["version"]) if "version" in query else None,
            games=games if "game" in query else None,
            paused=read_truth("paused", query["paused"]) if "paused" in query else None,
        )
        async with connect_to_url(hosting.url, hosting.token, _origin(request)) as operator:
            await operator.ask(change, object)
        return _respond(await self._all_versions(request, hosting, bot.name))

    async def _publish(self, request: Request) -> Response:
        hosting, bot = await self._authorize(request)
        _check_query(request, ("published",))
        version = await self._one_version(request, hosting, bot.name)
        published = read_truth("published", request.query_params["published"])
        if published:
            await run_in_threadpool(self._check_before_publishing, request, bot.name, version.number)
        async with connect_to_url(hosting.url, hosting.token, _origin(request)) as operator:
            await operator.ask(PublishVersion(bot=bot.name, number=version.number, published=published), object)
        return _respond(await self._one_version(request, hosting, bot.name))

    def _check_before_publishing(self, request: Request, bot: str, number: int) -> None:
        """Raise `UsageFault` if a version, which may have been handed in long ago, has a token."""
        content = site_of(request).reader.read(source_of, bot, number)
        if content is not None:
            token = self._tokens.read(request, bot).encode()
            files = unpack(content, MAX_LIMITS)
            _check_has_no_token(request, files, token, "hand the program in again without it")

    async def _request_match(self, request: Request) -> Response:
        hosting, bot = await self._authorize(request)
        _check_query(request, ("opponent", "game"))
        active = await run_in_threadpool(site_of(request).reader.read, active_version, bot.name)
        games = () if active is None else active.games
        opponent = request.query_params.get("opponent", "")
        if opponent and not is_bot_name(opponent):  # without a name, the server says which bots are online
            raise UsageFault(f"opponent is {short_repr(opponent)}: it is the name of a bot, as in ?opponent=random")
        game = request.query_params.get("game") or (games[0] if len(games) == 1 else "")
        if game not in games:
            raise UsageFault(
                f"game is {short_repr(game)}: {list_choices(games)}, which are those that {bot.name} plays"
            )
        async with connect_to_url(hosting.url, hosting.token, _origin(request)) as operator:
            told = await operator.ask(RequestMatch(bot=bot.name, opponent=opponent, game=game), RequestedMatch)
        return _respond(told, HTTPStatus.ACCEPTED)

    async def _find_match(self, request: Request) -> Response:
        hosting, _ = await self._authorize(request)
        asked = FindRequestedMatch(match=request.path_params["match"])
        async with connect_to_url(hosting.url, hosting.token, _origin(request)) as operator:
            return _respond(await operator.ask(asked, RequestedMatchState))

    async def _all_versions(self, request: Request, hosting: HostingConfig, bot: str) -> VersionsAnswer:
        reader = site_of(request).reader
        versions = await run_in_threadpool(reader.read, list_versions, bot)
        active = max((version for version in versions if version.active_since), key=_activity, default=None)
        notes = await run_in_threadpool(reader.read, fault_notes, bot)
        answers = [_answer_of(version, notes.get(version.number), is_active=version is active) for version in versions]
        if any(version.state in (WAITING, CHECKING) for version in versions):
            queue = await run_in_threadpool(reader.read, unchecked_versions)
            runners = await self._runners.get(hosting)
            if any(version.state == CHECKING for version in versions) and _is_interrupted(bot, runners):
                runners = await self._runners.get(hosting, max_age_s=0.0)  # the check may just have begun
            for at, version in enumerate(versions):
                if version.state == WAITING or (version.state == CHECKING and _is_interrupted(bot, runners)):
                    answers[at] = replace(
                        answers[at],
                        state=WAITING,
                        runners=None if runners is None else len(runners),
                        ahead=_count_checks_before(queue, version.id),
                        starting=hosting.starts_runners and runners == [],
                    )
        paused = await run_in_threadpool(reader.read, is_paused, bot)
        return VersionsAnswer(paused=paused, versions=answers, limits=hosting.limits)

    async def _one_version(self, request: Request, hosting: HostingConfig, bot: str) -> VersionAnswer:
        """Return the version that the path of a request names. Raise `NotFound` if there is none."""
        told = await self._all_versions(request, hosting, bot)
        return _find_version(told.versions, bot, _number_of(request))

    async def _send_replay(self, request: Request) -> Response:
        """Send the match of a check as one HTML file that plays offline."""
        _, bot = await self._authorize(request)
        number, game = _number_of(request), request.path_params["game"]
        records = await run_in_threadpool(site_of(request).reader.read, records_of_check, bot.name, number)
        if game not in records:
            raise NotFound(
                f"version {number} of {bot.name} has no match of {short_repr(game)}: {list_choices(sorted(records))}"
            )
        name = f"{bot.name}-{number}-{game}"
        return await queue_endpoint(lambda request: _replay_of(records[game], name), slow=True)(request)

    async def _send_source(self, request: Request) -> Response:
        """Send the source of a version: its only file, or a zip. A published one is for everybody."""
        name, number = request.path_params["bot"], _number_of(request)
        reader = site_of(request).reader
        published = await run_in_threadpool(reader.read, published_versions, name)
        version = next((one for one in published if one.number == number), None)
        if version is None:
            _, bot = await self._authorize(request)
            versions = await run_in_threadpool(reader.read, list_versions, bot.name)
            version = _find_version(versions, bot.name, number)
        file = version.source_file

        def send(request: Request) -> Response:
            content = reader.read(source_of, name, number)
            if content is None:
                raise NotFound(f"{name} has no version {number}")
            return _send_file(f"{name}-{number}.zip", file, content)

        return await queue_endpoint(send, slow=True)(request)  # like long answers, which take memory

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
        token = self._tokens.read(request, bot.name)
        is_owner = bot.token_hash is not None and hmac.compare_digest(hash_token(token), bot.token_hash)
        if (is_owner and not bot.revoked) or hmac.compare_digest(token.encode(), hosting.token.encode()):
            return hosting, bot
        raise self._tokens.refuse(request, bot.name)


class _Runners:
    """The connected runners, which only the server knows. They are cached for `RUNNERS_TTL_S`."""

    def __init__(self) -> None:
        self._known: Sequence[RunnerStatus] | None = None
        self._read = -RUNNERS_TTL_S
        self._lock = asyncio.Lock()

    async def get(self, hosting: HostingConfig, max_age_s: float = RUNNERS_TTL_S) -> Sequence[RunnerStatus] | None:
        """Return the state of each; None if the server does not answer."""
        async with self._lock:
            if time.monotonic() - self._read >= max_age_s:
                self._known = await self._ask(hosting)
                self._read = time.monotonic()
            return self._known

    async def _ask(self, hosting: HostingConfig) -> Sequence[RunnerStatus] | None:
        try:
            async with connect_to_url(hosting.url, hosting.token, "submissions") as operator:
                status = await operator.ask(StatusRequest(most=0), ServerStatus)
        except Fault as fault:
            log.warning("the state of the runners is not known: %s", fault)
            return None
        return None if status.hosting is None else status.hosting.runners


def _file_of(request: Request) -> str | None:
    """Return the name of the source file in a request's body; None if it is a zip.

    Raise `UsageFault` if it is too long.
    """
    file = unicodedata.normalize("NFC", request.query_params.get("file", "bot.zip"))  # as macOS does not
    if len(file) > MAX_NAME_CHARS:
        raise UsageFault(f"the name of the file has {len(file)} characters: {MAX_NAME_CHARS} at most")
    return None if is_zip(file) else file


def _read(request: Request, file: str | None, data: bytes, limits: SubmissionLimits) -> Submission:
    """Return the submission in a request's body. Raise `UsageFault` if it is wrong."""
    games = offered_game_names()
    if file is None:
        return read_submission(data, games, limits)
    return read_source_file(file, data, request.query_params.getlist("game"), games, limits)


def _check_has_no_token(request: Request, files: Mapping[str, bytes], token: bytes, advice: str) -> None:
    """Raise `UsageFault` if a file of a program has the token with which its owner sends a request, or that of
    another bot, as in a program that was copied.
    """
    found = find_token(files, token, lambda: site_of(request).reader.read(token_hashes))
    if found is not None:
        path, is_own = found
        whose = "your token" if is_own else "a bot's token"
        raise UsageFault(f"{short_repr(path)} has {whose}, which is not for others: {advice}")


def _origin(request: Request) -> str:
    return f"owner at {visitor_of(request)}"


def _check_query(request: Request, fields: Sequence[str]) -> None:
    """Raise `UsageFault` if a query has none of these fields, another one, or one twice that is no `game`."""
    asked = list(request.query_params)
    unknown = next((field for field in asked if field not in fields), None)
    if unknown is not None or not asked:
        given = "there is no field" if unknown is None else f"there is no field {short_repr(unknown)}"
        raise UsageFault(f"{given} in the query: {list_choices(fields)}")
    for field in asked:
        if field != "game" and len(request.query_params.getlist(field)) > 1:
            raise UsageFault(f"{field} is given twice: give it once or not at all")


def _number_of(request: Request) -> int:
    """Return the number of the version that the path of a request names. Raise `NotFound` if it can't be one."""
    text = request.path_params["number"]
    if not is_version_number(text):
        raise NotFound(f"there is no version {short_repr(text)}")
    return int(text)


def _read_number(text: str) -> int:
    if not is_version_number(text):
        raise UsageFault(f"version is {short_repr(text)}: a whole number, as in the list of versions")
    return int(text)


def _send_file(zip_name: str, file: str | None, content: bytes) -> Response:
    """Return a version's zip, or the only file in it, as a download."""
    media, name = ("application/zip", zip_name) if file is None else ("text/plain", file)
    if file is not None:
        content = read_only_file(content, file)
    headers = {"cache-control": "no-store", "content-disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
    return Response(content, headers=headers, media_type=media)


def _replay_of(data: bytes, name: str) -> StreamedAnswer:
    def pieces() -> Pieces:
        record = yield from read_record_in_steps(data, name)
        yield from offline_page_in_pieces(record, grades_of)

    headers = {"cache-control": "no-store", "content-disposition": f"attachment; filename*=UTF-8''{quote(name)}.html"}
    return StreamedAnswer(pieces(), "text/html", headers=headers)


def _find_version(versions: Sequence[AnyVersion], bot: str, number: int) -> AnyVersion:
    for version in versions:
        if version.number == number:
            return version
    raise NotFound(f"{bot} has no version {number}")


def _is_interrupted(bot: str, runners: Sequence[RunnerStatus] | None) -> bool:
    """Return whether no runner makes the check of a bot that has begun: its runner was lost, or could not make it."""
    return runners is not None and not any(bot in runner.checks for runner in runners)


def _count_checks_before(queue: Sequence[HostedVersion], version: int) -> int:
    """Return the number of checks that are made before that of a version: one of each other bot that handed in before,
    and those of earlier versions of its own bot. `queue` has all unchecked versions, oldest first.
    """
    own = next((one.key for one in queue if one.version == version), None)
    before = [one.key for one in itertools.takewhile(lambda one: one.version != version, queue)]
    return before.count(own or "") + len({*before} - {own})


def _activity(version: BotVersion) -> tuple[str, int]:
    return version.active_since or "", version.id


def _answer_of(version: BotVersion, note: str | None, *, is_active: bool) -> VersionAnswer:
    """Return a version for its owner. The report ends with the `note` on its matches."""
    return VersionAnswer(
        number=version.number,
        state=version.state,
        active=is_active,
        digest=version.digest,
        submitted=version.submitted,
        games=version.games,
        declared_games=version.declared_games,
        language=msgspec.json.decode(version.manifest)["language"],
        file=version.source_file,
        published=version.published,
        report="\n".join(filter(None, (version.report, note))),
        matches=version.declared_games if version.has_records else (),
    )


def _respond(answer: Struct, status: int = HTTPStatus.OK) -> Response:
    return Response(msgspec.json.encode(answer), status, {"cache-control": "no-store"}, media_type=JSON_MEDIA_TYPE)
