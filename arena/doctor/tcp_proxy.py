"""A TCP proxy that can cut connections, pass on nothing, or close new connections at once."""

from __future__ import annotations

import asyncio

HOST = "127.0.0.1"
"""The address on which the proxy listens, and to which it connects."""
_READ_CHUNK_BYTES = 65536
"""The maximum number of bytes that the proxy reads at a time."""


class ProxiedTcpConnection:
    """A connection through the proxy, from `near`, which the proxy accepted, to `far`, which the proxy opened."""

    def __init__(self, near: asyncio.StreamWriter, far: asyncio.StreamWriter) -> None:
        self.near, self.far = near, far
        self.is_silent = False
        """True if nothing is passed on any more, while both ends stay open."""
        self._over = asyncio.Event()

    def cut(self) -> None:
        """Abort both ends of the connection."""
        self._over.set()
        self.near.transport.abort()
        self.far.transport.abort()

    async def wait_to_pass(self) -> bool:
        """Return True if data may pass, False once the connection is cut. A silenced connection passes no data: wait
        until it is cut.
        """
        if self.is_silent:
            await self._over.wait()
        return not self._over.is_set()


class TcpProxy:
    """A proxy that listens on a port of its own, and passes each connection on to the local port `port`."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.closes_new_connections = False
        """True if connections are accepted and closed at once, as by a load balancer whose server is down."""
        self.closed_connections = 0
        """Number of connections that were accepted and closed at once."""
        self.links: set[ProxiedTcpConnection] = set()
        self._server: asyncio.Server | None = None
        self._connection_tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> int:
        """Listen and return the port."""
        self._server = await asyncio.start_server(self._accept, HOST, 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    def cut(self) -> None:
        """Cut all current connections."""
        for link in list(self.links):
            link.cut()

    def fall_silent(self) -> None:
        """Pass on nothing more over the current connections, but leave them open. New connections work."""
        for link in self.links:
            link.is_silent = True

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        self.cut()
        await asyncio.gather(*self._connection_tasks)

    async def forward(self, connection: ProxiedTcpConnection, data: bytes, to: asyncio.StreamWriter) -> None:
        """Pass data of a connection on to its other end."""
        to.write(data)
        await to.drain()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connection_tasks.add(task)
        task.add_done_callback(self._connection_tasks.discard)
        if self.closes_new_connections:
            self.closed_connections += 1
            writer.close()
            return
        try:
            far_reader, far_writer = await asyncio.open_connection(HOST, self._port)
        except OSError:
            writer.transport.abort()
            return
        link = ProxiedTcpConnection(writer, far_writer)
        self.links.add(link)
        try:
            await asyncio.gather(
                self._forward_all(link, reader, far_writer), self._forward_all(link, far_reader, writer)
            )
        finally:
            self.links.discard(link)
            writer.close()
            far_writer.close()

    async def _forward_all(
        self, connection: ProxiedTcpConnection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            while data := await reader.read(_READ_CHUNK_BYTES):
                if not await connection.wait_to_pass():
                    return
                await self.forward(connection, data, writer)
            if await connection.wait_to_pass():
                writer.write_eof()
        except (OSError, RuntimeError):  # uvloop raises `RuntimeError` if the other side has ended meanwhile
            connection.cut()
