"""What a client sends that it was not asked for is read in its turn, whole and in order, and holds up no match."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgpack

from frame_pieces import BINARY, PING, TEXT, written
from frames import BOTH, frame
from protocol.codec import JSON, MSGPACK, Codec


def message(encoding: Codec, **fields: Any) -> bytes:
    content = frame(encoding, fields)
    return written(BINARY, content) if isinstance(content, bytes) else written(TEXT, content.encode())


class Flooder:
    """A connection that writes what it likes, and reads messages in either encoding."""

    def __init__(self, client: Any, encoding: Codec) -> None:
        self.client, self.encoding = client, encoding

    @classmethod
    async def connect(cls, served: Any, encoding: Codec) -> Flooder:
        return cls(await served.connect(subprotocols=[encoding.subprotocol], max_queue=None), encoding)

    def write(self, data: bytes) -> None:
        self.client.wire.transport.write(data)

    def send(self, **fields: Any) -> None:
        self.write(message(self.encoding, **fields))

    async def expect(self, kind: str) -> dict[str, Any]:
        data = await self.client.wire.recv()
        told: dict[str, Any] = json.loads(data) if self.encoding is JSON else msgpack.unpackb(data)
        assert told["type"] == kind, told
        return told


async def play_on(served: Any) -> None:
    """Two honest bots play a match from the beginning to the end."""
    first, second, _ = await served.begun(config={"heaps": [6, 6]})
    await asyncio.gather(first.play(), second.play())


@contextmanager
def resting(wire: Any) -> Iterator[None]:
    """Let the address of a connection owe a second, and its clock stand still: however long the context lasts, nothing
    is read that the arena doesn't wait for.
    """
    budget = wire._cpu_budget.parent
    clock, now = wire._clock, wire._clock()
    budget.charge(1.0, now)
    wire._clock = budget._clock = lambda: now
    try:
        yield
        assert budget.debt_s(now) == 1.0
    finally:
        wire._clock = budget._clock = clock


def forgive_debts(served: Any) -> None:
    """Forget what the connections owe themselves, which is much if the machine was busy as they were served."""
    for connection in served.arena.host.listener.connections:
        for budget in (connection._cpu_budget, connection._ahead_budget):
            budget._debt_free_at = budget.throttled_until = 0.0


@BOTH
async def test_a_flood_is_read_whole_and_in_order_while_a_match_is_played(serve: Any, encoding: Codec) -> None:
    served = await serve()
    flooder = await Flooder.connect(served, encoding)
    flooder.send(type="hello", bot="flood", token="f" * 16)
    await flooder.expect("welcome")
    match = asyncio.create_task(play_on(served))
    written = read = 0
    while not match.done():  # there is always more than is read, however long the match takes
        while written < read + 3000:
            flooder.write(b"".join(message(encoding, type="unseek", id=str(written + more)) for more in range(1000)))
            written += 1000
        for _ in range(1000):
            assert (await flooder.expect("unseeked"))["id"] == str(read)
            read += 1
    await match
    assert read < written
    flooder.send(type="seek", id="last", game="chess")
    for number in range(read, written):
        assert (await flooder.expect("unseeked"))["id"] == str(number)
    assert (await flooder.expect("error"))["ref"] == "last"


async def test_a_client_that_has_not_said_hello_can_not_hold_up_a_match(serve: Any) -> None:
    served = await serve()
    first, second, start = await served.begun(config={"heaps": [50]})
    bots = set(served.arena.host.listener.connections)
    flooder = await Flooder.connect(served, MSGPACK)
    (wire,) = set(served.arena.host.listener.connections) - bots
    with resting(wire):
        flooder.write(written(PING) * 8000)
        flooder.send(type="hello")
        for ply in range(20):
            mover = (first, second)[ply % 2]
            while (await mover.expect("turn"))["ply"] != ply:
                pass
            await mover.send(type="move", match=start["match"], ply=ply, move={"heap": 0, "take": 1})
        assert wire._unread
    await flooder.expect("welcome")


async def test_answers_that_are_waited_for_are_taken_though_their_address_rests(serve: Any) -> None:
    served = await serve()
    first, second, start = await served.begun(config={"heaps": [6, 6]})
    await first.expect("turn")
    wire = next(iter(served.arena.host.clients.sessions.values())).connection
    forgive_debts(served)
    wire._cpu_budget.parent.charge(100.0, wire._clock())
    await second.send(type="unseek", id="waits")
    await first.send(type="move", match=start["match"], ply=0, move={"heap": 0, "take": 6})
    assert (await second.receive())["type"] == "turn"
    assert (await second.receive())["type"] == "unseeked"


async def test_a_move_does_not_wait_behind_what_its_bot_had_in_line_before_it_was_asked(serve: Any) -> None:
    served = await serve()
    first, second, start = await served.begun(config={"heaps": [6, 6]})
    turn = await first.expect("turn")
    wire = served.arena.host.clients.session_of(second.passed[0]["bot"]).connection
    forgive_debts(served)
    with resting(wire):  # as others of its address sought, say
        await second.wire.pong()
        await second.send(type="list")
        await first.send(type="move", match=start["match"], ply=turn["ply"], move=turn["legal"][0])
        turn = await second.expect("turn")
        await second.send(type="move", match=start["match"], ply=turn["ply"], move=turn["legal"][0])
        await first.expect("turn")


@BOTH
async def test_what_comes_with_the_hello_is_acted_on_after_it(serve: Any, encoding: Codec) -> None:
    flooder = await Flooder.connect(await serve(), encoding)
    hello = message(encoding, type="hello", bot="ann", token="a" * 16)
    flooder.write(hello + b"".join(message(encoding, type="unseek", id=str(number)) for number in range(100)))
    assert (await flooder.expect("welcome"))["limits"] == {"max_message": 16384, "strikes": 3, "slots": 1}
    assert [(await flooder.expect("unseeked"))["id"] for _ in range(100)] == [str(number) for number in range(100)]
