"""The WebSocket server: accepts connections, has `Admission` check them, and negotiates a subprotocol."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from http import HTTPStatus
from typing import Any

from websockets.asyncio.server import Server
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.protocol import State
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

from arena.network.acceptor import Acceptor
from arena.network.admission import OPERATOR, Admission, ConnectionRequest
from arena.network.binding import bound, port_of
from arena.network.connection import Connection
from arena.network.connection_limits import ConnectionSlot
from arena.network.fair_scheduler import FairScheduler
from arena.network.flusher import Flusher
from arena.network.frames import FastProtocol
from arena.network.timeouts import NetworkTimeouts
from arena.network.tls import Encryption, TlsMismatch
from protocol.codec import CODECS, MSGPACK, Codec
from protocol.messages import MAX_CLIENT_FRAME

ALIVE, READY = "/healthz", "/readyz"

log = logging.getLogger("arena.network.listener")


class Listener:
    """Accepts connections until `close`. Each runs `handle(connection, codec)`; an operator's `operate(connection)`.

    `GET /healthz` returns 200 while the event loop runs; `GET /readyz` returns 503 if `unready` gives a reason.
    """

    def __init__(
        self,
        handle: Callable[[Connection, Codec], Awaitable[None]],
        gate: Admission,
        encryption: Encryption | None = None,
        unready: Callable[[], str | None] = lambda: None,
        operate: Callable[[Connection], Awaitable[None]] | None = None,
        timeouts: NetworkTimeouts | None = None,
        work_clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._timeouts = timeouts or NetworkTimeouts()
        self._handle = handle
        self._operate = operate
        self._unready = unready
        self._gate = gate
        self.encryption = encryption
        self._servers: list[Server] = []
        self._acceptors: list[Acceptor] = []
        self._opening: set[Any] = set()
        """Connections whose handshake is in progress."""
        self._opened = asyncio.Event()
        self._foreign = TlsMismatch()
        self._budget = FairScheduler(asyncio.get_running_loop(), work_clock)
        self.flusher = Flusher(asyncio.get_running_loop())

    @property
    def gate(self) -> Admission:
        return self._gate

    @property
    def scheduler(self) -> FairScheduler:
        return self._budget

    async def open(self, host: str, port: int) -> int:
        """Accept connections on a host and port; 0 means a free port. Return the port. Raise `PortFault`."""
        sockets = bound(host, port)
        await self.open_on(sockets)
        return port_of(sockets)

    async def open_on(self, sockets: list[socket.socket]) -> None:
        await self._serve(sockets, None)

    async def take(self, listening: socket.socket, address: str, *, operators: bool = False) -> Callable[[], None]:
        """Accept connections from one more listening socket, until the returned function is called.

        They count as coming from `address` and are not encrypted. With `operators`, only operators may connect there.
        """
        listening.setblocking(False)
        server = await self._serve([listening], address, operators=operators)
        return partial(server.close, close_connections=False)

    async def _serve(self, sockets: list[socket.socket], address: str | None, *, operators: bool = False) -> Server:
        async def accept() -> Any:
            encryption = self.encryption if address is None else None
            arrive = partial(self._gate.arrive, address=address, operators=operators)
            look = partial(self._gate.recognize, address=address) if address and operators else None
            acceptor = Acceptor(
                sockets, arrive, partial(self._wire, server), encryption, self._foreign, look, self._timeouts
            )
            self._acceptors.append(acceptor)
            return acceptor

        server = Server(accept, partial(self._run, partial(self._look_at, address, operators)))
        self._servers.append(server)
        return await server

    async def close(self, code: int, reason: str) -> None:
        """Stop accepting, let handshakes in progress finish, and close all connections with `code` and `reason`."""
        for acceptor in self._acceptors:
            acceptor.stop()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._timeouts.opening_timeout_s):
                await self._all_opened()
        for server in self._servers:
            server.close(code=code, reason=reason)
        self._gate.places.cut_unseated()
        for server in self._servers:
            await server.wait_closed()

    async def _all_opened(self) -> None:
        for acceptor in self._acceptors:
            await acceptor.wait_closed()
        while self._opening:
            self._opened.clear()
            await self._opened.wait()

    def _wire(self, server: Server, place: ConnectionSlot) -> Connection:
        protocol = FastProtocol(
            subprotocols=[Subprotocol(name) for name in (*CODECS, OPERATOR)],
            select_subprotocol=_select,
            max_size=MAX_CLIENT_FRAME,
        )
        return Connection(
            protocol,
            server,
            budget=self._budget,
            flusher=self.flusher,
            place=place,
            foreign=self._foreign,
            timeouts=self._timeouts,
        )

    async def _run(self, look_at: Callable[[Any, Request], Response | None], wire: Any) -> None:
        """Serve one connection from its request to its end, like `serve` of websockets."""
        self._opening.add(wire)
        try:
            async with asyncio.timeout(self._timeouts.request_timeout_s):
                with contextlib.suppress(ConnectionClosed):  # it ended before the answer, or sent no frame
                    await wire.handshake(look_at, None, None)
            self._end_opening(wire)
            if wire.protocol.state is not State.OPEN:
                return
            wire.server.all_connections.add(wire)
            wire.start_keepalive()
            async with wire:
                with contextlib.suppress(ConnectionClosed):
                    if wire.subprotocol == OPERATOR and self._operate is not None:
                        await self._operate(wire)
                    else:
                        await self._handle(wire, CODECS.get(wire.subprotocol or "", MSGPACK))
        except TimeoutError:
            pass
        except Exception:
            log.exception("a connection failed")
        finally:
            self._end_opening(wire)
            wire.server.all_connections.discard(wire)
            wire.transport.abort()
            task = asyncio.current_task()
            assert task is not None
            wire.server.handler_tasks.discard(task)

    def _end_opening(self, wire: Any) -> None:
        self._opening.discard(wire)
        self._opened.set()

    def _look_at(self, address: str | None, operators: bool, wire: Any, request: Request) -> Response | None:
        """Return the response to a request that does not become a connection, else None."""
        response: Response
        if request.path in (ALIVE, READY):
            reason = self._unready() if request.path == READY else None
            status = HTTPStatus.OK if reason is None else HTTPStatus.SERVICE_UNAVAILABLE
            response = wire.respond(status, f"{reason or 'ok'}\n")
            return response
        peer, local = wire.remote_address, wire.local_address
        if not peer or not local:  # the connection has gone
            return None
        header = request.headers.get_all
        asked = ConnectionRequest(
            method=request.method, header=header, peer=peer[0], local=local[0], address=address, operators=operators
        )
        refusal = self._gate.refuse(asked, wire.place)
        wire.address = wire.place.address
        if refusal is None:
            return None
        response = wire.respond(refusal.status, refusal.text + "\n")
        response.headers.update(refusal.headers)
        return response


def _select(protocol: ServerProtocol, offered: Sequence[Subprotocol]) -> Subprotocol | None:
    return next((name for name in offered if name in CODECS or name == OPERATOR), None)
