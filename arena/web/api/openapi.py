"""The routes of the API, and its description in OpenAPI 3.1, made from the table of its operations."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import msgspec
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from arena.web.api.operation import JSON, PREFIX, File, Operation, encode_response
from arena.web.api.operations import OPERATIONS
from arena.web.errors import Wrong
from protocol import VERSION

_REF = "#/components/schemas/{name}"
_DESCRIPTION = (
    "What the pages of an arena show. Lists come in pages: `next` is the cursor of the page after this one, also told "
    "in `Link`. `ETag` and `If-None-Match` save what is known already. Any origin may read."
)
_TAG = {"description": "names this answer; 304 answers an `If-None-Match` with it", "schema": {"type": "string"}}
_LINK = {"description": 'the next page, as `<…>; rel="next"`', "schema": {"type": "string"}}


@cache
def openapi() -> dict[str, Any]:
    """The document."""
    types = [Wrong, *(each.answer for each in OPERATIONS if each.answer is not File)]
    _, components = msgspec.json.schema_components(types, ref_template=_REF)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Bot Arena", "version": VERSION, "description": _DESCRIPTION},
        "servers": [{"url": PREFIX}],
        "paths": {each.path: {"get": _operation(each)} for each in OPERATIONS},
        "components": {"schemas": components},
    }


def _operation(operation: Operation) -> dict[str, Any]:
    headers = {"ETag": _TAG}
    if hasattr(operation.answer, "next"):
        headers["Link"] = _LINK
    return {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": [*_in_path(operation), *in_query(operation)],
        "responses": {
            "200": {"description": "found", "headers": headers, "content": {operation.media: _content(operation)}},
            "304": {"description": "as before"},
            "default": {"description": "what is wrong", "content": {JSON: {"schema": _schema(Wrong)}}},
        },
    }


def _content(operation: Operation) -> dict[str, Any]:
    return {} if operation.answer is File else {"schema": _schema(operation.answer)}


def _schema(answer: Any) -> Any:
    """A reference to the schema of a type."""
    return msgspec.json.schema_components([answer], ref_template=_REF)[0][0]


def _in_path(operation: Operation) -> list[dict[str, Any]]:
    names = re.findall(r"{(\w+)}", operation.path)
    return [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]


@cache
def in_query(operation: Operation) -> list[dict[str, Any]]:
    """The parameters of an operation's query."""
    (_,), components = msgspec.json.schema_components([operation.query])
    schema = components[operation.query.__name__]
    return [
        {"name": name, "in": "query", "required": name in schema.get("required", ()), "schema": each}
        for name, each in schema["properties"].items()
    ]


def _openapi(request: Request) -> Response:
    return encode_response(request, openapi())


ROUTES = [*(each.route for each in OPERATIONS), Route(f"{PREFIX}/openapi.json", _openapi)]


class CrossOriginReadable:
    """Lets scripts of any page read what is under `PREFIX`. They come without cookies, and there are none."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve; the question whether a request may be sent is answered here."""
        if scope["type"] != "http" or not scope["path"].startswith(f"{PREFIX}/"):
            await self._app(scope, receive, send)
            return

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["access-control-allow-origin"] = "*"
                headers["access-control-expose-headers"] = "ETag, Link"
            await send(message)

        if scope["method"] == "OPTIONS":
            asked = {"allow": "GET, HEAD, OPTIONS", "access-control-allow-headers": "If-None-Match"}
            may = {**asked, "access-control-allow-methods": "GET, HEAD", "access-control-max-age": "86400"}
            await Response(status_code=204, headers=may)(scope, receive, told)
            return
        await self._app(scope, receive, told)
