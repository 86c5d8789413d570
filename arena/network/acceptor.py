"""Accepts connections to listening sockets, and counts them even before the TLS handshake.

The event loop's own server would accept any number of connections, and report a TLS connection only after its
handshake.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import socket
from collections.abc import Callable
from typing import Any

from arena.network.connection_limits import ConnectionSlot
from arena.network.timeouts import NetworkTimeouts
from arena.network.tls import Encryption, TlsMismatchLog
from machine.event_loop import BackgroundTasks

ACCEPT_BATCH_SIZE = 8
"""Maximum number of connections that a socket accepts in one turn of the event loop."""
PEEK_BYTES = 8192
"""Maximum number of a connection's first bytes that are passed to `inspect_start` before the handshake."""
EXHAUSTION_ERRNOS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
"""The error numbers of the operating system that mean that it has no more file descriptors or memory."""

log = logging.getLogger("arena.network.acceptor")


class Acceptor:
    """Accepts connections to listening sockets until `close`. It replaces the event loop's own server.

    `take_slot(peer)` returns a slot for a connection from the address `peer`, or None to refuse it.
    `make_protocol(slot)` returns the connection's asyncio protocol, which has a `transport` after the handshake.
    `inspect_start(start, slot)`, if given, is called with the connection's first bytes before the handshake.
    """

    def __init__(
        self,
        sockets: list[socket.socket],
        take_slot: Callable[[str], ConnectionSlot | None],
        make_protocol: Callable[[ConnectionSlot], Any],
        encryption: Encryption | None,
        tls_mismatch: TlsMismatchLog,
        inspect_start: Callable[[bytes, ConnectionSlot], None] | None = None,
        timeouts: NetworkTimeouts | None = None,
    ) -> None:
        self._timeouts = timeouts or NetworkTimeouts()
        self._sockets = tuple(sockets)
        self._take_slot = take_slot
        self._make_protocol = make_protocol
        self._encryption = encryption
        self._tls_mismatch = tls_mismatch
        self._inspect_start = inspect_start
        self._loop = asyncio.get_running_loop()
        self._accept_tasks = [asyncio.create_task(self._accept(one)) for one in sockets]
        self._handshakes = BackgroundTasks()
        self._exhausted = False

    def stop(self) -> None:
        """Accept no more connections, but let handshakes in progress continue."""
        for task in self._accept_tasks:
            task.cancel()
        self._accept_tasks = []
        for one in self._sockets:
            one.close()

    def close(self) -> None:
        """Accept no more connections, and cancel handshakes in progress."""
        self.stop()
        for task in self._handshakes:
            task.cancel()

    async def wait_closed(self) -> None:
        """Wait until no handshake is in progress."""
        await self._handshakes.wait()

    async def _accept(self, listening: socket.socket) -> None:
        """Accept connections to a socket, a few in each turn of the event loop, so that a flood of connections delays
        no other work.
        """
        while True:
            try:
                accepted, peer = await self._loop.sock_accept(listening)
            except OSError as exc:
                if exc.errno in EXHAUSTION_ERRNOS:
                    if not self._exhausted:
                        log.warning("can't accept connections: %s", exc.strerror)
                    self._exhausted = True
                    await asyncio.sleep(self._timeouts.accept_retry_delay_s)
            else:
                self._exhausted = False
                self._start_handshake(accepted, peer[0])
                with contextlib.suppress(OSError):
                    for _ in range(ACCEPT_BATCH_SIZE - 1):
                        accepted, peer = listening.accept()
                        accepted.setblocking(False)
                        self._start_handshake(accepted, peer[0])
            await asyncio.sleep(0)

    def _start_handshake(self, accepted: socket.socket, peer: str) -> None:
        slot = self._take_slot(peer)
        if slot is None:
            accepted.close()
            return
        protocol = self._make_protocol(slot)
        task = self._handshakes.start(self._shake_hands(accepted, slot, protocol))
        task.add_done_callback(lambda task: accepted.close() if task.cancelled() else None)  # before it could begin
        slot.cut_off = lambda: protocol.transport.abort() if task.done() else task.cancel()

    async def _shake_hands(self, accepted: socket.socket, slot: ConnectionSlot, protocol: Any) -> None:
        encrypted = {} if self._encryption is None else self._encryption.ssl_options(self._timeouts)
        try:
            if self._inspect_start is not None:
                await self._wait_readable(accepted)
                self._inspect_start(accepted.recv(PEEK_BYTES, socket.MSG_PEEK), slot)
            await self._loop.connect_accepted_socket(lambda: protocol, accepted, **encrypted)
        except (OSError, asyncio.CancelledError) as exc:  # the handshake failed, or the connection was closed off
            self._tls_mismatch.log_failed_handshake(slot.address, exc)
            slot.release()
            accepted.close()
            if hasattr(protocol, "transport") and not protocol.transport.is_closing():
                protocol.connection_lost(None)  # uvloop does not call it if a task is cancelled here

    async def _wait_readable(self, accepted: socket.socket) -> None:
        """Wait for the first bytes of a connection. Raise `TimeoutError` after `first_bytes_timeout_s`."""
        came = asyncio.Event()
        self._loop.add_reader(accepted, came.set)
        try:
            async with asyncio.timeout(self._timeouts.first_bytes_timeout_s):
                await came.wait()
        finally:
            self._loop.remove_reader(accepted)
