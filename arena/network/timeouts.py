"""The time limits of an arena for a client's connection."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkTimeouts:
    """The arena's time limits for one connection, in seconds."""

    request_timeout_s: float = 10.0
    """The time in which a connection must send its whole HTTP request."""
    first_bytes_timeout_s: float = 10.0
    """The time in which a connection to a socket for operators must send its first bytes."""
    tls_handshake_timeout_s: float = 5.0
    tls_shutdown_timeout_s: float = 1.0
    hello_timeout_s: float = 5.0
    """The time in which a client must send `hello` after its HTTP request."""
    ping_interval_s: float = 10.0
    pong_timeout_s: float = 20.0
    write_timeout_s: float = 20.0
    """The time after which a peer is cut off that does not read enough while output waits."""
    close_timeout_s: float = 1.0
    """The time in which a peer must answer a close frame, or end a connection that is closed."""
    opening_timeout_s: float = 0.5
    """The maximum time for which a stopping arena waits for handshakes in progress."""
    accept_retry_delay_s: float = 0.5
    """The time for which the arena accepts no connections after the system ran out of file descriptors or memory."""
