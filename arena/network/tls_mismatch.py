"""Clients that speak TLS where there is none, or none where there is: the operator is told, now and then."""

from __future__ import annotations

import logging
import ssl
import time

from arena.network.rate_limits import TokenBucket

TLS_BEGINS = b"\x16\x03"
"""The first bytes of whoever speaks TLS: a handshake, of some version."""
SAID_EVERY = 60.0

log = logging.getLogger("arena.network.tls_mismatch")


class TlsMismatch:
    """Says what clients do wrong, each kind of it at most once in `SAID_EVERY` seconds."""

    def __init__(self) -> None:
        self._said = TokenBucket(1, 1 / SAID_EVERY)

    def speaks_tls(self, address: str) -> None:
        """A client began with TLS, which is not spoken here."""
        self._say("%s speaks TLS, and this port does not: its URL begins with ws://, not wss://", address)

    def failed(self, address: str, exc: BaseException) -> None:
        """The handshake of a client failed, where TLS is spoken."""
        if isinstance(exc, ssl.SSLError) and exc.reason == "HTTP_REQUEST":
            self._say("%s speaks no TLS, and this port does: its URL begins with wss:// or https://", address)

    def _say(self, what: str, address: str) -> None:
        if self._said.take(what, time.monotonic()) == 0:
            log.warning(what, address)
