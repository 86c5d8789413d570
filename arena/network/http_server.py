"""An HTTP server for visitors of the web pages: uvicorn, with a timeout for slow clients and limits on connections."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator, Sequence
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from arena.network.acceptor import Acceptor
from arena.network.addresses import Network, Proxies, address_of
from arena.network.connection_limits import ConnectionBounds, ConnectionLimits, ConnectionSlot
from arena.network.tls import Encryption, TlsMismatchLog
from protocol.submissions import MIN_UPLOAD_BYTES_PER_S

REQUEST_TIMEOUT_S = 60.0
"""Maximum seconds for a request and its response, from the start of the connection or the end of the previous response.
What a client sends at `MIN_UPLOAD_BYTES_PER_S` has further time.
"""
KEEP_ALIVE_TIMEOUT_S = 5
"""Seconds for which an idle connection stays open for another request."""
SHUTDOWN_TIMEOUT_S = 1
"""Seconds for which a stopping server waits for the responses in progress."""
MAX_HEADER_BYTES = 16 * 1024
"""Maximum size in bytes of a request's first line and headers together."""


class BoundedHttpProtocol(H11Protocol):
    """An HTTP connection. It is ended if a request takes too long, or if another connection needs its slot."""

    def __init__(self, slot: ConnectionSlot, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.slot = slot
        self._request_timer: asyncio.TimerHandle | None = None
        self._request_began, self._request_bytes = 0.0, 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._restart_timer()

    def data_received(self, data: bytes) -> None:
        self._request_bytes += len(data)
        super().data_received(data)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._restart_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._request_timer is not None:
            self._request_timer.cancel()
        self.slot.release()
        super().connection_lost(exc)

    def _restart_timer(self) -> None:
        if self._request_timer is not None:
            self._request_timer.cancel()
        self._request_began, self._request_bytes = self.loop.time(), 0
        self._request_timer = self.loop.call_later(REQUEST_TIMEOUT_S, self._end_slow_request)

    def _end_slow_request(self) -> None:
        until = self._request_began + REQUEST_TIMEOUT_S + self._request_bytes / MIN_UPLOAD_BYTES_PER_S
        if self.loop.time() < until:
            self._request_timer = self.loop.call_at(until, self._end_slow_request)
        else:
            self.transport.abort()


class HttpServer(uvicorn.Server):
    """Serves an ASGI application on listening sockets until `stop` is called."""

    def __init__(
        self,
        app: ASGIApp,
        bounds: ConnectionBounds,
        encryption: Encryption | None = None,
        proxies: Sequence[Network] = (),
    ) -> None:
        config = uvicorn.Config(
            app,
            http=BoundedHttpProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=KEEP_ALIVE_TIMEOUT_S,
            timeout_graceful_shutdown=SHUTDOWN_TIMEOUT_S,
            h11_max_incomplete_event_size=MAX_HEADER_BYTES,
        )
        super().__init__(config)
        self._encryption = encryption
        self._proxies = Proxies(proxies)
        self._connection_limits = ConnectionLimits(bounds)

    def stop(self) -> None:
        """Accept no more connections, and stop the server when the responses in progress are sent or time out."""
        self.should_exit = True

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Replace uvicorn's method, and install no signal handlers: the caller handles signals."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        acceptor = Acceptor(sockets or [], self._take_slot, self._make_protocol, self._encryption, TlsMismatchLog())
        self.servers = [acceptor]  # type: ignore[list-item]
        self.started = True

    def _take_slot(self, peer: str) -> ConnectionSlot:
        return self._connection_limits.take(address_of(peer), shared=self._proxies.trusts(peer))

    def _make_protocol(self, slot: ConnectionSlot) -> BoundedHttpProtocol:
        return BoundedHttpProtocol(slot, self.config, self.server_state, self.lifespan.state)
