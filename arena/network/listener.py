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

from websockets.frames import CloseCode
from websockets.http11 import Request, Response
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

from arena.network.acceptor import Acceptor
from arena.network.admission import OPERATOR_SUBPROTOCOL, Admission, ConnectionRequest
from arena.network.binding import bind_sockets, port_of
from arena.network.connection import Connection
from arena.network.connection_limits import ConnectionSlot
from arena.network.fair_scheduler import FairScheduler
from arena.network.flusher import Flusher
from arena.network.frames import FastProtocol
from arena.network.timeouts import NetworkTimeouts
from arena.network.tls import Encryption, TlsMismatchLog
from machine.event_loop import BackgroundTasks
from protocol.codec import CODECS, MSGPACK, Codec
from protocol.messages import MAX_CLIENT_FRAME_BYTES

ALIVE_PATH, READY_PATH = "/healthz", "/readyz"
"""The paths of health checks: `ALIVE_PATH` asks whether the process is alive, `READY_PATH` whether it is ready for
clients.
"""

log = logging.getLogger("arena.network.listener")


class Listener:
    """Accepts connections until `close`. A client's connection runs `serve_client(connection, codec)`; an operator's
    runs `serve_operator(connection)`.

    `before_flush` is called in each turn of the event loop that writes to clients, before it writes, and `before_write`
    before it writes to each of them.

    `GET /healthz` returns 200 while the event loop runs. `GET /readyz` returns 503 if `unready_reason` gives a reason.
    """

    def __init__(
        self,
        serve_client: Callable[[Connection, Codec], Awaitable[None]],
        admission: Admission,
        encryption: Encryption | None = None,
        unready_reason: Callable[[], str | None] = lambda: None,
        serve_operator: Callable[[Connection], Awaitable[None]] | None = None,
        timeouts: NetworkTimeouts | None = None,
        work_clock: Callable[[], float] = time.perf_counter,
        before_flush: Callable[[], None] = lambda: None,
        before_write: Callable[[], None] | None = None,
    ) -> None:
        self._timeouts = timeouts or NetworkTimeouts()
        self._serve_client = serve_client
        self._serve_operator = serve_operator
        self._unready_reason = unready_reason
        self.admission = admission
        self.encryption = encryption
        self._acceptors: list[Acceptor] = []
        self._serving = BackgroundTasks()
        """The tasks that serve connections, from the request to the end."""
        self.connections: set[Connection] = set()
        """The connections whose handshake is complete."""
        self._handshaking: set[Connection] = set()
        """The connections whose WebSocket handshake is in progress."""
        self._handshake_ended = asyncio.Event()
        self._tls_mismatch = TlsMismatchLog()
        self.scheduler = FairScheduler(asyncio.get_running_loop(), work_clock)
        self.flusher = Flusher(asyncio.get_running_loop(), before_flush, before_write)

    async def listen(self, host: str, port: int) -> int:
        """Listen on a host and port, and return the port. Port 0 means a free port. Raise `PortFault` if that fails."""
        sockets = bind_sockets(host, port)
        await self.listen_on(sockets)
        return port_of(sockets)

    async def listen_on(self, sockets: list[socket.socket]) -> None:
        self._accept(sockets, None)

    async def add_socket(
        self, listening: socket.socket, address: str, *, operators_only: bool = False
    ) -> Callable[[], None]:
        """Accept connections from one more listening socket. Return a function that stops this.

        The connections are not encrypted. Limits count all of them as connections from `address`. With
        `operators_only`, only operators may connect to this socket.
        """
        listening.setblocking(False)
        return self._accept([listening], address, operators_only=operators_only).close

    def _accept(self, sockets: list[socket.socket], address: str | None, *, operators_only: bool = False) -> Acceptor:
        acceptor = Acceptor(
            sockets,
            partial(self.admission.take_slot, address=address, operators_only=operators_only),
            partial(self._make_connection, partial(self._check_request, address, operators_only)),
            self.encryption if address is None else None,
            self._tls_mismatch,
            partial(self.admission.recognize_operator, address=address) if address and operators_only else None,
            self._timeouts,
        )
        self._acceptors.append(acceptor)
        return acceptor

    async def close(self, code: int, reason: str) -> None:
        """Accept no more connections, finish handshakes in progress, and close all connections with `code` and
        `reason`.
        """
        for acceptor in self._acceptors:
            acceptor.stop()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._timeouts.opening_timeout_s):
                await self._wait_for_handshakes()
        for acceptor in self._acceptors:
            acceptor.close()
        for handshaking in self._handshaking:
            handshaking.transport.abort()
        for connection in self.connections:
            connection.start_close(code, reason)
        for acceptor in self._acceptors:
            await acceptor.wait_closed()
        await self._serving.wait()

    async def _wait_for_handshakes(self) -> None:
        for acceptor in self._acceptors:
            await acceptor.wait_closed()
        while self._handshaking:
            self._handshake_ended.clear()
            await self._handshake_ended.wait()

    def _make_connection(
        self, check_request: Callable[[Connection, Request], Response | None], slot: ConnectionSlot
    ) -> Connection:
        protocol = ServerProtocol(
            subprotocols=[Subprotocol(name) for name in (*CODECS, OPERATOR_SUBPROTOCOL)],
            select_subprotocol=_select_subprotocol,
            max_size=MAX_CLIENT_FRAME_BYTES,
        )
        return Connection(
            FastProtocol(protocol),
            lambda connection: self._serving.start(self._serve_connection(check_request, connection)),
            self.scheduler,
            self.flusher,
            slot,
            self._tls_mismatch,
            self._timeouts,
        )

    async def _serve_connection(
        self, check_request: Callable[[Connection, Request], Response | None], connection: Connection
    ) -> None:
        self._handshaking.add(connection)
        try:
            async with asyncio.timeout(self._timeouts.request_timeout_s):
                request = await connection.receive_request()
                if request is not None:
                    connection.respond(request, check_request(connection, request))
                if connection.is_gone:  # the client must end a refused connection
                    await connection.wait_closed()
            self._end_handshake(connection)
            if not connection.is_gone:
                self.connections.add(connection)
                await self._serve_open(connection)
        except TimeoutError:
            pass
        except Exception:
            log.exception("a connection failed")
        finally:
            self._end_handshake(connection)
            self.connections.discard(connection)
            connection.transport.abort()

    async def _serve_open(self, connection: Connection) -> None:
        """Serve a connection whose handshake is complete, and wait for its end."""
        code = CloseCode.NORMAL_CLOSURE
        try:
            if connection.subprotocol == OPERATOR_SUBPROTOCOL and self._serve_operator is not None:
                await self._serve_operator(connection)
            else:
                await self._serve_client(connection, CODECS.get(connection.subprotocol or "", MSGPACK))
        except Exception:
            log.exception("a connection failed")
            code = CloseCode.INTERNAL_ERROR
        connection.start_close(code, "")
        await connection.wait_closed()

    def _end_handshake(self, connection: Connection) -> None:
        self._handshaking.discard(connection)
        self._handshake_ended.set()

    def _check_request(
        self, address: str | None, operators: bool, connection: Connection, request: Request
    ) -> Response | None:
        """Return the HTTP response to a request that does not become a connection; None if it may become one."""
        if request.path in (ALIVE_PATH, READY_PATH):
            reason = self._unready_reason() if request.path == READY_PATH else None
            status = HTTPStatus.OK if reason is None else HTTPStatus.SERVICE_UNAVAILABLE
            return connection.protocol.reject(status, f"{reason or 'ok'}\n")
        peer, local = map(connection.transport.get_extra_info, ("peername", "sockname"))
        if not peer or not local:  # the connection has gone
            return None
        header = request.headers.get_all
        asked = ConnectionRequest(
            method=request.method,
            get_headers=header,
            peer=peer[0],
            local=local[0],
            address=address,
            is_operators_only=operators,
        )
        refusal = self.admission.check_request(asked, connection.slot)
        connection.address = connection.slot.address
        if refusal is None:
            return None
        response = connection.protocol.reject(refusal.status, refusal.text + "\n")
        response.headers.update(refusal.headers)
        return response


def _select_subprotocol(protocol: ServerProtocol, offered: Sequence[Subprotocol]) -> Subprotocol | None:
    return next((name for name in offered if name in CODECS or name == OPERATOR_SUBPROTOCOL), None)
