"""Encoding and decoding frames, in msgpack or JSON, within hard limits. Decoding raises only `MalformedMessage`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import msgpack
import msgspec
from msgspec import Struct

from protocol.display import short_repr
from protocol.errors import MalformedMessage
from protocol.field_errors import field_error
from protocol.messages import (
    MAX_CLIENT_FRAME_BYTES,
    MAX_SERVER_FRAME_BYTES,
    ClientMessage,
    FromClient,
    FromServer,
    Info,
    Move,
    Nonce,
    Ply,
    Ready,
    ServerMessage,
)
from protocol.names import MATCH_ID_PATTERN

MAX_ARRAY_ITEMS = 1024
"""Maximum items of an array in a frame."""
MAX_MAP_ENTRIES = 128
"""Maximum entries of a mapping in a frame."""
MAX_STRING_BYTES = 4096
"""Maximum bytes of a string in a frame."""
MAX_DEPTH = 8
"""Maximum levels of nesting in a frame."""
_SAFE_STRING_LENGTH = MAX_STRING_BYTES // 4  # characters that fit even at 4 bytes each
"""The number of characters that fit into `MAX_STRING_BYTES` even at 4 bytes each."""
_MIN_INTEGER, _MAX_INTEGER = -(2**63), 2**64 - 1
"""`_MIN_INTEGER` and `_MAX_INTEGER` are the smallest and the largest integer that msgpack can encode."""
# Each message converts to its own struct, found by its tag: msgspec prepares a union again at every call.
_CLIENT_TYPES = {str(cls.__struct_config__.tag): cls for cls in FromClient.__subclasses__()}
"""The struct of each message from a client, by the tag of the message."""
_SERVER_TYPES = {str(cls.__struct_config__.tag): cls for cls in FromServer.__subclasses__()}
"""The struct of each message from the server, by the tag of the message."""

Frame = bytes | str
MAX_DIGITS = 4300
"""Maximum digits of an integer in JSON: Python's own default (`sys.int_info`). More would take too long."""

MAX_FAST_PATH_BYTES = 2 * MAX_MAP_ENTRIES
"""Maximum size in bytes of a msgpack frame that `_decode_fast` decodes.

A frame of this size cannot exceed the number of entries allowed in a mapping, because an entry takes at least two
bytes. It is smaller than the limits of arrays and strings, too. So of all limits it can exceed only the depth.
"""


class _PlainMove(Struct, kw_only=True, forbid_unknown_fields=True, gc=False, tag_field="type", tag="move"):
    """A `move` message with at most two levels of nesting, which is typical. Decoding it leaves two checks to
    `_decode_fast`: of the match id, and that floats are finite.
    """

    match: str
    ply: Ply
    move: dict[str, int | str | bool | list[int | str] | None]
    info: dict[str, int | float | str | None] | None = None


class _PlainReady(Struct, kw_only=True, forbid_unknown_fields=True, gc=False, tag_field="type", tag="ready"):
    """A `ready` message before the check of its match id."""

    match: str
    nonce: Nonce | None = None


_decode_plain = msgspec.msgpack.Decoder(_PlainMove | _PlainReady).decode
_find_match = re.compile(MATCH_ID_PATTERN).search


@lru_cache(4096)
def _is_match(text: str) -> bool:
    return _find_match(text) is not None


def _decode_fast(frame: bytes) -> Move | Ready | None:
    """Decode a small frame with a typical `move` or `ready`. Return None if it is another message or may be invalid."""
    try:
        plain: _PlainMove | _PlainReady = _decode_plain(frame)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    if not _is_match(plain.match):
        return None
    if type(plain) is _PlainReady:
        return Ready(match=plain.match, nonce=plain.nonce)
    assert type(plain) is _PlainMove
    if plain.info is not None:
        for value in plain.info.values():
            if type(value) is float and not math.isfinite(value):
                return None
    return Move(match=plain.match, ply=plain.ply, move=plain.move, info=plain.info)


def _unpack_msgpack(frame: Frame) -> Any:
    if isinstance(frame, str):
        raise MalformedMessage("a text frame on a msgpack connection: send binary frames")
    try:
        return msgpack.unpackb(
            frame,
            max_array_len=MAX_ARRAY_ITEMS,
            max_map_len=MAX_MAP_ENTRIES,
            max_str_len=MAX_STRING_BYTES,
            max_bin_len=0,
            max_ext_len=0,
        )
    except (ValueError, TypeError, RecursionError, msgpack.UnpackException) as exc:
        raise MalformedMessage(f"not msgpack within the limits: {_describe_exception(exc)}") from exc


