"""The server's connection to an MQTT broker. It publishes and never subscribes.

A separate process, `mqtt_publisher`, talks to the broker, because the MQTT library takes as long for a message as the
arena for a ply. The server sends the process an `MqttConnectSpec` as a line of JSON, then publications in the format of
`encode_publication`, and at the end `GOODBYE_FRAME`. The process answers with lines of JSON: `ACCEPTED_SIGNAL` when the
broker accepts the connection, the identifier of each publication of QoS 1 that the broker has acknowledged, or a text
that says why the connection is lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from asyncio.subprocess import Process
from collections.abc import Callable
from typing import NamedTuple, cast

import msgspec

from machine.subprocesses import leave_process_group

MAX_IN_FLIGHT = 64
"""Maximum number of unacknowledged publications of QoS 1; later ones wait, in order."""
MAX_BUFFER_BYTES = 256 * 1024
"""Maximum bytes of publications that wait for the publishing process. Others stay in the feed's outbox."""
MATCH_PLACEHOLDER = "+"
"""A placeholder for a match's id in a topic.

If a publication's topic contains it, each line of the payload is published as a message of its own. The field `match`
of the line replaces the placeholder in the topic.
"""
ACCEPTED_SIGNAL = 0
"""The publishing process sends this to the server when the broker has accepted the connection."""
GOODBYE_FRAME = bytes(4)
"""The server sends this to the publishing process to end it: a publication of length 0."""
_PUBLISHER_COMMAND = (sys.executable, "-P", "-m", "arena.mqtt_publisher")
"""The command that starts the process that publishes."""
_pack = msgspec.msgpack.Encoder().encode
_decode_line = msgspec.json.Decoder(int | str).decode


class Publication(NamedTuple):
    """A message to publish. The broker acknowledges it if its QoS is 1."""

    topic: str
    payload: bytes
    qos: int = 0
    retain: bool = False


class MqttConnectSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The broker to connect to, the credentials, and time limits.

    The broker must accept the connection in `within` seconds. It is pinged after `keepalive` seconds of silence.
    """

    host: str
    port: int
    identifier: str
    user: str | None
    password: str | None
    will: Publication
    within: float
    keepalive: int


def encode_publication(identifier: int, publication: Publication) -> bytes:
    """Encode a publication: the length of the rest in four bytes, then MessagePack."""
    body = _pack((identifier, publication))
    return len(body).to_bytes(4, "big") + body


class MqttConnection(asyncio.Protocol):
    """A connection to an MQTT broker, from `connect` until it is `lost`.

    `on_acknowledged(identifier)` is called when the broker acknowledges a publication, `on_writable()` when the
    publishing process is ready to read again.
    """

    def __init__(self, on_acknowledged: Callable[[int], None], on_writable: Callable[[], None]) -> None:
        self.is_writable = True
        """False while too many bytes wait to be read by the publishing process."""
        loop = asyncio.get_running_loop()
        self.lost: asyncio.Future[Exception] = loop.create_future()
        """A future whose result is the reason why the connection ended."""
        self._accepted: asyncio.Future[None] = loop.create_future()
        self._on_acknowledged = on_acknowledged
        self._on_writable = on_writable
        self._transport: asyncio.Transport | None = None
        self._process: Process | None = None
        self._buffer = b""
        self._last_identifier = 0

    @classmethod
    async def connect(
        cls,
        spec: MqttConnectSpec,
        connect_timeout_s: float,
        *,
        on_acknowledged: Callable[[int], None],
        on_writable: Callable[[], None],
    ) -> MqttConnection:
        """Connect, and wait until the broker accepts that. Raise `OSError` if this fails or takes too long."""
        connection = cls(on_acknowledged, on_writable)
        try:
            async with asyncio.timeout(connect_timeout_s):
                await connection._start_process()
                connection.write(msgspec.json.encode(spec) + b"\n")
                await asyncio.wait((connection._accepted, connection.lost), return_when=asyncio.FIRST_COMPLETED)
            if connection.lost.done():
                raise connection.lost.result()
        except BaseException as exc:
            await connection.end()
            if isinstance(exc, TimeoutError):
                raise TimeoutError(f"no answer in {connect_timeout_s:g} s") from exc
            raise
        return connection

    async def _start_process(self) -> None:
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                self._process = await asyncio.create_subprocess_exec(
                    *_PUBLISHER_COMMAND, stdin=theirs.fileno(), preexec_fn=leave_process_group
                )
            await asyncio.get_running_loop().create_unix_connection(lambda: self, sock=ours)
        except BaseException:
            ours.close()
            raise

    def write(self, packets: bytes) -> None:
        """Send packets made by `make_packet`."""
        assert self._transport is not None
        self._transport.write(packets)

    def make_packet(self, publication: Publication) -> tuple[bytes, int]:
        """Return the packet of a publication and its identifier, which is 0 for QoS 0."""
        if not publication.qos:
            return encode_publication(0, publication), 0
        self._last_identifier += 1
        return encode_publication(self._last_identifier, publication), self._last_identifier

    async def close(self) -> None:
        """Disconnect cleanly, so that the broker does not publish the last will (that the arena is offline)."""
        self.write(GOODBYE_FRAME)
        assert self._process is not None
        await self._process.wait()

    def abort(self) -> None:
        """End the connection and its process at once."""
        self._lose(ConnectionError("the connection was closed"))
        if self._transport is not None:
            self._transport.abort()
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    async def end(self) -> None:
        """End the connection at once, and wait until its process has ended."""
        self.abort()
        if self._process is not None:
            await self._process.wait()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's transport is no subclass
        self._transport.set_write_buffer_limits(MAX_BUFFER_BYTES)

    def connection_lost(self, exc: Exception | None) -> None:
        self._lose(exc or ConnectionError("the process that publishes has ended"))

    def pause_writing(self) -> None:
        self.is_writable = False

    def resume_writing(self) -> None:
        self.is_writable = True
        self._on_writable()

    def data_received(self, data: bytes) -> None:
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            said = _decode_line(line)
            if isinstance(said, str):
                self._lose(ConnectionError(said))
            elif said != ACCEPTED_SIGNAL:
                self._on_acknowledged(said)
            elif not self._accepted.done():
                self._accepted.set_result(None)

    def _lose(self, error: Exception) -> None:
        if not self.lost.done():
            self.lost.set_result(error)
