"""One operation of the API, how it is served and how described: query and answer are read and written by its types."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any, Generic, TypeVar, get_args, get_type_hints
from urllib.parse import quote, urlencode

import msgspec
from msgspec import UNSET, Struct, UnsetType
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from arena.replay.grading import Grades
from arena.web.answers import Long, Pieces, in_turn, visitor_of
from arena.web.errors import Wrong
from arena.web.grader import Wanted
from arena.web.rendering import respond_with_etag, site_of
from arena.web.site import Site
from protocol.display import among, shown
from protocol.errors import Fault, UsageFault
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
    grades: Grades | UnsetType | None = UNSET
    """What the process that solves made of a match; then nobody else is asked, even where it is nothing."""


class File(Struct, frozen=True):
    """A file to be saved."""

    name: str
    data: bytes


class InPieces(Struct, frozen=True):
    """An answer of the type that the operation has, of a match by its record, in pieces of the bytes that travel.

    `of` tells it from another of the same record; `file` is the name under which it is to be saved.
    """

    pieces: Pieces
    match: str
    record: bytes
    of: str = ""
    file: str = ""

    def long(self, name: str, media: str) -> Long:
        """The answer to an operation of this name."""
        checksum = self.record[-8:].hex()  # of what is packed, and how long that is
        source = f"{name} {self.match} {checksum} {self.of}".encode()
        headers = _to_be_saved(self.file) if self.file else {}
        return Long(self.pieces, media, source=source, held=len(self.record), headers=headers)


class Operation:
    """What can be asked under one address: what `do` answers, called by its name, in the words of its docstring.

    Its types say the rest: it takes an `ApiRequest` with the fields of the query, and answers with a value that becomes
    JSON, or with a `File` of the type `media`; one that is `Annotated[InPieces, …]` answers with the pieces of such.
    `example` is an address under `PREFIX`, by default `path` as it is. What is `slow` may take seconds; it is done one
    request after the other, beside all else, for who still waits. `solving` tells the record of a match whose grades it
    needs, where that may take a table that nobody has made, or simulations, and which grades.
    """

    def __init__(
        self,
        path: str,
        do: Callable[[Any], Any],
        *,
        example: str = "",
        media: str = JSON,
        slow: bool = False,
        solving: Callable[[Any], tuple[bytes, Wanted] | None] | None = None,
    ) -> None:
        types = get_type_hints(do, include_extras=True)
        self.path = path
        self.name = do.__name__
        self.summary = inspect.getdoc(do) or ""
        self.query: type[Query] = get_args(types["asked"])[0]
        self.answer = types["return"]
        in_pieces = getattr(self.answer, "__origin__", None) is InPieces
        if in_pieces:
            (self.answer,) = self.answer.__metadata__
        self.media = media
        self.example = example or path
        self._do = do
        self._slow = slow
        self._in_long_line = slow or in_pieces
        self._solving = solving

    @property
    def route(self) -> Route:
        """Where it is served."""
        if self._solving is None:
            return Route(PREFIX + self.path, in_turn(self._answer, slow=self._in_long_line), name=self.name)
        return Route(PREFIX + self.path, self._with_grades, name=self.name)

    def _answer(self, request: Request, grades: Grades | UnsetType | None = UNSET) -> Response | Long:
        query = read_query(self.query, request)
        answer = self._do(ApiRequest(site_of(request), request.path_params, query, grades))
        if isinstance(answer, InPieces):
            return answer.long(self.name, self.media)
        return encode_response(request, answer, self.media)

    async def _with_grades(self, request: Request) -> Response:
        """The same with the grades of the process that solves, where it takes that one."""
        site, address = site_of(request), visitor_of(request)
        assert self._solving is not None
        asked = ApiRequest(site, request.path_params, read_query(self.query, request))
        grades: Grades | UnsetType | None = UNSET
        try:
            needed = await site.serving.quick.take(address, partial(self._solving, asked), request.is_disconnected)
            if needed is not None:
                name = request.path_params["match"]
                try:
                    grades = await site.grading.grades(address, needed[0], name, needed[1], request.is_disconnected)
                except Fault:
                    if self._slow:
                        raise
                    grades = None
        except ClientDisconnect:
            return Response()
        return await in_turn(partial(self._answer, grades=grades), slow=self._in_long_line)(request)

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
    headers: dict[str, str] = {}
    if isinstance(answer, File):
        body = answer.data
        headers |= _to_be_saved(answer.name)
    else:
        body = _encode(answer)
        following = getattr(answer, "next", None)
        if following is not None:
            query = urlencode({**request.query_params, "after": following})
            headers["link"] = f'<{quote(request.url.path)}?{query}>; rel="next"'
    return respond_with_etag(request, body, media, headers)


def _to_be_saved(name: str) -> dict[str, str]:
    return {"content-disposition": f'attachment; filename="{name}"'}
