"""Measures of a TCP connection that Linux takes: how long its input has waited unread, and its shortest round trip."""

from __future__ import annotations

import asyncio
import socket
import struct
import sys

# New versions of Linux only add fields at the end of `struct tcp_info` (linux/tcp.h).
_LAST_DATA_RECEIVED_FIELD = struct.Struct("=52xI")
"""The format that reads from Linux's `tcp_info` the milliseconds since data last arrived."""
_MIN_ROUND_TRIP_FIELD = struct.Struct("=148xI")
"""The format that reads from Linux's `tcp_info` the minimum round trip time in microseconds."""


def seconds_unread(transport: asyncio.BaseTransport) -> float | None:
    """Return the seconds since data last arrived at a connection's socket; None if the kernel does not say."""
    milliseconds = _tcp_info(transport, _LAST_DATA_RECEIVED_FIELD)
    return None if milliseconds is None else milliseconds / 1e3


def min_round_trip_s(transport: asyncio.BaseTransport) -> float:
    """Return the shortest round trip of a connection that the kernel has measured, in seconds; 0 if unknown. The TCP
    handshake counts as a round trip.
    """
    return (_tcp_info(transport, _MIN_ROUND_TRIP_FIELD) or 0) / 1e6


def _tcp_info(transport: asyncio.BaseTransport, field: struct.Struct) -> int | None:
    """Return a field of Linux's `tcp_info`; None on other systems, or if the connection is closed."""
    connection = transport.get_extra_info("socket")
    if sys.platform != "linux" or connection is None:
        return None
    try:
        return int(field.unpack(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, field.size))[0])
    except (OSError, ValueError, struct.error):  # on uvloop a closed connection's socket has no descriptor
        return None
