"""TLS: the certificate and its key, read anew when the operator says so; clients that speak it in the wrong place."""

from __future__ import annotations

import contextlib
import logging
import ssl
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from arena.network.timeouts import NetworkTimeouts
from machine.token_bucket import TokenBucket
from protocol.errors import ArenaFault, os_errors_as

TLS_BEGINS = b"\x16\x03"
"""The first bytes of whoever speaks TLS: a handshake, of some version."""
SAID_EVERY = 60.0

log = logging.getLogger("arena.network.tls")


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


_ROUNDS = 4
"""Of messages in which any handshake ends."""
_NO_CHECK_TIME = 0x200000
"""X509_V_FLAG_NO_CHECK_TIME of OpenSSL."""
DAY = 24 * 3600.0
SOON = 14 * DAY
"""Seconds before its end from which it is said that a certificate ends."""


class CertificateFault(ArenaFault):
    """A certificate or its key can't be used."""


class Encryption:
    """Encrypts connections with a certificate (and its chain) and a key out of PEM files. Raises `CertificateFault`."""

    def __init__(self, certificate: Path, key: Path) -> None:
        self._certificate = certificate
        self._key = key
        self.reload()

    def reload(self) -> None:
        """Read the files again for connections to come. Raises `CertificateFault`, and what was in use stays so."""
        self._context = self._read()
        shown = _as_seen_by_clients(self._context, self._certificate, at_any_time=True)
        self._ends = ssl.cert_time_to_seconds(str(shown["notAfter"]))

    def trouble(self) -> str | None:
        """Why clients will not accept the certificate, whoever signed it: it has expired, or is not yet valid."""
        try:
            _as_seen_by_clients(self._context, self._certificate)
        except ssl.SSLCertVerificationError as exc:
            return exc.verify_message
        return None

    def ending(self, now: float) -> str | None:
        """When the certificate ends, in words, where that is soon or was already; `now` is in seconds since 1970."""
        left = self._ends - now
        if left > SOON:
            return None
        at = f"{datetime.fromtimestamp(self._ends, UTC):%Y-%m-%d %H:%M} UTC"
        return (
            f"the certificate ends at {at}, in {left / DAY:.1f} days" if left > 0 else f"the certificate ended at {at}"
        )

    def options(self, timeouts: NetworkTimeouts) -> dict[str, Any]:
        """How the event loop is told to encrypt a connection."""
        return {
            "ssl": self._context,
            "ssl_handshake_timeout": timeouts.tls_handshake_timeout_s,
            "ssl_shutdown_timeout": timeouts.tls_shutdown_timeout_s,
        }

    def _read(self) -> ssl.SSLContext:
        for file, what in ((self._certificate, "CERTIFICATE"), (self._key, "PRIVATE KEY")):
            with os_errors_as(CertificateFault, f"{file} can't be read"):
                text = file.read_text(errors="replace")
            if f"{what}-----" not in text:
                raise CertificateFault(f"{file} holds no {what.lower()} in PEM")
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        try:
            context.load_cert_chain(self._certificate, self._key, password=self._no_password)
        except ssl.SSLError as exc:
            text = f"{self._certificate} and {self._key} can't be used together: is it the key of that certificate?"
            raise CertificateFault(text) from exc
        return context

    def _no_password(self) -> str:
        raise CertificateFault(f"{self._key} is encrypted: encrypted keys are not supported")


def _as_seen_by_clients(context: ssl.SSLContext, certificate: Path, *, at_any_time: bool = False) -> dict[str, Any]:
    """A certificate as a client has it that trusts it whoever signed it, also one that is not valid now if asked so.

    Raises `ssl.SSLCertVerificationError`.
    """
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.load_verify_locations(certificate)
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if at_any_time:
        client.verify_flags |= _NO_CHECK_TIME
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = client.wrap_bio(back, there)
    sides = ours, context.wrap_bio(there, back, server_side=True)
    for side in sides * _ROUNDS:
        with contextlib.suppress(ssl.SSLWantReadError):
            side.do_handshake()
    return dict(ours.getpeercert() or {})
