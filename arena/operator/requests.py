"""The messages of the operator's channel, and the type of the table with the handler of each type of request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct

from protocol.display import list_choices, short_repr
from protocol.errors import UsageFault
from protocol.field_errors import field_error

COMMAND_LINE_ORIGIN = "command line"
"""The origin that the audit log gives for actions of commands."""
CHANNEL_ORIGIN = "operator's channel"
"""The origin that the audit log gives for an action whose request names none."""
MAX_ORIGIN_CHARS = 100
"""Maximum characters of the origin that a request names."""
MAX_REQUEST_BYTES = 1024 * 1024
"""Maximum bytes of a request; enough for the ids of some 40,000 matches."""
SendEvent: TypeAlias = Callable[[object], None]
"""The type of a function that sends the operator an event before the answer."""


class Request(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request to perform an operation. The `tag` of its class names the operation; its fields are the arguments."""

    @classmethod
    def operation_name(cls) -> str:
        return str(cls.__struct_config__.tag)

    def action_name(self) -> str:
        """Return the name that the requested action has in the audit log."""
        return self.operation_name()

    def changed_names(self) -> Sequence[str] | None:
        """Return the names of what the request changes, such as bots or matches, for the audit log.

        Return None if it changes nothing.
        """
        return None


class RunnerRequest(Request, frozen=True, kw_only=True):
    """A request that runners of hosted bots make too, for which their own token is enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keepalive:
    """The seconds between two pings of a connection, and those in which a ping must be answered."""

    ping_interval_s: float
    pong_timeout_s: float


class OperationHandler(NamedTuple):
    """The handler of a type of request.

    `perform(request, tell)` returns the answer, a struct or JSON value, or raises `Fault`. Before that, it may send
    events by `tell`. When the operator disconnects, it runs on to its end, or is cancelled if `cancel_on_disconnect` is
    true. The connection is watched by `keepalive` from then on, if it is given.
    """

    request: type[Request]
    perform: Callable[[Any, SendEvent], Awaitable[object]]
    cancel_on_disconnect: bool = False
    keepalive: Keepalive | None = None


OperationHandlers: TypeAlias = Mapping[str, OperationHandler]


class Reply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A reply to the request with the number `id`: an event, or at the end the answer in `ok` or a `fault`.

    `usage` says that the request was wrong. `id` is None if the number can't be read.
    """

    id: int | None = None
    ok: Any = None
    event: Any = None
    fault: str | None = None
    usage: bool = False


def encode_request(number: int, request: Request, origin: str) -> str:
    """Encode a request with its number and origin. Raise `UsageFault` if it is too large."""
    data = msgspec.json.encode(
        {"id": number, "by": origin} | msgspec.to_builtins(request) | {"do": request.operation_name()}
    )
    if len(data) > MAX_REQUEST_BYTES:
        raise UsageFault(
            f"{len(data)} bytes are too much for one request: ask for less at once, {MAX_REQUEST_BYTES} at most"
        )
    return data.decode()


def encode_reply(number: int | None, **parts: object) -> str:
    """Encode a `Reply` with these fields."""
    return msgspec.json.encode({"id": number, **parts}).decode()


def parse_fields(text: str) -> dict[str, Any]:
    """Parse the JSON object of a request. Raise `UsageFault` if it is invalid."""
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as exc:
        raise UsageFault(f'a request is a JSON object like {{"id": 1, "do": "status"}}: {exc}') from exc


def read_number(words: dict[str, Any]) -> int:
    """Return the number of a request. Raise `UsageFault` if it is missing or invalid."""
    number = words.get("id")
    if type(number) is not int:
        raise UsageFault(f"id is {short_repr(number)}: it is a whole number, which comes back with the answer")
    return number


def read_origin(words: dict[str, Any]) -> str:
    """Return the origin of a request. Raise `UsageFault` if it is invalid."""
    by = words.get("by", CHANNEL_ORIGIN)
    if not isinstance(by, str) or not 1 <= len(by) <= MAX_ORIGIN_CHARS:
        raise UsageFault(
            f"by is {short_repr(by)}: it is text of 1 to {MAX_ORIGIN_CHARS} characters, which stands in the "
            "log of actions"
        )
    return by


def parse_request(fields: dict[str, Any], handlers: OperationHandlers) -> tuple[OperationHandler, Request]:
    """Return the handler of a request, and the request as a `Request`. Raise `UsageFault` if it is invalid."""
    name = fields.get("do")
    operation = handlers.get(name) if isinstance(name, str) else None
    if operation is None:
        raise UsageFault(f"do is {short_repr(name)}: {list_choices(sorted(handlers))}")
    arguments = {key: value for key, value in fields.items() if key not in ("id", "by", "do")}
    found = field_error(arguments, operation.request)
    if found is not None:
        raise UsageFault(f"{name}: {found}")
    return operation, msgspec.convert(arguments, operation.request)
