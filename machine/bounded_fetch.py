"""An HTTP request with one time limit for the whole answer, not only for each read."""

from __future__ import annotations

import errno
import http.client
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any, NamedTuple


class HttpAnswer(NamedTuple):
    """An HTTP answer with any status. `fetch` cuts its body at `max_bytes` bytes."""

    status: int
    body: bytes
    headers: Mapping[str, str]
    reason: str


def fetch(
    url: str,
    max_bytes: int,
    timeout_s: float,
    *,
    headers: Mapping[str, str] = {},
    proxies: bool = True,
    body: bytes | None = None,
) -> HttpAnswer:
    """Fetch a URL, or post a `body` to it. Redirects are followed, except those of a request with a body
    or a token. Raise `OSError` or `HTTPException` if that fails (`TimeoutError` after `timeout_s`), `ValueError` if the
    URL is invalid.

    A timer enforces `timeout_s`, because a peer that sends single bytes could keep every read within its own timeout
    for ever.
    """
    connections = _Connections()
    deadline = time.monotonic() + timeout_s
    timer = threading.Timer(timeout_s, connections.shut_down)
    timer.daemon = True
    timer.start()
    handlers: list[urllib.request.BaseHandler] = [_Handler(connections)]
    if body is not None or any(name.lower() == "authorization" for name in headers):
        handlers.append(_NoRedirects())
    if not proxies:
        handlers.append(urllib.request.ProxyHandler({}))
    request = urllib.request.Request(url, body, dict(headers))  # noqa: S310 - handlers for other schemes find no use
    try:
        try:
            answer: Any = urllib.request.build_opener(*handlers).open(request, timeout=timeout_s)
        except urllib.error.HTTPError as exc:
            answer = exc
        with answer:
            read = answer.read(max_bytes)
            fetched = HttpAnswer(answer.status, read, dict(answer.headers), str(answer.reason))
    except (OSError, http.client.HTTPException):
        if connections.is_shut_down or time.monotonic() >= deadline:
            raise TimeoutError(errno.ETIMEDOUT, f"the answer was not complete within {timeout_s:g} s") from None
        raise
    finally:
        timer.cancel()
    if connections.is_shut_down:
        raise TimeoutError(errno.ETIMEDOUT, f"the answer was not complete within {timeout_s:g} s")
    return fetched


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Lets a redirect be the answer: urllib would send the token to the other address, and no body."""

    def redirect_request(self, *_: object) -> None:
        return None


class _Connections:
    """The sockets of a request and of its redirects."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self.is_shut_down = False

    def add(self, sock: socket.socket) -> None:
        with self._lock:
            self._sockets.append(sock)
            if self.is_shut_down:
                _shut_down(sock)

    def shut_down(self) -> None:
        with self._lock:
            self.is_shut_down = True
            for one in self._sockets:
                _shut_down(one)


def _shut_down(sock: socket.socket) -> None:
    try:
        socket.socket.shutdown(sock, socket.SHUT_RDWR)  # not the shutdown of TLS, which would wait for the peer
    except OSError:
        return


class _Handler(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    """Adds the sockets that it opens to `connections`."""

    def __init__(self, connections: _Connections) -> None:
        super().__init__()
        self._connections = connections

    def http_open(self, req: urllib.request.Request) -> Any:
        return self.do_open(self._adding(http.client.HTTPConnection), req)

    def https_open(self, req: urllib.request.Request) -> Any:
        return self.do_open(self._adding(http.client.HTTPSConnection), req)

    def _adding(self, kind: Any) -> Any:
        connections = self._connections

        class Connection(kind):  # type: ignore[misc]
            def connect(self) -> None:
                super().connect()
                connections.add(self.sock)

        return Connection