def _unpack_json(frame: Frame) -> Any:
    if isinstance(frame, bytes):
        raise MalformedMessage("a binary frame on a JSON connection: send text frames")
    try:
        return msgspec.json.decode(frame)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as exc:
        raise MalformedMessage(f"not JSON: {_describe_exception(exc)}") from exc


def _describe_exception(exc: BaseException) -> str:
    return str(exc) or type(exc).__name__


def _pack_json(message: FromClient | FromServer) -> str:
    return msgspec.json.encode(message).decode()


class Codec:
    """An encoding of the protocol. Use the two instances, `MSGPACK` and `JSON`."""

    def __init__(
        self, subprotocol: str, pack: Callable[[FromClient | FromServer], Frame], unpack: Callable[[Frame], Any]
    ) -> None:
        self.subprotocol = subprotocol
        self._unpack = unpack
        self.encode = pack

    def decode_client(self, frame: Frame) -> ClientMessage:
        """Decode and validate a client's message. Raise `MalformedMessage`, which names the field, if it is invalid."""
        if self is MSGPACK and len(frame) <= MAX_FAST_PATH_BYTES and isinstance(frame, bytes):
            plain = _decode_fast(frame)
            if plain is not None:
                return plain
        size = len(frame) if isinstance(frame, bytes) else _utf8_length(frame)
        if size > MAX_CLIENT_FRAME_BYTES:
            raise MalformedMessage(f"a frame of {size} bytes: at most {MAX_CLIENT_FRAME_BYTES}")
        value = self._unpack_client(frame)
        kind = value.get("type") if type(value) is dict else None
        cls = _CLIENT_TYPES.get(kind) if type(kind) is str else None
        if cls is None:
            raise MalformedMessage(_describe_missing_type(value, kind))
        try:
            message: ClientMessage = _convert(value, cls, kind)
        except MalformedMessage as fault:
            fault.ref = value["id"] if type(value.get("id")) is str and len(value["id"]) <= 64 else None
            raise
        return message

    def _unpack_client(self, frame: Frame) -> Any:
        """Unpack a client's frame, without converting it to a message. A bad `info` does not make a `move` invalid: an
        `info` that exceeds a limit, or has values outside the encoding, is replaced by an `UnusableInfo`.
        """
        try:
            value = self._unpack(frame)
            if type(value) is dict and value.get("type") == "move" and "info" in value:
                return _with_checked_info(value)
            check_limits(value)
        except MalformedMessage as fault:
            value = self._unpack_leniently(frame)
            if type(value) is not dict or value.get("type") != "move" or "info" not in value:
                raise
            rest = {name: item for name, item in value.items() if name != "info"}
            try:
                check_limits(rest)
                msgspec.json.encode(rest)
            except (MalformedMessage, UnicodeError):
                raise fault from None
            return {**rest, "info": UnusableInfo(str(fault))}
        return value

    def _unpack_leniently(self, frame: Frame) -> Any:
        """Unpack a frame that may contain forbidden values, such as bytes or NaN. Return None if that is impossible."""
        try:
            if self is JSON:
                return json.loads(frame, parse_int=read_integer) if isinstance(frame, str) else None
            if not isinstance(frame, bytes):
                return None
            return msgpack.unpackb(frame, strict_map_key=False, unicode_errors="surrogateescape")
        except (ValueError, TypeError, RecursionError, msgpack.UnpackException):
            return None

    def decode_server(self, frame: Frame) -> ServerMessage | None:
        """Decode a server's message. Return None for a type unknown here. Raise `MalformedMessage` if it is invalid."""
        size = len(frame) if isinstance(frame, bytes) else _utf8_length(frame)
        if size > MAX_SERVER_FRAME_BYTES:
            raise MalformedMessage(f"a frame of {size} bytes: at most {MAX_SERVER_FRAME_BYTES}")
        if self is MSGPACK and isinstance(frame, bytes):
            try:
                value = msgpack.unpackb(frame)
            except (ValueError, TypeError, RecursionError, msgpack.UnpackException) as exc:
                raise MalformedMessage(f"not msgpack: {_describe_exception(exc)}") from exc
        else:
            value = self._unpack(frame)
        kind = value.get("type") if type(value) is dict else None
        if type(kind) is not str:
            raise MalformedMessage("a message must be a map with a string as type")
        cls = _SERVER_TYPES.get(kind)
        return None if cls is None else _convert(value, cls, kind)

        # msgspec packs structs three times as fast as msgpack packs maps, into the same bytes. Only msgpack has limits.


MSGPACK = Codec("arena.v1.msgpack", msgspec.msgpack.Encoder().encode, _unpack_msgpack)
"""The codec of messages in msgpack."""
JSON = Codec("arena.v1.json", _pack_json, _unpack_json)
"""The codec of messages in JSON."""
CODECS = {codec.subprotocol: codec for codec in (MSGPACK, JSON)}
"""The codecs of both encodings, by the name of their WebSocket subprotocol."""


