"""Answers to lines from a client that are not messages: the errors of JSON-RPC 2.0 for such lines (section 5.1)."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from anyio import EndOfStream
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError

from protocol.display import short_repr


class AnsweringReader:
    """A stream of messages from a client. It leaves out lines that are not messages, and answers them over `writes`."""

    def __init__(self, reads: Any, writes: Any) -> None:
        self._reads = reads
        self._writes = writes

    @property
    def last_context(self) -> Any:
        """The context in which the MCP SDK received the last message."""
        return self._reads.last_context

    async def receive(self) -> SessionMessage:
        """Return the next message. Raise `EndOfStream` at the end of the client's input."""
        while True:
            item = await self._reads.receive()
            item = _without_byte_order_mark(item) if isinstance(item, Exception) else item
            if not isinstance(item, Exception):
                return item
            answer = error_of(item)
            if answer is not None:
                await self._writes.send(SessionMessage(answer))

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage:
        try:
            return await self.receive()
        except EndOfStream:
            raise StopAsyncIteration from None

    def close(self) -> None:
        self._reads.close()

    async def aclose(self) -> None:
        await self._reads.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _without_byte_order_mark(fault: Exception) -> SessionMessage | Exception:
    """Return the message in a line that is valid apart from a byte order mark at its beginning, as .NET programs write.
    If the line is invalid for another reason, return its fault.
    """
    found = fault.errors(include_url=False, include_context=False) if isinstance(fault, ValidationError) else []
    line = found[0]["input"] if found else None
    if not isinstance(line, str) or not line.startswith("\ufeff"):
        return fault
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line.removeprefix("\ufeff"), by_name=False))
    except ValidationError as again:
        return again


def error_of(fault: Exception) -> JSONRPCError | None:
    """Return the answer to a line that is not a message; None for an empty line. `fault` has the errors in the line."""
    found = fault.errors(include_url=False, include_context=False) if isinstance(fault, ValidationError) else []
    line = found[0]["input"] if found and found[0]["type"] == "json_invalid" else None
    if line is not None and not str(line).strip():
        return None
    if line is not None or not found:
        why = found[0]["msg"] if found else "it cannot be read"
        return _error(None, PARSE_ERROR, f"not JSON: {why}; the line begins with {short_repr(line or '')}")
    return _error(
        _id_in(found),
        INVALID_REQUEST,
        'not a request: send an object with "jsonrpc": "2.0", a "method", an "id", and optionally "params", an object',
    )


def _id_in(found: list[Any]) -> str | int | None:
    """Return the id of an invalid request, from the errors that the SDK found; None if it is unknown."""
    for one in found:
        asked = one["input"]
        if isinstance(asked, dict) and len(one["loc"]) == 2:  # the whole object, of which a field is missing
            number = asked.get("id")
            return number if isinstance(number, (str, int)) and not isinstance(number, bool) else None
    return None


def _error(number: str | int | None, code: int, message: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=number, error=ErrorData(code=code, message=message))
