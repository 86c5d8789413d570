"""A fast path for small WebSocket frames, which avoids the library's parser and serializer.

Anything but exactly one small binary frame goes through the library. The result is the same, only slower.
"""

from __future__ import annotations

import struct

from websockets.frames import Frame as WebSocketFrame
from websockets.frames import Opcode
from websockets.protocol import State
from websockets.server import ServerProtocol

from protocol.codec import Frame

try:
    from websockets.speedups import apply_mask
except ImportError:  # websockets was installed without its compiled part
    from websockets.utils import apply_mask

_OPEN, _CLOSE = State.OPEN, Opcode.CLOSE
_FINAL_TEXT, _FINAL_BINARY = 0x81, 0x82
_MASKED = 0x80
_SHORTEST_MEDIUM, _SHORTEST_LARGE = 126, 65536
"""Payload sizes from which the length takes two, or eight, additional bytes (RFC 6455, 5.2)."""
_medium_header, _large_header = struct.Struct("!BBH").pack, struct.Struct("!BBQ").pack
_SMALL_HEADERS = [bytes((_FINAL_BINARY, size)) for size in range(_SHORTEST_MEDIUM)]


def framed(frame: Frame) -> bytes:
    """Return a message as a WebSocket frame: final, unmasked and uncompressed, as all frames of the arena are."""
    first, data = (_FINAL_BINARY, frame) if isinstance(frame, bytes) else (_FINAL_TEXT, frame.encode())
    size = len(data)
    if size >= _SHORTEST_LARGE:
        return _large_header(first, 127, size) + data
    if size >= _SHORTEST_MEDIUM:
        return _medium_header(first, 126, size) + data
    return (_SMALL_HEADERS[size] if first == _FINAL_BINARY else bytes((first, size))) + data


class FastProtocol(ServerProtocol):
    """The library's protocol, with a fast path: call `message` before `receive_data`."""

    _between = False
    """True between two messages, when nothing of the next one has arrived."""

    def message(self, data: bytes) -> bytes | None:
        """Return the message if `data` is exactly one final small binary frame between two messages.

        Return None if it must go to `receive_data`. `data` must not exceed the maximum size of a message.
        """
        size = len(data)
        if not self._between or size < 6 or data[0] != _FINAL_BINARY or self._state is not _OPEN:
            return None
        length = data[1] - _MASKED
        if length == size - 6 and length < _SHORTEST_MEDIUM:
            return apply_mask(data[6:], data[2:6])
        if length == 126 and size >= _SHORTEST_MEDIUM + 8 and (data[2] << 8 | data[3]) == size - 8:
            return apply_mask(data[8:], data[4:8])
        return None

    def receive_data(self, data: bytes | bytearray) -> None:
        self._between = False
        super().receive_data(data)

    def recv_frame(self, frame: WebSocketFrame) -> None:
        super().recv_frame(frame)
        # After a close frame nothing is read, even if it came before the opening handshake was answered.
        self._between = not self.reader.buffer and self.current_size is None and frame.opcode is not _CLOSE
