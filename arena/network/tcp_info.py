"""What the kernel knows of a TCP connection, and the server could only guess: on Linux; elsewhere nobody knows."""

from __future__ import annotations

import socket
import struct
import sys
from asyncio import BaseTransport

# Fields of `struct tcp_info` (linux/tcp.h), which only grows at its end.
_LAST_DATA_RECEIVED = struct.Struct("=52xI")
_LEAST_ROUND_TRIP = struct.Struct("=148xI")


def unread(transport: BaseTransport) -> float | None:
    """Seconds since anything arrived at the socket; None where the kernel doesn't say."""
    milliseconds = _ask(transport, _LAST_DATA_RECEIVED)
    return None if milliseconds is None else milliseconds / 1e3


def round_trip(transport: BaseTransport) -> float:
    """The shortest round trip in seconds that the kernel has measured, the connection's making included; 0: unknown."""
    return (_ask(transport, _LEAST_ROUND_TRIP) or 0) / 1e6


def _ask(transport: BaseTransport, field: struct.Struct) -> int | None:
    """A field of what the kernel keeps of a connection. None where it has no such thing, or no such connection."""
    connection = transport.get_extra_info("socket")
    if sys.platform != "linux" or connection is None:
        return None
    try:
        return int(field.unpack(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, field.size))[0])
    except (OSError, struct.error):
        return None
