"""TLS: loads the certificate and key, reloads them on request, and logs clients that use TLS on a port without it, or
plain HTTP on a port with TLS."""

from __future__ import annotations

import contextlib
import logging
import os
import ssl
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from arena.network.timeouts import NetworkTimeouts
from machine.input_file import read_bytes
from machine.keyed_limiter import KeyedLimiter, TokenBucket
from machine.text_encoding import decode
from machine.units import DAY_S
from protocol.errors import ArenaFault, os_errors_as

TLS_PREFIX = b"\x16\x03"
"""The first bytes of any TLS connection, which mark a handshake record."""
WARNING_INTERVAL_S = 60.0
"""Minimum seconds between two log warnings of the same kind about clients."""

log = logging.getLogger("arena.network.tls")


class TlsMismatchLog:
    """Logs warnings about clients that use TLS on a port without TLS, or plain HTTP on a port with TLS. It logs each of
    the two at most once in `WARNING_INTERVAL_S`.
    """

    def __init__(self) -> None:
        self._warning_limit = KeyedLimiter(TokenBucket(1, 1 / WARNING_INTERVAL_S))

    def log_unexpected_tls(self, address: str) -> None:
        self._warn("%s uses TLS, but this port does not: the URL begins with ws://, not wss://", address)

    def log_failed_handshake(self, address: str, exc: BaseException) -> None:
        """Log a warning about a failed handshake if the client spoke plain HTTP on a port with TLS."""
        if isinstance(exc, ssl.SSLError) and exc.reason == "HTTP_REQUEST":
            self._warn("%s does not use TLS, but this port does: the URL begins with wss:// or https://", address)

    def _warn(self, what: str, address: str) -> None:
        if self._warning_limit.take(what, time.monotonic()) == 0:
            log.warning(what, address)


_HANDSHAKE_ROUNDS = 4
"""The number of message exchanges after which any TLS handshake has ended."""
_NO_CHECK_TIME_FLAG = 0x200000
"""The flag X509_V_FLAG_NO_CHECK_TIME of OpenSSL, which makes it ignore the validity period of certificates."""
EXPIRY_WARNING_S = 14 * DAY_S
"""Seconds before the expiry of the certificate at which the operator is warned."""


class CertificateFault(ArenaFault):
    """Raised if the certificate or its key can't be used."""


class Encryption:
    """The certificate (with its chain) and the key that encrypt connections, from PEM files. The constructor raises
    `CertificateFault` if they cannot be used.
    """

    def __init__(self, certificate: Path, key: Path) -> None:
        self._certificate = certificate
        self._key = key
        self.reload()

    def reload(self) -> None:
        """Read the files again, for new connections. If that raises `CertificateFault`, the old certificate stays."""
        self._context = self._load_context()
        shown = _read_certificate(self._context, self._chain, at_any_time=True)
        self._expires_at = ssl.cert_time_to_seconds(str(shown["notAfter"]))

    def validity_problem(self) -> str | None:
        """Return why clients will reject the certificate (it has expired or is not valid yet); None if it is valid."""
        try:
            _read_certificate(self._context, self._chain)
        except ssl.SSLCertVerificationError as exc:
            return exc.verify_message
        return None

    def expiry_warning(self, now: float) -> str | None:
        """Return a warning if the certificate expires soon or has expired, or None. `now` is in seconds since 1970."""
        left = self._expires_at - now
        if left > EXPIRY_WARNING_S:
            return None
        at = f"{datetime.fromtimestamp(self._expires_at, UTC):%Y-%m-%d %H:%M} UTC"
        return (
            f"the certificate expires at {at}, in {left / DAY_S:.1f} days"
            if left > 0
            else f"the certificate expired at {at}"
        )

    def ssl_options(self, timeouts: NetworkTimeouts) -> dict[str, Any]:
        """Return the TLS options for the event loop's `connect_accepted_socket`."""
        return {
            "ssl": self._context,
            "ssl_handshake_timeout": timeouts.tls_handshake_timeout_s,
            "ssl_shutdown_timeout": timeouts.tls_shutdown_timeout_s,
        }

    def _load_context(self) -> ssl.SSLContext:
        self._chain, key = (
            _read_pem(file, what) for file, what in ((self._certificate, "CERTIFICATE"), (self._key, "PRIVATE KEY"))
        )
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        try:
            with _pem_file_path(self._chain) as certificate_file, _pem_file_path(key) as key_file:
                context.load_cert_chain(certificate_file, key_file, password=self._refuse_password)
        except ssl.SSLError as exc:
            text = f"{self._certificate} and {self._key} can't be used together: is it the key of that certificate?"
            raise CertificateFault(text) from exc
        return context

    def _refuse_password(self) -> str:
        raise CertificateFault(f"{self._key} is encrypted: encrypted keys are not supported")


def _read_pem(file: Path, what: str) -> str:
    """Read a PEM file in any text encoding. Raise `CertificateFault` if it can't be read, or if it contains no section
    that ends its first line with `what`.
    """
    with os_errors_as(CertificateFault, f"{file} can't be read"):
        text = decode(read_bytes(file), errors="replace")
    if f"{what}-----" not in text:
        raise CertificateFault(f"{file} holds no {what.lower()} in PEM")
    return text


@contextlib.contextmanager
def _pem_file_path(pem: str) -> Iterator[str]:
    """Provide the path of a temporary file with this PEM text, because OpenSSL only reads files. The file is in memory
    if possible, because the text may be a secret key.
    """
    if hasattr(os, "memfd_create") and Path("/proc/self/fd").is_dir():
        with open(os.memfd_create("pem"), "w", encoding="utf-8") as file:
            file.write(pem)
            file.flush()
            yield f"/proc/self/fd/{file.fileno()}"
    else:
        with tempfile.TemporaryDirectory() as folder:  # no other user may enter it
            path = Path(folder) / "pem"
            path.write_text(pem, encoding="utf-8")
            yield str(path)


def _read_certificate(context: ssl.SSLContext, chain: str, *, at_any_time: bool = False) -> dict[str, Any]:
    """Return the certificate that a server with `context` sends to a client that trusts the certificates in `chain`.
    With `at_any_time`, accept an expired certificate too.

    Raise `ssl.SSLCertVerificationError` if the client would reject the certificate.
    """
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    with _pem_file_path(chain) as file:
        client.load_verify_locations(file)
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if at_any_time:
        client.verify_flags |= _NO_CHECK_TIME_FLAG
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = client.wrap_bio(back, there)
    sides = ours, context.wrap_bio(there, back, server_side=True)
    for side in sides * _HANDSHAKE_ROUNDS:
        with contextlib.suppress(ssl.SSLWantReadError):
            side.do_handshake()
    return dict(ours.getpeercert() or {})
