"""Opens a WebSocket to the arena. A failure is `ArenaUnreachable` if trying again may help, else `ArenaRefused`."""

from __future__ import annotations

import ipaddress
import ssl
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as open_websocket
from websockets.exceptions import (
    ConnectionClosed,
    InvalidMessage,
    InvalidProxy,
    InvalidStatus,
    InvalidURI,
    WebSocketException,
)
from websockets.http11 import Response
from websockets.typing import Subprotocol

from machine.client.timeouts import ClientTimeouts
from machine.host_names import host_of_url
from protocol.codec import MSGPACK
from protocol.display import escape_unprintable
from protocol.errors import Fault, UsageFault
from protocol.messages import MAX_SERVER_FRAME_BYTES

MAX_RETRY_AFTER_S = 300.0
"""The longest wait, in seconds, that a server can ask for with `Retry-After`."""
_RETRYABLE_STATUSES = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS)
"""The HTTP statuses from 400 to 499 after which trying again may help."""


class ArenaUnreachable(Fault):
    """The arena does not answer now. `retry_after_s` is how many seconds it asks clients to wait; 0 if it does not."""

    def __init__(self, why: str, after: float = 0.0) -> None:
        super().__init__(why)
        self.retry_after_s = after


class ArenaRefused(Fault):
    """The arena refuses the connection, and would refuse another one."""


class _SameHostConnect(open_websocket):
    """A connection that follows redirects only within its host, because other hosts must not see the token."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        found = super().process_redirect(exc)
        if isinstance(found, str) and host_of_url(found) != host_of_url(self.uri):
            return ArenaRefused(
                f"{self.uri} redirects to {escape_unprintable(found)[:80]}: if that is right, use that URL"
            )
        return found


async def connect(url: str, timeouts: ClientTimeouts) -> ClientConnection:
    """Open a connection to the arena at `url`. Raise `ArenaUnreachable` or `ArenaRefused` if that fails, `UsageFault`
    if the URL or the proxy is invalid.
    """
    try:
        return await _SameHostConnect(
            url,
            subprotocols=[Subprotocol(MSGPACK.subprotocol)],
            compression=None,
            max_size=MAX_SERVER_FRAME_BYTES,
            proxy=None if is_loopback(url) else True,
            open_timeout=timeouts.open_timeout_s,
            close_timeout=timeouts.close_timeout_s,
            ping_interval=timeouts.ping_interval_s,
            ping_timeout=timeouts.pong_timeout_s,
        )
    except InvalidStatus as exc:
        raise _fault_of_response(url, exc.response) from exc
    except (InvalidURI, UnicodeError, OverflowError) as exc:
        raise UsageFault(f"the arena's URL: {exc}") from exc
    except (InvalidProxy, ImportError) as exc:
        raise UsageFault(f"the proxy that the environment names: {exc}") from exc
    except ssl.SSLCertVerificationError as exc:
        raise ArenaRefused(f"{url}: {_describe_error(exc)}") from exc
    except ValueError as exc:  # which a certificate that cannot be verified is, too
        raise UsageFault(f"the arena's URL: {exc}") from exc
    except (OSError, EOFError, WebSocketException) as exc:
        raise ArenaUnreachable(f"no arena answers at {url}: {_describe_error(exc)}{_scheme_hint(url, exc)}") from exc


def _scheme_hint(url: str, exc: Exception) -> str:
    """Return a hint if the URL's scheme and the server may disagree about TLS."""
    if url.startswith("wss:") and isinstance(exc, (ssl.SSLError, ConnectionResetError, EOFError)):
        return f"; if it speaks no TLS, its URL is ws{url[3:]}"
    if url.startswith("ws:") and isinstance(exc, InvalidMessage):
        return f"; if it speaks TLS, its URL is wss{url[2:]}"
    return ""


def _fault_of_response(url: str, response: Response) -> Fault:
    """Return the fault for an HTTP answer. A status from 400 to 499 is final, except for `_RETRYABLE_STATUSES`."""
    status = response.status_code
    body = (response.body or b"").decode(errors="replace").strip().split("\n")[0][:200]
    said = " with a web page" if body.startswith("<") else f": {body}" if body else ""
    why = f"{url} answered HTTP {status}{said}"
    if 400 <= status < 500 and status not in _RETRYABLE_STATUSES:
        return ArenaRefused(why)
    return ArenaUnreachable(why, _read_retry_after(response.headers.get("Retry-After", ""), datetime.now(UTC)))


def _read_retry_after(retry_after: str, now: datetime) -> float:
    """Return the seconds that a `Retry-After` header asks for by a number or a date; 0 if it has neither."""
    try:
        if retry_after.isdecimal():
            seconds = float(retry_after[:9])
        else:
            seconds = (parsedate_to_datetime(retry_after) - now).total_seconds()
    except (ValueError, TypeError):  # no date, or one without its zone
        return 0.0
    return max(0.0, min(seconds, MAX_RETRY_AFTER_S))


def is_loopback(url: str) -> bool:
    """Return whether a URL points to this machine. Connections to it do not use the environment's proxy."""
    host = host_of_url(url)
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _describe_error(exc: BaseException) -> str:
    if isinstance(exc, ConnectionRefusedError):
        return "connection refused"
    if isinstance(exc, ConnectionClosed):
        return "the connection was closed"
    if isinstance(exc, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {exc.verify_message}"
    if isinstance(exc, OSError) and exc.strerror:
        return exc.strerror.lower()
    return str(exc) or type(exc).__name__
