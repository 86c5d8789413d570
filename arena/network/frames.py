"""A fast path for small WebSocket frames, which avoids the parser and serializer of the websockets library.

Any input but exactly one small binary frame goes through the library, which gives the same result more slowly.
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

_OPEN_STATE, _CLOSE_OPCODE = State.OPEN, Opcode.CLOSE
"""`_OPEN_STATE` is the state of an open connection, `_CLOSE_OPCODE` the opcode of a frame that closes a connection."""
_FINAL_TEXT_BYTE, _FINAL_BINARY_BYTE = 0x81, 0x82
"""`_FINAL_TEXT_BYTE` is the first byte of a frame with a whole text message, `_FINAL_BINARY_BYTE` of a frame with a
whole binary message.
"""
_MASK_BIT = 0x80
"""The bit in a frame's second byte that says that the payload is masked, as in all frames from clients."""
_MIN_MEDIUM_BYTES, _MIN_LARGE_BYTES = 126, 65536
"""These are payload sizes in bytes. From `_MIN_MEDIUM_BYTES` on, a frame has two additional bytes for the length; from
`_MIN_LARGE_BYTES` on, it has eight (RFC 6455, 5.2).
"""
_medium_header, _large_header = struct.Struct("!BBH").pack, struct.Struct("!BBQ").pack
_SMALL_HEADERS = [bytes((_FINAL_BINARY_BYTE, size)) for size in range(_MIN_MEDIUM_BYTES)]
"""The header of a small frame that has a whole binary message, by payload size."""


def make_frame(message: Frame) -> bytes:
    """Return a message as one WebSocket frame: final, unmasked and uncompressed, like all frames from the arena."""
    first, data = (_FINAL_BINARY_BYTE, message) if isinstance(message, bytes) else (_FINAL_TEXT_BYTE, message.encode())
    size = len(data)
    if size >= _MIN_LARGE_BYTES:
        return _large_header(first, 127, size) + data
    if size >= _MIN_MEDIUM_BYTES:
        return _medium_header(first, 126, size) + data
    return (_SMALL_HEADERS[size] if first == _FINAL_BINARY_BYTE else bytes((first, size))) + data


class FastProtocol(ServerProtocol):
    """The protocol class of the websockets library, with a fast path: call `try_decode` before `receive_data`."""

    _is_between_messages = False
    """True if the last message is complete and no byte of the next message has arrived."""

    def try_decode(self, data: bytes) -> bytes | None:
        """Return the message if `data` is exactly one final small binary frame and no other message is incomplete.

        Return None if `data` must go to `receive_data`. `data` must not be longer than the maximum size of a message.
        """
        size = len(data)
        if not self._is_between_messages or size < 6 or data[0] != _FINAL_BINARY_BYTE or self._state is not _OPEN_STATE:
            return None
        length = data[1] - _MASK_BIT
        if length == size - 6 and length < _MIN_MEDIUM_BYTES:
            return apply_mask(data[6:], data[2:6])
        if length == 126 and size >= _MIN_MEDIUM_BYTES + 8 and (data[2] << 8 | data[3]) == size - 8:
            return apply_mask(data[8:], data[4:8])
        return None

    def receive_data(self, data: bytes | bytearray) -> None:
        self._is_between_messages = False
        super().receive_data(data)

    def recv_frame(self, frame: WebSocketFrame) -> None:
        super().recv_frame(frame)
        # After a close frame nothing is read, even if it came before the opening handshake was answered.
        self._is_between_messages = (
            not self.reader.buffer and self.current_size is None and frame.opcode is not _CLOSE_OPCODE
        )
