"""What goes over the operator's channel, and the table of what a server does when it is asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct

from protocol.display import among, shown
from protocol.errors import UsageFault
from protocol.field_errors import field_error

COMMAND_LINE = "command line"
"""By whom what commands ask for is done, in the log of actions."""
CHANNEL = "operator's channel"
"""The same of programs that don't say it."""
MOST_BY = 100
"""Characters that such words have."""
MAX_REQUEST = 1024 * 1024
"""Bytes; the names of some 40,000 matches."""
Tell: TypeAlias = Callable[[object], None]
"""Sends an event before the answer."""


class Request(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something to do, called by the `tag` of its class; its fields are the arguments."""

    @classmethod
    def do(cls) -> str:
        """Its name."""
        return str(cls.__struct_config__.tag)

    def action_name(self) -> str:
        """What it is called in the log of actions."""
        return self.do()

    def concerns(self) -> Sequence[str] | None:
        """The names of what it changes, bots, matches or others, for the log of actions; None if it changes nothing."""
        return None


class Handler(NamedTuple):
    """`perform(request, tell)` does it and returns the answer, a struct or what JSON has. It may raise `Fault`.

    One that goes on `while_heard` is cancelled when its operator leaves; any other is brought to its end.
    """

    request: type[Request]
    perform: Callable[[Any, Tell], Awaitable[object]]
    while_heard: bool = False


Handlers: TypeAlias = Mapping[str, Handler]


class Reply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is answered to the request `id` (None: it can't be read): an event, or in the end `ok` or `fault`.

    With `usage` the fault is the operator's.
    """

    id: int | None = None
    ok: Any = None
    event: Any = None
    fault: str | None = None
    usage: bool = False


def encoded(number: int, request: Request, by: str) -> str:
    """A request as it is sent; `by` says where it was made. Raises `UsageFault` for one that is too large."""
    data = msgspec.json.encode({"id": number, "by": by} | msgspec.to_builtins(request) | {"do": request.do()})
    if len(data) > MAX_REQUEST:
        raise UsageFault(f"{len(data)} bytes are too much for one request: ask for less at once, {MAX_REQUEST} at most")
    return data.decode()


def reply(number: int | None, **parts: object) -> str:
    """An answer as it is sent; `ok` and `event` are values."""
    return msgspec.json.encode({"id": number, **parts}).decode()


def words_of(text: str) -> dict[str, Any]:
    """The fields of a request. Raises `UsageFault` for what is none."""
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as exc:
        raise UsageFault(f'a request is a JSON object like {{"id": 1, "do": "status"}}: {exc}') from exc


def number_of(words: dict[str, Any]) -> int:
    """The number of a request. Raises `UsageFault`."""
    number = words.get("id")
    if type(number) is not int:
        raise UsageFault(f"id is {shown(number)}: it is a whole number, which comes back with the answer")
    return number


def by_of(words: dict[str, Any]) -> str:
    """Where a request was made, in words. Raises `UsageFault`."""
    by = words.get("by", CHANNEL)
    if not isinstance(by, str) or not 1 <= len(by) <= MOST_BY:
        raise UsageFault(
            f"by is {shown(by)}: it is text of 1 to {MOST_BY} characters, which stands in the log of actions"
        )
    return by


def read(words: dict[str, Any], operations: Handlers) -> tuple[Handler, Request]:
    """What is asked for, and with which arguments. Raises `UsageFault`."""
    name = words.get("do")
    operation = operations.get(name) if isinstance(name, str) else None
    if operation is None:
        raise UsageFault(f"do is {shown(name)}: {among(sorted(operations))}")
    arguments = {key: value for key, value in words.items() if key not in ("id", "by", "do")}
    found = field_error(arguments, operation.request)
    if found is not None:
        raise UsageFault(f"{name}: {found}")
    return operation, msgspec.convert(arguments, operation.request)
