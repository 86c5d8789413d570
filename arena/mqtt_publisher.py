"""The process that publishes beside a server: `python -m arena.mqtt_publisher`, for one connection to an MQTT broker.

What it is told and what it says is in `arena.mqtt_connection`; standard input is a socket for both.
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

from arena.mqtt_connection import ACCEPTED, EACH, MOST_IN_FLIGHT, MqttOrder, Publication
from machine import event_loop
from machine.event_loop import Tasks
from machine.subprocesses import be_nice, die_with_parent

_NICE = 19
"""Once connected. Not before, and not only when idle: a machine that is never idle would have no feed."""
_publication = msgspec.msgpack.Decoder(tuple[int, Publication]).decode


class _OfMatch(msgspec.Struct):
    match: str


_of_match = msgspec.json.Decoder(_OfMatch).decode


def main() -> None:
    """Obey the order on standard input."""
    die_with_parent()
    logging.disable()  # what goes wrong is said to the server, which logs it
    with socket.socket(fileno=sys.stdin.fileno()) as line:
        event_loop.run(_serve(line))


async def _serve(line: socket.socket) -> None:
    """Publish what the server says over one connection until it says goodbye, or the connection is lost."""
    server, writer = await asyncio.open_unix_connection(sock=line)

    def say(what: int | str) -> None:
        writer.write(msgspec.json.encode(what) + b"\n")

    with contextlib.suppress(ConnectionError):  # the server has gone
        order = msgspec.json.decode(await server.readline(), type=MqttOrder)
        try:
            async with contextlib.AsyncExitStack() as stack:
                async with asyncio.timeout(order.within):
                    client = await stack.enter_async_context(client_of(order))
                be_nice(_NICE)
                say(ACCEPTED)
                await _publish_until_lost(client, server, say)
        except TimeoutError:
            say(f"it has accepted no connection in {order.within:g} s")
        except aiomqtt.exceptions.MqttConnectError as exc:
            say(f"it refuses: {exc.rc}")
        except Exception as exc:
            say(str(exc))
        await writer.drain()
    writer.close()


def client_of(order: MqttOrder) -> aiomqtt.Client:
    """The client that is to be connected."""
    client = aiomqtt.Client(
        order.host,
        order.port,
        username=order.user,
        password=order.password,
        identifier=order.identifier,
        will=aiomqtt.Will(*order.will),
        clean_session=True,
        keepalive=order.keepalive,
        timeout=2 * order.within,  # beyond that of `_serve`, which says what happened
        max_inflight_messages=MOST_IN_FLIGHT,
        max_queued_outgoing_messages=MOST_IN_FLIGHT,
        socket_options=[(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)],  # nothing waits for what came before
    )
    client.pending_calls_threshold = sys.maxsize  # it would format a warning, for nobody
    return client


async def _publish_until_lost(
    client: aiomqtt.Client, server: asyncio.StreamReader, say: Callable[[int | str], None]
) -> None:
    """Publish until the server says goodbye. Raises `ConnectionError` when the connection is lost."""
    listening = asyncio.create_task(_listen(client))
    publishing = asyncio.create_task(_publish(client, server, say))
    await asyncio.wait((listening, publishing), return_when=asyncio.FIRST_COMPLETED)
    for task in (listening, publishing):
        task.cancel()
    _, failure = await asyncio.gather(listening, publishing, return_exceptions=True)
    if isinstance(failure, BaseException):
        raise ConnectionError("the connection was lost") from failure


async def _listen(client: aiomqtt.Client) -> None:
    """Hear nothing, as nothing is subscribed to. Raises `aiomqtt.MqttError` when the connection is lost."""
    async for _ in client.messages:
        pass


async def _publish(client: aiomqtt.Client, server: asyncio.StreamReader, say: Callable[[int | str], None]) -> None:
    """Publish until the server says goodbye, in order, no more at once than a packet has or may be in flight."""
    taking = Tasks()

    async def take(identifier: int, publication: Publication) -> None:
        await client.publish(*publication, timeout=math.inf)
        say(identifier)

    try:
        while packet := await server.readexactly(int.from_bytes(await server.readexactly(4), "big")):
            identifier, publication = _publication(packet)
            if publication.qos:
                taking.begin(take(identifier, publication))
            else:
                await asyncio.gather(*(client.publish(*each, timeout=math.inf) for each in _each(publication)))
    except (asyncio.IncompleteReadError, ConnectionResetError):  # the latter where it had not read all that was said
        os._exit(1)  # without a goodbye to the broker either, which then publishes the will


def _each(publication: Publication) -> Iterator[tuple[str, bytes]]:
    """The topics and payloads of QoS 0 that one is."""
    topic, payload, *_ = publication
    if EACH in topic:
        for line in payload.splitlines():
            yield topic.replace(EACH, _of_match(line).match), line
    else:
        yield topic, payload


if __name__ == "__main__":
    main()
