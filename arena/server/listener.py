"""The WebSocket server: takes connections, agrees on a subprotocol, and closes those that are too many."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from http import HTTPStatus
from typing import Any

from msgspec import Struct
from websockets.asyncio.server import Server, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

from arena.server.addresses import Network, Proxies
from arena.server.budget import Budget
from arena.server.wire import Wire
from protocol.close_codes import TOO_MANY_CONNECTIONS
from protocol.codec import CODECS, MSGPACK, Codec
from protocol.errors import ArenaFault
from protocol.messages import MAX_CLIENT_FRAME

HEALTH = "/healthz"
FORWARDED_FOR = "X-Forwarded-For"
PING_EVERY = 10.0
PONG_WITHIN = 20.0


class PortFault(ArenaFault):
    """The address can't be listened on."""


class Access(Struct, frozen=True, kw_only=True):
    """Who may connect: how many at once, and the proxies that are believed when they say for whom they speak."""

    max_connections: int = 1000
    proxies: tuple[Network, ...] = ()


class Listener:
    """Takes connections from `open` until `close`; `handle(wire, codec)` is what one does until it ends.

    `GET /healthz` is answered 200, or 503 with the reason that `ailing` gives.
    """

    def __init__(
        self,
        handle: Callable[[Wire, Codec], Awaitable[None]],
        access: Access,
        ailing: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._handle = handle
        self._ailing = ailing
        self._access = access
        self._proxies = Proxies(access.proxies)
        self._servers: list[Server] = []
        self._wire: Any = partial(Wire, budget=Budget(asyncio.get_running_loop()))

    async def open(self, host: str, port: int) -> int:
        """Take connections; the port, which is a free one for port 0. Raises `PortFault`."""
        try:
            server = await self._serve(None, host=host, port=port)
        except OSError as exc:
            if exc.errno == errno.EADDRINUSE:
                raise PortFault(f"port {port} on {host} is in use: choose another one, or 0 for a free one") from exc
            raise PortFault(f"{host} port {port} can't be listened on: {exc.strerror or exc}") from exc
        bound: int = next(iter(server.sockets)).getsockname()[1]
        return bound

    async def take(self, bound: socket.socket, address: str) -> Callable[[], None]:
        """Take connections also from a socket that listens already, until what is returned is called.

        They count as from `address`, whatever the socket says.
        """
        server = await self._serve(address, sock=bound)

        def leave() -> None:
            server.close(close_connections=False)

        return leave

    async def _serve(self, address: str | None, **where: Any) -> Server:
        server = await serve(
            self._converse,
            **where,
            create_connection=self._wire,
            subprotocols=[Subprotocol(name) for name in CODECS],
            select_subprotocol=_select,
            process_request=partial(self._check, address),
            compression=None,
            max_size=MAX_CLIENT_FRAME,
            ping_interval=PING_EVERY,
            ping_timeout=PONG_WITHIN,
            close_timeout=1,
            server_header=None,
        )
        self._servers.append(server)
        return server

    async def close(self, code: int) -> None:
        """Take no more, and close those there are with `code`."""
        for server in self._servers:
            server.close(code=code)
        for server in self._servers:
            await server.wait_closed()

    async def _converse(self, wire: Any) -> None:
        if len(wire.server.connections) > self._access.max_connections:
            wire.drop(TOO_MANY_CONNECTIONS, "too many connections")
            return
        with contextlib.suppress(ConnectionClosed):
            await self._handle(wire, CODECS.get(wire.subprotocol or "", MSGPACK))

    def _check(self, address: str | None, wire: Any, request: Request) -> Response | None:
        """Why a request does not become a connection; None if it may. From now on it is known whose it is."""
        if request.path == HEALTH:
            return _health(wire, self._ailing())
        peer = wire.remote_address
        if address is not None:
            wire.address = address
        elif peer:
            wire.address = self._proxies.origin(peer[0], request.headers.get_all(FORWARDED_FOR))
        return _unknown_subprotocols(wire, request)


def _select(connection: Any, offered: Sequence[Subprotocol]) -> Subprotocol | None:
    """The client's first subprotocol that we speak."""
    return next((name for name in offered if name in CODECS), None)


def _health(connection: Any, reason: str | None) -> Response:
    status = HTTPStatus.OK if reason is None else HTTPStatus.SERVICE_UNAVAILABLE
    answer: Response = connection.respond(status, f"{reason or 'ok'}\n")
    return answer


def _unknown_subprotocols(connection: Any, request: Request) -> Response | None:
    offered = [name.strip() for value in request.headers.get_all("Sec-WebSocket-Protocol") for name in value.split(",")]
    if offered and not any(name in CODECS for name in offered):
        text = f"none of the subprotocols is known here: offer one of {', '.join(CODECS)}\n"
        refused: Response = connection.respond(HTTPStatus.BAD_REQUEST, text)
        return refused
    return None
