"""The time limits that the arena has for a client's connection."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkTimeouts:
    """The arena's time limits for one connection, in seconds."""

    request_timeout_s: float = 10.0
    """A connection must send its whole HTTP request within this time."""
    first_bytes_timeout_s: float = 10.0
    """On a socket for operators, a connection must send its first bytes within this time."""
    tls_handshake_timeout_s: float = 5.0
    tls_shutdown_timeout_s: float = 1.0
    hello_timeout_s: float = 5.0
    """A client must send `hello` within this time after its HTTP request."""
    ping_interval_s: float = 10.0
    pong_timeout_s: float = 20.0
    write_timeout_s: float = 20.0
    """A peer is cut off when it has not read enough for this long while output waits."""
    close_timeout_s: float = 1.0
    """A peer must answer a close frame within this time."""
    opening_timeout_s: float = 0.5
    """A stopping arena waits at most this long for handshakes in progress."""
    accept_retry_delay_s: float = 0.5
    """The arena accepts no connections for this long after the system had no more file descriptors or memory."""
