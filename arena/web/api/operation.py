"""Serves and describes one operation of the API. Its types define how the query is read and the answer is encoded."""

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
from arena.web.answers import Pieces, StreamedAnswer, queue_endpoint, visitor_of
from arena.web.errors import Wrong
from arena.web.grader import GradeRequest
from arena.web.rendering import respond_with_etag, site_of
from arena.web.site import Site
from protocol.display import list_choices, short_repr
from protocol.errors import Fault, UsageFault
from protocol.field_errors import describe_type

PREFIX = "/api/v1"
"""The beginning of the paths of all operations of the API."""
JSON_MEDIA_TYPE = "application/json"
SCHEMA_REF = "#/components/schemas/{name}"
"""The template for a reference to a type's schema in the OpenAPI description."""
_ETAG_HEADER = {
    "description": "the answer's tag; send it as `If-None-Match`, and the status is 304 while nothing changes",
    "schema": {"type": "string"},
}
"""The description of the header ETag of an answer, in OpenAPI."""
_LINK_HEADER = {"description": 'the address of the next page, as `<…>; rel="next"`', "schema": {"type": "string"}}
"""The description of the header Link of an answer, in OpenAPI."""
_PATH_PARAMETERS = {
    "game": "the name of a game, as in `/games`",
    "preset": "the name of a preset of the game; `PRESET:people` for matches with people",
    "bot": "the name of a bot; case is ignored",
    "match": "the id of a finished match",
    "tournament": "the id of a tournament",
}
"""The descriptions of the parameters in the paths of the API, by name."""
_encode = msgspec.json.Encoder().encode