class UnusableInfo(NamedTuple):
    """A placeholder for an `info` that cannot be stored. `why` is the reason."""

    why: str


def _with_checked_info(value: dict[str, Any]) -> dict[str, Any]:
    """Check a `move` against the limits of frames. If only its `info` exceeds them, replace that by an
    `UnusableInfo`.
    """
    check_limits({name: item for name, item in value.items() if name != "info"})
    try:
        check_limits(value["info"], 2)
    except MalformedMessage as fault:
        return {**value, "info": UnusableInfo(str(fault))}
    return value


def read_integer(text: str) -> float:
    """Parse an integer in JSON. If it has more digits than `MAX_DIGITS`, return an infinite number."""
    if len(text) <= MAX_DIGITS:
        return int(text)
    return -math.inf if text.startswith("-") else math.inf


def _describe_missing_type(value: Any, kind: Any) -> str:
    if type(value) is not dict:
        return f"a message must be a map, not {type(value).__name__}"
    known = ", ".join(_CLIENT_TYPES)
    return (
        f"the message has no type: it must be one of {known}"
        if kind is None
        else f"there is no type {kind!r:.40}: one of {known}"
    )


def _convert(value: Any, cls: type[Any], name: str | None) -> Any:
    try:
        return msgspec.convert(value, cls)
    except (msgspec.ValidationError, UnicodeError, RecursionError) as exc:
        raise MalformedMessage(f"{name}: {field_error(value, cls) or _describe_exception(exc)}") from exc


def check_limits(value: Any, depth: int = 1) -> None:
    """Raise `MalformedMessage` if a value is nested too deeply, too long or not finite."""
    kind = type(value)
    if kind is dict:
        _check_size(depth, len(value), MAX_MAP_ENTRIES, "a map")
        for key, item in value.items():
            if type(key) is not str:
                raise MalformedMessage(f"a map key that is not a string: {key!r}"[:100])
            if len(key) > _SAFE_STRING_LENGTH:
                _check_item(key, depth)
            kind = type(item)
            if not (
                (kind is str and len(item) <= _SAFE_STRING_LENGTH)
                or (kind is int and _MIN_INTEGER <= item <= _MAX_INTEGER)
            ):
                _check_item(item, depth)
    elif kind is list:
        _check_size(depth, len(value), MAX_ARRAY_ITEMS, "an array")
        for item in value:
            kind = type(item)
            if kind is list or kind is dict:
                if item or depth == MAX_DEPTH:
                    check_limits(item, depth + 1)
            elif kind is not int or not _MIN_INTEGER <= item <= _MAX_INTEGER:
                _check_item(item, depth)
    else:
        _check_item(value, depth)


def _utf8_length(text: str) -> int:
    try:
        return len(text.encode())
    except UnicodeError as exc:
        raise MalformedMessage(f"text that is not UTF-8: {_describe_exception(exc)}") from exc


def _check_item(value: Any, depth: int) -> None:
    kind = type(value)
    if kind is str:
        if len(value) > _SAFE_STRING_LENGTH and _utf8_length(value) > MAX_STRING_BYTES:
            raise MalformedMessage(f"a string of more than {MAX_STRING_BYTES} bytes")
    elif kind is int:
        if not _MIN_INTEGER <= value <= _MAX_INTEGER:
            raise MalformedMessage("an integer of more than 64 bits")
    elif kind is dict or kind is list:
        check_limits(value, depth + 1)
    elif kind is float:
        if not math.isfinite(value):
            raise MalformedMessage(f"a number that is not finite: {value}")
    elif value is not None and kind is not bool:  # msgpack's own limit of 0 lets an empty bin or ext through
        raise MalformedMessage(
            f"a value of type {kind.__name__}: bin and ext are not allowed; send bytes as lower-case hex text"
        )


def _check_size(depth: int, size: int, limit: int, what: str) -> None:
    if depth > MAX_DEPTH:
        raise MalformedMessage(f"nested deeper than {MAX_DEPTH} levels")
    if size > limit:
        raise MalformedMessage(f"{what} of {size} entries: at most {limit}")


def read_info(info: Any) -> Info | None:
    """Validate the `info` of a move. Raise `MalformedMessage` if it is invalid; the move itself stays valid."""
    if info is None:
        return None
    if type(info) is UnusableInfo:
        raise MalformedMessage(f"info: {info.why}")
    if type(info) is not dict:
        raise MalformedMessage(f"info is {short_repr(info)}: it must be a map")
    checked_info: Info = _convert(info, Info, "info")
    return checked_info
