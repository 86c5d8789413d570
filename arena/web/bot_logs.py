"""The endpoints of the logs of hosted bots, for their owner and the operator: what a program wrote in each match."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from typing import Any

import msgspec
from msgspec import Struct
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from arena.store.bot_logs import BotLog, list_logs, logs_of_match
from arena.store.registry import RegisteredBot
from arena.web.answers import queue_endpoint
from arena.web.api.operation import JSON_MEDIA_TYPE, PREFIX
from arena.web.errors import NotFound
from arena.web.rendering import site_of
from protocol.display import short_repr
from protocol.match_logs import ProgramFault

PATH = f"{PREFIX}/bots/{{bot}}/logs"
"""The path of the logs of a bot."""
MAX_LISTED_LOGS = 50
"""Maximum number of logs that an answer lists."""
MAX_FOUND_LINES = 5
"""Maximum number of lines with the text that was searched for that an answer shows of a log."""
MAX_SEARCH_CHARS = 200
"""Maximum characters of a text to search for."""
MAX_LINE_CHARS = 300
"""Maximum characters of a line that was found."""
Authorize = Callable[[Request], Awaitable[tuple[Any, RegisteredBot]]]


class ListedLog(Struct, frozen=True, kw_only=True):
    """A log in a list: the match, the version that played it, and the faults of its program. `lines` are those with the
    text that was searched for.
    """

    match: str
    version: int
    written: str
    chars: int
    faults: tuple[ProgramFault, ...]
    lines: tuple[str, ...] = ()


class LogsAnswer(Struct, frozen=True, kw_only=True):
    """The logs of a bot, newest first, at most `MAX_LISTED_LOGS`."""

    logs: Sequence[ListedLog]


class LogAnswer(Struct, frozen=True, kw_only=True):
    """The log of a match, with the version that played it, and the faults of its program."""

    match: str
    version: int
    written: str
    faults: tuple[ProgramFault, ...]
    text: str


def log_routes(authorize: Authorize) -> list[Route]:
    """Return the routes of logs. `authorize` returns the bot of a request that may read its logs, or raises."""

    async def list_(request: Request) -> Response:
        _, bot = await authorize(request)
        search = request.query_params.get("search", "")[:MAX_SEARCH_CHARS]

        def find(request: Request) -> Response:
            logs = site_of(request).reader.read(list_logs, bot.name, search, MAX_LISTED_LOGS)
            return _respond(LogsAnswer(logs=[_entry_of(log, search) for log in logs]))

        return await queue_endpoint(find, slow=True)(request)  # like long answers: all logs may have to be unpacked

    async def show(request: Request) -> Response:
        _, bot = await authorize(request)
        match = request.path_params["match"]
        logs = await run_in_threadpool(site_of(request).reader.read, logs_of_match, bot.name, match)
        if not logs:
            raise NotFound(
                f"there is no log of {bot.name} in match {short_repr(match)}: its program wrote nothing, the match "
                "goes on, or the log is too old"
            )
        return _respond(
            LogAnswer(
                match=match,
                version=logs[-1].number,
                written=logs[-1].written,
                faults=tuple(fault for log in logs for fault in log.log.faults),
                text="".join(log.log.text for log in logs),
            )
        )

    return [Route(PATH, list_, methods=["GET"]), Route(f"{PATH}/{{match}}", show, methods=["GET"])]


def _entry_of(log: BotLog, search: str) -> ListedLog:
    lines = [line for line in log.log.text.splitlines() if search and search.casefold() in line.casefold()]
    return ListedLog(
        match=log.log.match,
        version=log.number,
        written=log.written,
        chars=len(log.log.text),
        faults=log.log.faults,
        lines=tuple(line[:MAX_LINE_CHARS] for line in lines[:MAX_FOUND_LINES]),
    )


def _respond(answer: Struct) -> Response:
    headers = {"cache-control": "no-store"}
    return Response(msgspec.json.encode(answer), HTTPStatus.OK, headers, media_type=JSON_MEDIA_TYPE)
