"""The endpoint of the files that a hosted bot keeps between matches, for its owner and the operator."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

import msgspec
from msgspec import Struct
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from arena.hosting.kept_files import read_kept_files
from arena.store.bot_states import read_whole_state
from arena.store.bot_versions import active_version, list_versions
from arena.web.api.operation import JSON_MEDIA_TYPE, PREFIX
from arena.web.bot_logs import Authorize
from arena.web.errors import NotFound
from arena.web.rendering import site_of
from protocol.display import short_repr
from protocol.errors import UsageFault

PATH = f"{PREFIX}/bots/{{bot}}/kept"
"""The path of the files that a bot keeps."""


class KeptFilesAnswer(Struct, frozen=True, kw_only=True):
    """The files that a version of a bot keeps, each in base64."""

    version: int
    files: Mapping[str, bytes]


def is_version_number(text: str) -> bool:
    """Return whether a stranger's text is a whole number that a version can have."""
    return text.isascii() and text.isdecimal() and len(text) < 10


def kept_routes(authorize: Authorize) -> list[Route]:
    """Return the route of kept files. `authorize` returns the bot of a request that may read them, or raises."""

    async def show(request: Request) -> Response:
        _, bot = await authorize(request)
        read, wanted = site_of(request).reader.read, request.query_params.get("version")
        if wanted is not None and not is_version_number(wanted):
            raise UsageFault(f"version is {short_repr(wanted)}: give the number of a version")
        versions = await run_in_threadpool(read, list_versions, bot.name)
        active = await run_in_threadpool(read, active_version, bot.name)
        number = active.number if wanted is None and active is not None else int(wanted or 0)
        version = next((one for one in versions if one.number == number), None)
        if version is None:
            raise NotFound(f"{bot.name} has no version {number}" if wanted else f"no version of {bot.name} has passed")
        state = await run_in_threadpool(read, read_whole_state, bot.name, number)
        names = msgspec.json.decode(version.manifest).get("keep", ())
        answer = KeptFilesAnswer(version=number, files=read_kept_files(state, names))
        headers = {"cache-control": "no-store"}
        return Response(msgspec.json.encode(answer), HTTPStatus.OK, headers, media_type=JSON_MEDIA_TYPE)

    return [Route(PATH, show, methods=["GET"])]
