"""One operation of the API, how it is served and how described: query and answer are read and written by its types."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Generic, TypeVar, get_args, get_type_hints
from urllib.parse import quote, urlencode

import anyio
import msgspec
from msgspec import Struct
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from arena.web.errors import Wrong
from arena.web.rendering import respond_with_etag, site_of
from arena.web.site import Site
from protocol.display import among, shown
from protocol.errors import UsageFault
from protocol.field_errors import describe_type

PREFIX = "/api/v1"
JSON = "application/json"
SCHEMA_REF = "#/components/schemas/{name}"
"""Where the description has the schema of a type."""
_TAG = {"description": "names this answer; 304 answers an `If-None-Match` with it", "schema": {"type": "string"}}
_LINK = {"description": 'the next page, as `<…>; rel="next"`', "schema": {"type": "string"}}
_encode = msgspec.json.Encoder().encode


class Query(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing."""


Q = TypeVar("Q", bound=Query)


class ApiRequest(Struct, Generic[Q], frozen=True):
    """A request: what is in its path by name, and its query."""

    site: Site
    path: Mapping[str, str]
    query: Q


class File(Struct, frozen=True):
    """A file to be saved."""

    name: str
    data: bytes


class Operation:
    """What can be asked under one address: what `do` answers, called by its name, in the words of its docstring.

    Its types say the rest: it takes an `ApiRequest` with the fields of the query, and answers with a value that becomes
    JSON, or with a `File` of the type `media`. `example` is an address under `PREFIX`, by default `path` as it is. What
    is `slow` may take seconds; it is done one request after the other, beside all else, for who still waits.
    """

    def __init__(
        self, path: str, do: Callable[[Any], Any], *, example: str = "", media: str = JSON, slow: bool = False
    ) -> None:
        types = get_type_hints(do)
        self.path = path
        self.name = do.__name__
        self.summary = inspect.getdoc(do) or ""
        self.query: type[Query] = get_args(types["asked"])[0]
        self.answer = types["return"]
        self.media = media
        self.example = example or path
        self._do = do
        self._slow = slow

    @property
    def route(self) -> Route:
        """Where it is served."""

        def endpoint(request: Request) -> Response:
            query = read_query(self.query, request)
            answer = self._do(ApiRequest(site_of(request), request.path_params, query))
            return encode_response(request, answer, self.media)

        turn = anyio.Semaphore(1)

        async def in_turn(request: Request) -> Response:
            async with turn:
                if await request.is_disconnected():
                    return Response()
                return await run_in_threadpool(endpoint, request)

        return Route(PREFIX + self.path, in_turn if self._slow else endpoint, name=self.name)

    @cached_property
    def in_query(self) -> list[dict[str, Any]]:
        """The parameters of its query, as OpenAPI has them."""
        (_,), components = msgspec.json.schema_components([self.query])
        schema = components[self.query.__name__]
        return [
            {"name": name, "in": "query", "required": name in schema.get("required", ()), "schema": each}
            for name, each in schema["properties"].items()
        ]

    def described(self) -> dict[str, Any]:
        """The operation, as OpenAPI has it."""
        names = re.findall(r"{(\w+)}", self.path)
        in_path = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]
        content = {} if self.answer is File else {"schema": _schema(self.answer)}
        headers = {"ETag": _TAG}
        if hasattr(self.answer, "next"):
            headers["Link"] = _LINK
        return {
            "operationId": self.name,
            "summary": self.summary,
            "parameters": [*in_path, *self.in_query],
            "responses": {
                "200": {"description": "found", "headers": headers, "content": {self.media: content}},
                "304": {"description": "as before"},
                "default": {"description": "what is wrong", "content": {JSON: {"schema": _schema(Wrong)}}},
            },
        }


def _schema(answer: Any) -> Any:
    """A reference to the schema of a type."""
    return msgspec.json.schema_components([answer], ref_template=SCHEMA_REF)[0][0]


def read_query(form: type[Q], request: Request) -> Q:
    """The query of a request; what is empty counts as absent. Raises `UsageFault`, naming the field."""
    given: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name not in form.__struct_fields__:
            raise UsageFault(f"there is no field {shown(name)} in this query: {among(form.__struct_fields__)}")
        if name in given:
            raise UsageFault(f"{name} is there twice: once, or not at all")
        if value:
            given[name] = value
    for field in msgspec.structs.fields(form):
        if field.required and field.name not in given:
            raise UsageFault(f"{field.name} is missing: {request.url.path}?{field.name}={_example(field.type)}")
        if field.name in given:
            try:
                msgspec.convert(given[field.name], field.type, strict=False)
            except msgspec.ValidationError as exc:
                raise UsageFault(f"{field.name} is {shown(given[field.name])}: {describe_type(field.type)}") from exc
    return msgspec.convert(given, form, strict=False)


def _example(kind: Any) -> str:
    """What a value may look like; the types of fields that may not be absent say it."""
    described = msgspec.inspect.type_info(kind)
    assert isinstance(described, msgspec.inspect.Metadata)
    return str((described.extra_json_schema or {})["examples"][0])


def encode_response(request: Request, answer: Any, media: str = JSON) -> Response:
    """An answer as it travels; nothing of it where the request says that it is known."""
    headers = {}
    if isinstance(answer, File):
        body = answer.data
        headers["content-disposition"] = f'attachment; filename="{answer.name}"'
    else:
        body = _encode(answer)
        following = getattr(answer, "next", None)
        if following is not None:
            query = urlencode({**request.query_params, "after": following})
            headers["link"] = f'<{quote(request.url.path)}?{query}>; rel="next"'
    return respond_with_etag(request, body, media, headers)
