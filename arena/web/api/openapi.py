"""The routes of the API, and its description in OpenAPI 3.1, made from the table of its operations."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import msgspec
from starlette.routing import Route

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
    names = re.findall(r"{(\w+)}", operation.path)
    in_path = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]
    content = {} if operation.answer is File else {"schema": _schema(operation.answer)}
    headers = {"ETag": _TAG}
    if hasattr(operation.answer, "next"):
        headers["Link"] = _LINK
    return {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": [*in_path, *in_query(operation)],
        "responses": {
            "200": {"description": "found", "headers": headers, "content": {operation.media: content}},
            "304": {"description": "as before"},
            "default": {"description": "what is wrong", "content": {JSON: {"schema": _schema(Wrong)}}},
        },
    }


def _schema(answer: Any) -> Any:
    """A reference to the schema of a type."""
    return msgspec.json.schema_components([answer], ref_template=_REF)[0][0]


@cache
def in_query(operation: Operation) -> list[dict[str, Any]]:
    """The parameters of an operation's query."""
    (_,), components = msgspec.json.schema_components([operation.query])
    schema = components[operation.query.__name__]
    return [
        {"name": name, "in": "query", "required": name in schema.get("required", ()), "schema": each}
        for name, each in schema["properties"].items()
    ]


ROUTES = [
    *(each.route for each in OPERATIONS),
    Route(f"{PREFIX}/openapi.json", lambda request: encode_response(request, openapi())),
]
