"""A fast path for small WebSocket frames, which avoids the parser and serializer of the websockets library.

Any input but exactly one small binary frame goes through the library, which gives the same result more slowly.
"""

from __future__ import annotations

import struct
from http import HTTPStatus

from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.protocol import Event, State
from websockets.server import ServerProtocol

from protocol.codec import Frame

try:
    from websockets.speedups import apply_mask
except ImportError:  # websockets was installed without its compiled part
    from websockets.utils import apply_mask

_FINAL_TEXT_BYTE, _FINAL_BINARY_BYTE = 0x81, 0x82
"""`_FINAL_TEXT_BYTE` is the first byte of a frame with a whole text message, `_FINAL_BINARY_BYTE` of a frame with a
whole binary message.
"""
_FINAL_BIT, _CONTROL_BIT = 0x80, 0x08
"""Bits in a frame's first byte: `_FINAL_BIT` says that the frame ends its message, `_CONTROL_BIT` that it belongs to no
message.
"""
_MASK_BIT = 0x80
"""The bit in a frame's second byte that says that the payload is masked, as in all frames from clients."""
_MASK_BYTES = 4
"""The size of the mask, which is the last part of a frame's header."""
_MIN_HEADER_BYTES, _HEADER_BYTES = 2 + _MASK_BYTES, {126: 4 + _MASK_BYTES, 127: 10 + _MASK_BYTES}
"""The size in bytes of a client's frame header: `_HEADER_BYTES` by the length in the second byte, or else
`_MIN_HEADER_BYTES`.
"""
_MIN_MEDIUM_BYTES, _MIN_LARGE_BYTES = 126, 65536
"""These are payload sizes in bytes. From `_MIN_MEDIUM_BYTES` on, a frame has two additional bytes for the length; from
`_MIN_LARGE_BYTES` on, it has eight (RFC 6455, 5.2).
"""
_medium_header, _large_header = struct.Struct("!BBH").pack, struct.Struct("!BBQ").pack
_MASKED_HEADERS = [bytes(_MIN_HEADER_BYTES)] * _MIN_HEADER_BYTES + [
    bytes((_FINAL_BINARY_BYTE, _MASK_BIT | size)) for size in range(_MIN_MEDIUM_BYTES)
]
"""The first two bytes of a client's small frame with a whole binary message, by the size of the frame. For smaller
sizes than a frame has, it is more than any data of that size begin with.
"""
_MASKED_MEDIUM_HEADER = bytes((_FINAL_BINARY_BYTE, _MASK_BIT | 126))
"""The first two bytes of such a frame if two more bytes have the length."""


def make_frame(message: Frame) -> bytes:
    """Return a message as one WebSocket frame: final, unmasked and uncompressed, like all frames from the arena."""
    first, data = (_FINAL_BINARY_BYTE, message) if isinstance(message, bytes) else (_FINAL_TEXT_BYTE, message.encode())
    size = len(data)
    if size < _MIN_MEDIUM_BYTES:
        return bytes((first, size)) + data
    if size < _MIN_LARGE_BYTES:
        return _medium_header(first, 126, size) + data
    return _large_header(first, 127, size) + data


class FastProtocol:
    """The server's end of a WebSocket, without I/O: the protocol of the websockets library, with a fast path.

    Call `try_decode` before `receive_data`. After each call of another method, write what `output` holds. The wire gets
    the frames of `make_frame` if they are appended to `output` while `is_open`.
    """

    def __init__(self, library: ServerProtocol) -> None:
        self._library = library
        self.output: list[bytes] = []
        """The data to write, in order. An empty string, which is always the last, stands for the end of the stream."""
        self.is_open = library.state is State.OPEN
        """True from the answer that accepts the request to the first close frame."""
        self._is_ready = self.is_open
        """True if the connection is open, the last message is complete and no byte of the next message has arrived."""
        self._is_in_message = False
        """True if the last data frame was not the final one of its message."""
        self._partial_header = b""
        """The bytes that have arrived of an incomplete frame header."""
        self._payload_left = 0
        """The number of payload bytes of the current frame that have not arrived."""

    def try_decode(self, data: bytes) -> bytes | None:
        """Return the message if `data` is exactly one final small binary frame and no other message is incomplete.

        Return None if `data` must go to `receive_data`. `data` must not be longer than the maximum size of a message.
        """
        if not self._is_ready:
            return None
        size = len(data)
        if size < len(_MASKED_HEADERS):
            return apply_mask(data[6:], data[2:6]) if data.startswith(_MASKED_HEADERS[size]) else None
        if data.startswith(_MASKED_MEDIUM_HEADER) and (data[2] << 8 | data[3]) == size - 8 >= _MIN_MEDIUM_BYTES:
            return apply_mask(data[8:], data[4:8])
        return None

    def receive_data(self, data: bytes) -> list[Event]:
        """Return the request, or the frames, that `data` completes. Data behind a request must wait for `respond`."""
        if self.is_open:
            self._follow(data)
        self._library.receive_data(data)
        self._collect()
        return self._library.events_received()

    def receive_eof(self) -> None:
        """Handle the end of the client's data."""
        self._library.receive_eof()
        self._collect()

    def reject(self, status: HTTPStatus, text: str) -> Response:
        """Return a response that refuses a request, for `respond`."""
        return self._library.reject(status, text)

    def respond(self, request: Request, refusal: Response | None) -> str | None:
        """Answer a request: with `refusal`, or by opening the WebSocket. Return the subprotocol of an open one, if it
        has one.
        """
        if self._library.state is not State.CONNECTING:  # the connection has ended
            return None
        response = self._library.accept(request) if refusal is None else refusal
        self._library.send_response(response)
        self._collect()
        self._is_ready = self.is_open
        return response.headers.get("Sec-WebSocket-Protocol")

    def send_close(self, code: int, reason: str) -> None:
        self._library.send_close(code, reason)
        self._collect()

    def send_ping(self, payload: bytes) -> None:
        self._library.send_ping(payload)
        self._collect()

    def fail(self, code: int, reason: str) -> None:
        """Send a close frame, and end the stream without waiting for an answer."""
        self._library.fail(code, reason)
        self._collect()

    @property
    def is_close_expected(self) -> bool:
        """True if the client should end the connection soon."""
        return self._library.close_expected()

    @property
    def close_exc(self) -> ConnectionClosed:
        """The close frames of a connection that has ended."""
        return self._library.close_exc

    def _collect(self) -> None:
        self.output += self._library.data_to_send()
        self.is_open = self._library.state is State.OPEN
        self._is_ready &= self.is_open

    def _follow(self, data: bytes) -> None:
        """Find out where the frames in `data` end. The library checks them: after a wrong one, nothing is read."""
        data = self._partial_header + data
        at, size = self._payload_left, len(data)
        while at + 2 <= size:
            length = data[at + 1] & ~_MASK_BIT
            begin = at + _HEADER_BYTES.get(length, _MIN_HEADER_BYTES)
            if begin > size:
                break
            if length >= _MIN_MEDIUM_BYTES:
                length = int.from_bytes(data[at + 2 : begin - _MASK_BYTES])
            if not data[at] & _CONTROL_BIT:
                self._is_in_message = not data[at] & _FINAL_BIT
            at = begin + length
        self._partial_header, self._payload_left = data[at:], max(at - size, 0)
        self._is_ready = at == size and not self._is_in_message
