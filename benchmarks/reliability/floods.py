"""Measure how long an honest pair of bots waits for its turns: alone, beside one client that floods the arena, and
beside eight.

A flooder is one connection, or a series of connections, that sends as fast as the server reads. Eight flooders have
eight addresses; with `--beside` they share the pair's address. For each kind of flood, the pair is measured alone, then
beside flooders.
Usage: python benchmarks/reliability/floods.py [--seconds 5] [--kinds ping,unseek] [--flooders 1,8] [--beside] [--small]
Exit status 1 if the pair lost its connection or any of its requests was refused.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import count
from typing import Any

from rig import (
    BINARY,
    CONTINUATION,
    JSON,
    MSGPACK,
    PING,
    PONG,
    TEXT,
    TIMEOUT_S,
    HonestPair,
    RawConnection,
    Server,
    make_frame,
    make_map,
    make_message_frame,
    repeat,
    run_attackers,
)
from toolkit import option, read_options

BLOCK_BYTES = 64 * 1024
"""Approximate number of bytes that a flooder writes at a time."""
WARM_UP_S = 1.0
"""Seconds for which a flood runs before the waiting times of the two honest bots are measured."""
SMALL_MESSAGE_KINDS = ("ping", "before hello", "unseek")
"""The kinds of floods, all of small messages, that a small run measures."""


def make_invalid_map() -> dict[str, Any]:
    """Return a map of Risk of maximum size whose last border is invalid."""
    borders = [[low, low + step] for step in range(1, 11) for low in range(100 - step)]
    return make_map("wrong", [*borders[:900], [99, 99]])


MESSAGES: dict[str, dict[str, Any]] = {
    "unseek": {"type": "unseek", "id": "x"},
    "ready of no match": {"type": "ready", "match": "a"},
    "seek with a large map": {"type": "seek", "id": "x", "game": "risk-duel", "config": {"map": make_invalid_map()}},
    "seek of a deal": {
        "type": "seek",
        "id": "x",
        "game": "nim",
        "config": {"heaps": [1000, 1], "take": list(range(985, 1001)), "start": "p-position", "misere": False},
    },
    "no message": {"type": "nonsense"},
}
"""The messages that floods repeat, by the name of the kind of flood."""
FRAMES = {
    "ping": make_frame(b"", PING),
    "large ping": make_frame(bytes(125), PING),
    "pong": make_frame(b"", PONG),
    "text on msgpack": make_frame(b"{}", TEXT),
}
"""The frames that floods repeat, by the name of the kind of flood."""


async def send_repeatedly(raw: RawConnection, data: bytes) -> None:
    """Send `data` repeatedly until the server closes the connection."""
    reading = asyncio.create_task(raw.discard())
    block = data * max(1, BLOCK_BYTES // len(data))
    with contextlib.suppress(ConnectionError):
        while not reading.done():
            await raw.write(block)


async def send_messages(port: int, source: str, encoding: str, kind: str) -> None:
    """Send the message of this kind of flood repeatedly, as a bot."""
    raw = await RawConnection.enter(port, f"flood-{source}", encoding=encoding, source=source, slots=64)
    await send_repeatedly(raw, make_message_frame(encoding, **MESSAGES[kind]))


async def send_frames(port: int, source: str, encoding: str, kind: str) -> None:
    """Send the frame of this kind of flood repeatedly, as a spectator."""
    await send_repeatedly(await RawConnection.enter(port, encoding=encoding, source=source), FRAMES[kind])


async def send_before_hello(port: int, source: str, encoding: str, kind: str) -> None:
    raw = await RawConnection.connect(port, source=source)
    await raw.upgrade(encoding)
    await send_repeatedly(raw, FRAMES["ping"])


async def send_parts(port: int, source: str, encoding: str, kind: str) -> None:
    """Send, as a spectator, one message of endlessly many empty fragments."""
    raw = await RawConnection.enter(port, encoding=encoding, source=source)
    await raw.write(make_frame(b"", TEXT if encoding == JSON else BINARY, fin=False))
    await send_repeatedly(raw, make_frame(b"", CONTINUATION, fin=False))


async def watch_again(port: int, source: str, encoding: str, kind: str) -> None:
    """Watch and unwatch a new match as a spectator, again and again for half a second."""
    raw = await RawConnection.enter(port, encoding=encoding, source=source)
    raw.send(type="watch", match="*")
    match = (await raw.receive("start"))["match"]
    pair = make_message_frame(encoding, type="watch", match=match) + make_message_frame(
        encoding, type="unwatch", match=match
    )
    await asyncio.wait([asyncio.create_task(send_repeatedly(raw, pair))], timeout=0.5)
    raw.close()


async def send_half_handshake(port: int, source: str, encoding: str, kind: str) -> None:
    """Send half of an HTTP handshake, then close the connection."""
    raw = await RawConnection.connect(port, source=source)
    await raw.write(b"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n")
    raw.close()


async def drip_header(port: int, source: str, encoding: str, kind: str) -> None:
    """Send an HTTP header byte by byte, on fifty connections at a time."""

    async def one() -> None:
        raw = await RawConnection.connect(port, source=source)
        for _ in range(5000):
            await raw.write(b"a")
            await asyncio.sleep(0.001)

    await asyncio.gather(*(one() for _ in range(50)))


async def connect_repeatedly(port: int, source: str, encoding: str, kind: str) -> None:
    """Connect as a spectator and disconnect, on twenty connections at a time."""

    async def one() -> None:
        (await RawConnection.enter(port, encoding=encoding, source=source)).close()

    await asyncio.gather(*(one() for _ in range(20)))


async def register(port: int, source: str, encoding: str, kind: str, numbers: Any = count()) -> None:  # noqa: B008
    """Register new names and disconnect, on twenty connections at a time."""

    async def one() -> None:
        (await RawConnection.enter(port, f"new-{source}-{next(numbers)}", encoding=encoding, source=source)).close()

    await asyncio.gather(*(one() for _ in range(20)))


async def resign(port: int, source: str, encoding: str, kind: str) -> None:
    """Let two bots endlessly seek matches with each other and resign them, with all their slots."""

    async def one(name: str, opponent: str) -> None:
        raw = await RawConnection.enter(port, name, encoding=encoding, source=source, slots=64)
        for number in range(64):
            raw.send(type="seek", id=str(number), game="nim", opponent=opponent, rated=False)
        while True:
            told = await raw.receive("start", "end")
            if told["type"] == "start":
                raw.send(type="resign", match=told["match"])
                raw.send(type="seek", id=told.get("seek", "again"), game="nim", opponent=opponent, rated=False)

    await asyncio.gather(one(f"a-{source}", f"b-{source}"), one(f"b-{source}", f"a-{source}"))


async def play_fast(port: int, source: str, encoding: str, kind: str) -> None:
    """Let two bots play long matches at full speed with all their slots. Their moves are under no rate limit, because a
    server waits for them.
    """

    async def one(name: str, opponent: str) -> None:
        raw = await RawConnection.enter(port, name, encoding=encoding, source=source, slots=64)
        for number in range(64):
            heaps = {"heaps": [500, 500], "take": [1, 2, 3]}
            raw.send(type="seek", id=str(number), game="nim", config=heaps, opponent=opponent, rated=False)
        while True:
            told = await raw.receive("start", "turn")
            if told["type"] == "start":
                raw.send(type="ready", match=told["match"])
            else:
                raw.send(type="move", match=told["match"], ply=told["ply"], move=told["legal"][0])

    await asyncio.gather(one(f"c-{source}", f"d-{source}"), one(f"d-{source}", f"c-{source}"))


Attack = Callable[[int, str, str, str], Awaitable[None]]
KINDS: dict[str, tuple[Attack, bool]] = {
    **dict.fromkeys(MESSAGES, (send_messages, True)),
    **dict.fromkeys(FRAMES, (send_frames, False)),
    "before hello": (send_before_hello, False),
    "parts": (send_parts, True),
    "watch and unwatch": (watch_again, True),
    "half handshakes": (send_half_handshake, False),
    "dripping headers": (drip_header, False),
    "connections": (connect_repeatedly, False),
    "new names": (register, False),
    "seek and resign": (resign, True),
    "fast matches": (play_fast, True),
}
"""The kinds of floods, by name: the function that floods, and whether the bytes that it sends depend on the encoding.
"""


def attack(number: int, port: int, flooders: int, beside: bool, encoding: str, kind: str) -> None:
    """Run a process of flooders of one kind, which reconnect whenever they are cut off."""

    async def flood() -> None:
        sources = [f"127.0.0.{1 if beside else 2 + which}" for which in range(flooders)]
        await asyncio.gather(*(repeat(partial(KINDS[kind][0], port, source, encoding, kind)) for source in sources))

    asyncio.run(flood())


async def measure(server: Server, pair: HonestPair, options: argparse.Namespace, kind: str, encoding: str) -> bool:
    """Measure how long the honest pair waits for its turns, alone and beside flooders, and print the times. Return true
    if the pair lost no connection and got no error.
    """
    name = f"{kind} ({encoding.rpartition('.')[2]})" if KINDS[kind][1] else kind
    alone = await pair.measure(options.seconds / 2)
    print(f"{name:32} alone    {alone}", flush=True)
    unharmed = True
    for flooders in options.flooders:
        with run_attackers(1, attack, server.port, flooders, options.beside, encoding, kind):
            await asyncio.sleep(WARM_UP_S)
            felt, used = await pair.measure_with(server, options.seconds)
        times = felt.quantile(0.99) / alone.quantile(0.99)
        print(f"{'':32} beside {flooders} {felt}, {times:5.1f} times p99, server {used:4.0%}", flush=True)
        unharmed &= not felt.drops
        await wait_until_settled(server)
    return unharmed


async def wait_until_settled(server: Server) -> None:
    """Wait until the server has processed all remaining requests of the flooders."""
    while True:
        used = server.processor_s()
        await asyncio.sleep(0.5)
        if server.processor_s() - used < 0.1:
            return


async def main(options: argparse.Namespace) -> int:
    unharmed = True
    with Server() as server:
        for encoding in (MSGPACK, JSON):
            async with HonestPair(server.port, encoding=encoding) as pair:
                for kind in options.kinds:
                    if encoding == MSGPACK or KINDS[kind][1]:
                        unharmed &= await asyncio.wait_for(
                            measure(server, pair, options, kind, encoding), 10 * TIMEOUT_S
                        )
    return 0 if unharmed else 1


if __name__ == "__main__":
    options = read_options(
        __doc__,
        {"seconds": 0.5, "kinds": SMALL_MESSAGE_KINDS, "flooders": [1]},
        seconds=5.0,
        kinds=list(KINDS),
        flooders=[1, 8],
        beside=option(False, "flood from the address of the pair"),
    )
    sys.exit(asyncio.run(main(options)))
