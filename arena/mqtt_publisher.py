"""The process that publishes for a server over one MQTT connection: `python -m arena.mqtt_publisher`.

`arena.mqtt_connection` describes the messages between the server and this process. They use one socket, which is the
standard input of this process.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
import socket
import sys
from collections.abc import Callable, Iterator

import aiomqtt
import msgspec

from arena.mqtt_connection import ACCEPTED_SIGNAL, MATCH_PLACEHOLDER, MAX_IN_FLIGHT, MqttConnectSpec, Publication
from machine import event_loop
from machine.event_loop import BackgroundTasks
from machine.subprocesses import die_with_parent, renice

_PUBLISHER_NICENESS = 19
"""The niceness of this process after it has connected.

On a busy machine, the feed would stop if the process had this niceness from its start. It would also stop if the
process had idle priority.
"""
_decode_publication = msgspec.msgpack.Decoder(tuple[int, Publication]).decode


class _MatchField(msgspec.Struct):
    match: str


_decode_match = msgspec.json.Decoder(_MatchField).decode


def main() -> None:
    """Read an `MqttConnectSpec` from standard input, connect to the broker, and publish."""
    die_with_parent()
    logging.disable()  # errors are reported to the server, which logs them
    with socket.socket(fileno=sys.stdin.fileno()) as line:
        event_loop.run(_serve(line))


async def _serve(sock: socket.socket) -> None:
    """Publish for the server over one connection until it says goodbye or the connection is lost."""
    server, writer = await asyncio.open_unix_connection(sock=sock)

    def say(what: int | str) -> None:
        writer.write(msgspec.json.encode(what) + b"\n")

    with contextlib.suppress(ConnectionError):  # the server has gone
        order = msgspec.json.decode(await server.readline(), type=MqttConnectSpec)
        try:
            async with contextlib.AsyncExitStack() as stack:
                async with asyncio.timeout(order.within):
                    client = await stack.enter_async_context(make_client(order))
                renice(_PUBLISHER_NICENESS)
                say(ACCEPTED_SIGNAL)
                await _publish_until_lost(client, server, say)
        except TimeoutError:
            say(f"it has accepted no connection in {order.within:g} s")
        except aiomqtt.exceptions.MqttConnectError as exc:
            say(f"it refuses: {exc.rc}")
        except Exception as exc:
            say(str(exc))
        await writer.drain()
    writer.close()


def make_client(spec: MqttConnectSpec) -> aiomqtt.Client:
    client = aiomqtt.Client(
        spec.host,
        spec.port,
        username=spec.user,
        password=spec.password,
        identifier=spec.identifier,
        will=aiomqtt.Will(*spec.will),
        clean_session=True,
        keepalive=spec.keepalive,
        timeout=2 * spec.within,  # longer than the timeout in `_serve`, which reports it better
        max_inflight_messages=MAX_IN_FLIGHT,
        max_queued_outgoing_messages=MAX_IN_FLIGHT,
        socket_options=[(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)],  # small packets leave at once
    )
    client.pending_calls_threshold = sys.maxsize  # the warning would go to no one
    return client


async def _publish_until_lost(
    client: aiomqtt.Client, server: asyncio.StreamReader, say: Callable[[int | str], None]
) -> None:
    listening = asyncio.create_task(_listen(client))
    publishing = asyncio.create_task(_publish(client, server, say))
    await asyncio.wait((listening, publishing), return_when=asyncio.FIRST_COMPLETED)
    for task in (listening, publishing):
        task.cancel()
    _, failure = await asyncio.gather(listening, publishing, return_exceptions=True)
    if isinstance(failure, BaseException):
        raise ConnectionError("the connection was lost") from failure


async def _listen(client: aiomqtt.Client) -> None:
    """Wait until the connection to the broker is lost, and raise `aiomqtt.MqttError`."""
    async for _ in client.messages:
        pass


async def _publish(client: aiomqtt.Client, server: asyncio.StreamReader, say: Callable[[int | str], None]) -> None:
    """Read publications from the server, and publish them in order until the server says goodbye."""
    taking = BackgroundTasks()

    async def take(identifier: int, publication: Publication) -> None:
        await client.publish(*publication, timeout=math.inf)
        say(identifier)

    try:
        while packet := await server.readexactly(int.from_bytes(await server.readexactly(4), "big")):
            identifier, publication = _decode_publication(packet)
            if publication.qos:
                taking.start(take(identifier, publication))
            else:
                await asyncio.gather(
                    *(client.publish(*each, timeout=math.inf) for each in _split_publication(publication))
                )
    except (asyncio.IncompleteReadError, ConnectionResetError):  # the latter if this side had not read everything
        os._exit(1)  # skips the goodbye to the broker, so that it publishes the will


def _split_publication(publication: Publication) -> Iterator[tuple[str, bytes]]:
    """Yield the topic and payload of each message in a publication of QoS 0. If the topic contains `MATCH_PLACEHOLDER`,
    each line of the payload is a message of its own; else the whole payload is one message.
    """
    topic, payload, *_ = publication
    if MATCH_PLACEHOLDER in topic:
        for line in payload.splitlines():
            yield topic.replace(MATCH_PLACEHOLDER, _decode_match(line).match), line
    else:
        yield topic, payload


if __name__ == "__main__":
    main()
