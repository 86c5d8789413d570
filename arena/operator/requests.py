"""The messages of the operator's channel, and the type of a server's table of operations."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct

from protocol.display import among, shown
from protocol.errors import UsageFault
from protocol.field_errors import field_error

COMMAND_LINE = "command line"
"""The origin of actions by commands, in the audit log."""
CHANNEL = "operator's channel"
"""The origin of actions by programs that name none."""
MOST_BY = 100
"""Maximum characters of an origin."""
MAX_REQUEST = 1024 * 1024
"""Maximum bytes of a request; enough for the ids of some 40,000 matches."""
Tell: TypeAlias = Callable[[object], None]
"""A function that sends an event before the answer."""


class Request(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An operation to perform, named by the `tag` of its class; its fields are the arguments."""

    @classmethod
    def do(cls) -> str:
        return str(cls.__struct_config__.tag)

    def action_name(self) -> str:
        """Return the name of the action in the audit log."""
        return self.do()

    def concerns(self) -> Sequence[str] | None:
        """Return the bots, matches or other things that it changes, for the audit log; None if it changes nothing."""
        return None


class Handler(NamedTuple):
    """An operation of the server. `perform(request, tell)` does it and returns the answer, a struct or JSON value.

    It may raise `Fault`. With `while_heard` it is cancelled when its operator disconnects; any other runs to its end.
    """

    request: type[Request]
    perform: Callable[[Any, Tell], Awaitable[object]]
    while_heard: bool = False


Handlers: TypeAlias = Mapping[str, Handler]


class Reply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A reply to the request `id` (None if that can't be read): an event, or at last `ok` or `fault`.

    `usage` says that the request was wrong.
    """

    id: int | None = None
    ok: Any = None
    event: Any = None
    fault: str | None = None
    usage: bool = False


def encoded(number: int, request: Request, by: str) -> str:
    """Encode a request; `by` is its origin. Raise `UsageFault` if it is too large."""
    data = msgspec.json.encode({"id": number, "by": by} | msgspec.to_builtins(request) | {"do": request.do()})
    if len(data) > MAX_REQUEST:
        raise UsageFault(f"{len(data)} bytes are too much for one request: ask for less at once, {MAX_REQUEST} at most")
    return data.decode()


def reply(number: int | None, **parts: object) -> str:
    """Encode a reply; `ok` and `event` are values."""
    return msgspec.json.encode({"id": number, **parts}).decode()


def words_of(text: str) -> dict[str, Any]:
    """Parse a request into its fields. Raise `UsageFault`."""
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as exc:
        raise UsageFault(f'a request is a JSON object like {{"id": 1, "do": "status"}}: {exc}') from exc


def number_of(words: dict[str, Any]) -> int:
    """Return the number of a request. Raise `UsageFault`."""
    number = words.get("id")
    if type(number) is not int:
        raise UsageFault(f"id is {shown(number)}: it is a whole number, which comes back with the answer")
    return number


def by_of(words: dict[str, Any]) -> str:
    """Return the origin of a request. Raise `UsageFault`."""
    by = words.get("by", CHANNEL)
    if not isinstance(by, str) or not 1 <= len(by) <= MOST_BY:
        raise UsageFault(
            f"by is {shown(by)}: it is text of 1 to {MOST_BY} characters, which stands in the log of actions"
        )
    return by


def read(words: dict[str, Any], operations: Handlers) -> tuple[Handler, Request]:
    """Return the requested operation and its arguments. Raise `UsageFault`."""
    name = words.get("do")
    operation = operations.get(name) if isinstance(name, str) else None
    if operation is None:
        raise UsageFault(f"do is {shown(name)}: {among(sorted(operations))}")
    arguments = {key: value for key, value in words.items() if key not in ("id", "by", "do")}
    found = field_error(arguments, operation.request)
    if found is not None:
        raise UsageFault(f"{name}: {found}")
    return operation, msgspec.convert(arguments, operation.request)
