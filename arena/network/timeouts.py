"""The time limits of the arena's network side for a client."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkTimeouts:
    """The arena's time limits for one connection, in seconds."""

    request_timeout_s: float = 10.0
    """A connection sends its whole HTTP request within this time."""
    first_bytes_timeout_s: float = 10.0
    """On a port that also takes operators, a connection sends its first bytes within this time."""
    tls_handshake_timeout_s: float = 5.0
    tls_shutdown_timeout_s: float = 1.0
    hello_timeout_s: float = 5.0
    """A client says `hello` within this time after its request."""
    ping_interval_s: float = 10.0
    pong_timeout_s: float = 20.0
    write_timeout_s: float = 20.0
    """A peer that reads nothing for this long is cut off."""
    close_timeout_s: float = 1.0
    """A peer answers a close within this time."""
    opening_timeout_s: float = 0.5
    """A stopping arena waits this long for handshakes in progress."""
    accept_retry_delay_s: float = 0.5
    """The arena accepts nothing for this long when the system has no more file descriptors or memory."""