class Query(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The base class of queries. An operation without parameters uses this class itself."""


Q = TypeVar("Q", bound=Query)


class ApiRequest(Struct, Generic[Q], frozen=True):
    """A request to an operation: the parameters of its path, and its query."""

    site: Site
    path: Mapping[str, str]
    query: Q
    grades: Grades | UnsetType | None = UNSET
    """The grades from the grading process, or None if it failed. If unset, the operation may grade the match itself."""


class File(Struct, frozen=True):
    """A file to download."""

    name: str
    data: bytes


class StreamedRecord(Struct, frozen=True):
    """An answer that is made from a match's record and sent in pieces. Joined, the pieces are one value of the
    operation's answer type, encoded.

    `variant` distinguishes answers from the same record in their entity tags. `file` is the file name of a download.
    """

    pieces: Pieces
    match: str
    record: bytes
    variant: str = ""
    file: str = ""

    def to_answer(self, name: str, media: str) -> StreamedAnswer:
        checksum = self.record[-8:].hex()  # the gzip trailer: CRC and length
        source = f"{name} {self.match} {checksum} {self.variant}".encode()
        headers = _to_be_saved(self.file) if self.file else {}
        return StreamedAnswer(self.pieces, media, source=source, held_bytes=len(self.record), headers=headers)


class Operation:
    """A path of the API and the function `handler` that answers requests to it. The name and docstring of `handler`
    describe the operation.

    `handler` takes an `ApiRequest[Query]`, where Query is the type of its query. It returns a value to encode as JSON,
    a `File` of type `media`, or a `StreamedRecord`. The return type of a `handler` that streams is
    `Annotated[StreamedRecord, T]`, where T is the type of the streamed answer.

    - `example` is a path below `PREFIX`, by default `path`.
    - `slow` operations may take seconds. They run one at a time, and only while the visitor waits.
    - `grade_request` returns the record and the request for the grading process, or None if no grades are needed.
    """

    def __init__(
        self,
        path: str,
        handler: Callable[[Any], Any],
        *,
        example: str = "",
        media: str = JSON_MEDIA_TYPE,
        slow: bool = False,
        grade_request: Callable[[Any], tuple[bytes, GradeRequest] | None] | None = None,
    ) -> None:
        types = get_type_hints(handler, include_extras=True)
        self.path = path
        self.name = handler.__name__
        self.summary = inspect.getdoc(handler) or ""
        self.query: type[Query] = get_args(types["request"])[0]
        self.answer = types["return"]
        in_pieces = getattr(self.answer, "__origin__", None) is StreamedRecord
        if in_pieces:
            (self.answer,) = self.answer.__metadata__
        self.media = media
        self.example = example or path
        self._do = handler
        self._slow = slow
        self._in_long_line = slow or in_pieces
        self._solving = grade_request

    @property
    def route(self) -> Route:
        if self._solving is None:
            return Route(PREFIX + self.path, queue_endpoint(self._answer, slow=self._in_long_line), name=self.name)
        return Route(PREFIX + self.path, self._with_grades, name=self.name)

    def _answer(self, request: Request, grades: Grades | UnsetType | None = UNSET) -> Response | StreamedAnswer:
        query = read_query(self.query, request)
        answer = self._do(ApiRequest(site_of(request), request.path_params, query, grades))
        if isinstance(answer, StreamedRecord):
            return answer.to_answer(self.name, self.media)
        return encode_response(request, answer, self.media)

    async def _with_grades(self, request: Request) -> Response:
        """Answer with grades from the grading process, if the operation needs them."""
        site, address = site_of(request), visitor_of(request)
        assert self._solving is not None
        api_request = ApiRequest(site, request.path_params, read_query(self.query, request))
        grades: Grades | UnsetType | None = UNSET
        try:
            needed = await site.serving.quick.run(address, partial(self._solving, api_request), request.is_disconnected)
            if needed is not None:
                name = request.path_params["match"]
                try:
                    grades = await site.grading.grade(address, needed[0], name, needed[1], request.is_disconnected)
                except Fault:
                    if self._slow:
                        raise
                    grades = None
        except ClientDisconnect:
            return Response()
        return await queue_endpoint(partial(self._answer, grades=grades), slow=self._in_long_line)(request)

    @cached_property
    def in_query(self) -> list[dict[str, Any]]:
        """The OpenAPI description of the query's parameters."""
        (_,), components = msgspec.json.schema_components([self.query])
        schema = components[self.query.__name__]
        return [
            {"name": name, "in": "query", "required": name in schema.get("required", ()), "schema": each}
            for name, each in schema["properties"].items()
        ]

    def describe(self) -> dict[str, Any]:
        """Return the OpenAPI description of the operation."""
        names = re.findall(r"{(\w+)}", self.path)
        in_path = [
            {
                "name": name,
                "in": "path",
                "required": True,
                "description": _PATH_PARAMETERS[name],
                "schema": {"type": "string"},
            }
            for name in names
        ]
        content = {} if self.answer is File else {"schema": _schema(self.answer)}
        headers = {"ETag": _ETAG_HEADER}
        if hasattr(self.answer, "next"):
            headers["Link"] = _LINK_HEADER
        return {
            "operationId": self.name,
            "summary": self.summary,
            "parameters": [*in_path, *self.in_query],
            "responses": {
                "200": {"description": "the answer", "headers": headers, "content": {self.media: content}},
                "304": {"description": "unchanged since the answer with this `If-None-Match`"},
                "default": {"description": "an error", "content": {JSON_MEDIA_TYPE: {"schema": _schema(Wrong)}}},
            },
        }


def _schema(answer: Any) -> Any:
    return msgspec.json.schema_components([answer], ref_template=SCHEMA_REF)[0][0]


def read_query(query_type: type[Q], request: Request) -> Q:
    """Parse the query of a request. Empty values count as absent. Raise a `UsageFault` that names a wrong field."""
    given: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name not in query_type.__struct_fields__:
            raise UsageFault(
                f"there is no field {short_repr(name)} in this query: {list_choices(query_type.__struct_fields__)}"
            )
        if name in given:
            raise UsageFault(f"{name} is in the query twice: give it once or not at all")
        if value:
            given[name] = value
    for field in msgspec.structs.fields(query_type):
        if field.required and field.name not in given:
            raise UsageFault(
                f"{field.name} is missing: add it, as in {request.url.path}?{field.name}={_example(field.type)}"
            )
        if field.name in given:
            try:
                msgspec.convert(given[field.name], field.type, strict=False)
            except msgspec.ValidationError as exc:
                raise UsageFault(
                    f"{field.name} is {short_repr(given[field.name])}: {describe_type(field.type)}"
                ) from exc
    return msgspec.convert(given, query_type, strict=False)


def _example(kind: Any) -> str:
    """Return the example of a required query parameter, for an error message. It is in the annotation of the type
    `kind`.
    """
    described = msgspec.inspect.type_info(kind)
    assert isinstance(described, msgspec.inspect.Metadata)
    return str((described.extra_json_schema or {})["examples"][0])


def encode_response(request: Request, answer: Any, media: str = JSON_MEDIA_TYPE) -> Response:
    """Encode an answer with its entity tag; return 304 if the client has this answer already."""
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
