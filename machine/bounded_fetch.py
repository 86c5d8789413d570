"""What an address answers in HTTP, within a bound of time for all of it, and not only for each piece."""

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


class Fetched(NamedTuple):
    """An answer of any status, as much of its body as was asked for."""

    status: int
    body: bytes
    headers: Mapping[str, str]
    reason: str


def fetch(
    url: str, max_bytes: int, timeout_s: float, *, headers: Mapping[str, str] = {}, proxies: bool = True
) -> Fetched:
    """Ask an address of http or https. Raises `OSError`, `TimeoutError` among them, `HTTPException` and `ValueError`.

    A peer that sends a byte now and then keeps every read within its time limit, and the answer from coming to an end.
    """
    connections = _Connections()
    deadline = time.monotonic() + timeout_s
    timer = threading.Timer(timeout_s, connections.end)
    timer.daemon = True
    timer.start()
    handlers: list[urllib.request.BaseHandler] = [_Http(connections), _Https(connections)]
    if not proxies:
        handlers.append(urllib.request.ProxyHandler({}))
    request = urllib.request.Request(url, headers=dict(headers))  # noqa: S310 - handlers for other schemes find no use
    try:
        try:
            answer: Any = urllib.request.build_opener(*handlers).open(request, timeout=timeout_s)
        except urllib.error.HTTPError as exc:
            answer = exc
        with answer:
            body = answer.read(max_bytes)
            fetched = Fetched(answer.status, body, dict(answer.headers), str(answer.reason))
    except (OSError, http.client.HTTPException):
        if connections.ended or time.monotonic() >= deadline:
            raise TimeoutError(errno.ETIMEDOUT, f"no whole answer came within {timeout_s:g} s") from None
        raise
    finally:
        timer.cancel()
    if connections.ended:
        raise TimeoutError(errno.ETIMEDOUT, f"no whole answer came within {timeout_s:g} s")
    return fetched


class _Connections:
    """The sockets of a request and of those to which it was led on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self.ended = False

    def add(self, connected: socket.socket) -> None:
        with self._lock:
            self._sockets.append(connected)
            if self.ended:
                _shut(connected)

    def end(self) -> None:
        with self._lock:
            self.ended = True
            for one in self._sockets:
                _shut(one)


def _shut(one: socket.socket) -> None:
    try:
        socket.socket.shutdown(one, socket.SHUT_RDWR)  # below TLS, whose own would wait for the peer
    except OSError:
        return


class _Http(urllib.request.HTTPHandler):
    def __init__(self, connections: _Connections) -> None:
        super().__init__()
        self._connections = connections

    def http_open(self, req: urllib.request.Request) -> Any:
        class Connection(http.client.HTTPConnection):
            connections = self._connections

            def connect(self) -> None:
                super().connect()
                self.connections.add(self.sock)

        return self.do_open(Connection, req)


class _Https(urllib.request.HTTPSHandler):
    def __init__(self, connections: _Connections) -> None:
        super().__init__()
        self._connections = connections

    def https_open(self, req: urllib.request.Request) -> Any:
        class Connection(http.client.HTTPSConnection):
            connections = self._connections

            def connect(self) -> None:
                super().connect()
                self.connections.add(self.sock)

        return self.do_open(Connection, req)
