"""The event feed: its address, its bounded outbox, and real Mosquittos that vanish, stall and come back."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiomqtt
import msgspec
import pytest
from msgspec.structs import replace

from arena import mqtt_publisher
from arena.feed import MESSAGE_OVERHEAD_BYTES, BadBroker, Broker, Feed, FeedTimeouts, Outbox, QueuedMessage
from arena.mqtt_connection import MqttConnectSpec, Publication
from arena.mqtt_publisher import make_client
from log_events import set_when_logged
from patience import PATIENT_FEED
from protocol.messages import Clock, End, Outcome, Player, Start, Turn
from timeouts import WITHIN
from virtual_time import advance

SEATS = [Player(bot="ann"), Player(bot="bob")]
HEX = "0" * 64


def start(match: str) -> Start:
    clock = Clock(bank_ms=1000, increment_ms=0)
    return Start(match=match, game="nim", config={}, seat=None, seats=SEATS, clock=clock, commitment=HEX, rated=True)


def turn(match: str, ply: int = 0) -> Turn:
    state = {"heaps": [1], "to_move": 0, "ply": ply}
    return Turn(match=match, ply=ply, to_move=0, state=state, events=[], clock=[1000, 1000], digest=HEX)


def end(match: str) -> End:
    seats = [Outcome(bot="ann", rank=1, reason="win"), Outcome(bot="bob", rank=2, reason="win")]
    return End(
        match=match,
        ply=1,
        events=[],
        state={"heaps": [0], "to_move": None, "ply": 1},
        digest=HEX,
        ranks=[1, 2],
        reason="win",
        seats=seats,
        seed=HEX,
        nonces=["", ""],
        record=f"{match}.jsonl.gz",
    )


# The address


def test_an_address_is_read_whole() -> None:
    broker = Broker.parse("mqtt://ann:p%40ss@broker.example:1884/club/arena/")
    assert broker == Broker("broker.example", 1884, "ann", "p@ss", "club/arena")


def test_port_and_prefix_have_defaults() -> None:
    assert Broker.parse("mqtt://[::1]") == Broker("::1", 1883, None, None, "arena")


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("http://host/x", "begins with 'http'"),
        ("host", "begins with 'no scheme'"),
        ("mqtt://", "names no host"),
        ("mqtt:///prefix", "names no host"),
        ("mqtt://host:0/x", "names no port"),
        ("mqtt://host:99999/x", "cannot be read"),
        ("mqtt://host:abc/x", "cannot be read"),
        ("mqtt://host/a/+/b", "is no topic"),
        ("mqtt://host/a#b", "is no topic"),
        ("mqtt://host/#", "is no topic"),
        ("mqtt://host/a?b=1", "is no topic"),
        ("mqtt://host/$SYS", "is no topic"),
        ("mqtt://host/" + "x" * 300, "is no topic"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_in_one_line(url: str, complaint: str) -> None:
    with pytest.raises(BadBroker, match=complaint) as caught:
        Feed(url)
    assert "\n" not in str(caught.value)


def test_a_password_is_never_shown() -> None:
    broker = Broker.parse("mqtt://ann:secret@host")
    assert str(broker) == "host:1883"
    with pytest.raises(BadBroker) as caught:
        Broker.parse("mqtt://ann:secret@host:port")
    assert "secret" not in str(caught.value)


# The outbox


def message(payload: str, qos: int) -> QueuedMessage:
    return QueuedMessage(Publication("t", payload.encode(), qos), ended_match=payload if qos else None)


def payloads(outbox: Outbox, most: int = 100) -> list[str]:
    return [queued.publication.payload.decode() for _, queued in outbox.take(most)]


def test_messages_leave_in_the_order_they_came() -> None:
    outbox = Outbox()
    for i in range(6):
        outbox.add(message(str(i), qos=i % 2))
    assert payloads(outbox, 4) == ["0", "1", "2", "3"]
    assert payloads(outbox) == ["4", "5"]
    assert len(outbox) == outbox.bytes == 0


def test_the_oldest_turns_make_room_and_ends_stay() -> None:
    outbox = Outbox(max_turn_bytes=3 * (MESSAGE_OVERHEAD_BYTES + 2), max_durable_bytes=10_000)
    outbox.add(message("s", qos=1))
    for i in range(9):
        outbox.add(message(str(i), qos=0))
    outbox.add(message("e", qos=1))
    assert payloads(outbox) == ["s", "6", "7", "8", "e"]


def test_what_was_not_taken_goes_back_in_front() -> None:
    outbox = Outbox()
    for i in range(6):
        outbox.add(message(str(i), qos=1))
    outbox.put_back(outbox.take(4))
    assert payloads(outbox) == ["0", "1", "2", "3", "4", "5"]


def test_what_there_was_no_room_for_is_told() -> None:
    outbox = Outbox(max_durable_bytes=2 * (MESSAGE_OVERHEAD_BYTES + 2))
    assert [outbox.add(message(str(i), qos=1)) for i in range(3)] == [[], [], [message("0", qos=1)]]
    taken = outbox.take(1)
    outbox.add(message("3", qos=1))
    assert outbox.put_back(taken) == [message("1", qos=1)]


# The broker


def order_to(port: int) -> MqttConnectSpec:
    return MqttConnectSpec(
        host="127.0.0.1",
        port=port,
        identifier="arena-1",
        user=None,
        password=None,
        will=Publication("test/status", b"gone", 1, True),
        within=WITHIN,
        keepalive=10,
    )


@asynccontextmanager
async def publishing(url: str, timeouts: FeedTimeouts = PATIENT_FEED) -> AsyncIterator[Feed]:
    """A feed that is closed at the end, when all is published, however busy the machine."""
    feed = Feed(url, timeouts=timeouts)
    task = asyncio.create_task(feed.run())
    try:
        yield feed
    finally:
        await feed.close()
        await task


@asynccontextmanager
async def subscribed(port: int) -> AsyncIterator[aiomqtt.Client]:
    async with aiomqtt.Client("127.0.0.1", port) as client:
        await client.subscribe("test/#", qos=1)
        yield client


async def heard(client: aiomqtt.Client, until: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The newest payload of every topic, once `until` holds of them."""
    news: dict[str, Any] = {}
    async with asyncio.timeout(WITHIN):
        async for item in client.messages:
            assert isinstance(item.payload, bytes)
            news[str(item.topic)] = json.loads(item.payload)
            if until(news):
                return news
    raise AssertionError("the subscription ended")


async def test_a_subscriber_hears_start_turn_end_and_leaderboard(broker: Any) -> None:
    large = replace(turn("m-1"), state={"heaps": list(range(9_000)), "to_move": 0, "ply": 0})
    async with subscribed(broker.port) as client, publishing(broker.url()) as feed:
        feed.report(start("m-1"))
        feed.report(large)
        feed.report(end("m-1"))
        feed.publish_leaderboard("nim/classic", [{"bot": "ann", "mu": 25.0}])
        news = await heard(client, lambda news: len(news) == 5)
    assert news["test/status"] == {"online": True}
    assert news["test/match/m-1/start"]["type"] == "start"
    assert news["test/match/m-1/start"].keys().isdisjoint({"seat", "seek"})
    assert news["test/match/m-1/turn"]["state"] == large.state
    assert news["test/match/m-1/turn"].keys().isdisjoint({"legal", "options"})
    assert news["test/match/m-1/end"]["ranks"] == [1, 2]
    assert news["test/leaderboard/nim/classic"] == {
        "game": "nim",
        "pool": "nim/classic",
        "rows": [{"bot": "ann", "mu": 25.0}],
    }


async def test_nothing_waits_for_the_broker_to_acknowledge_what_came_before(broker: Any) -> None:
    async with make_client(order_to(broker.port)) as client:
        connected = client._client.socket()
        assert isinstance(connected, socket.socket)
        assert connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


async def test_of_many_matches_each_start_and_end_comes_once_and_in_order(broker: Any) -> None:
    expected = [f"m-{i}/{kind}" for i in range(120) for kind in ("start", "end")]
    lasting: list[str] = []
    async with subscribed(broker.port) as client:
        async with publishing(broker.url()) as feed:
            for i in range(120):
                for message in (start(f"m-{i}"), turn(f"m-{i}"), end(f"m-{i}")):
                    feed.report(message)
                if i % 40 == 0:
                    await asyncio.sleep(0.01)
        async with asyncio.timeout(WITHIN):
            while len(lasting) < len(expected):
                topic = (await anext(client.messages)).topic.value
                if topic.endswith(("/start", "/end")):
                    lasting.append(topic.partition("match/")[2])
    assert lasting == expected
    told = [feed.deliveries.get_nowait() for _ in range(feed.deliveries.qsize())]
    assert told == [(f"m-{i}", True) for i in range(120)]


async def test_leaderboard_and_status_are_retained_for_who_comes_late(broker: Any) -> None:
    async with publishing(broker.url()) as feed:
        feed.publish_leaderboard("nim/classic", [{"bot": "ann"}])
        feed.publish_leaderboard("nim/classic", [{"bot": "bob"}])
    async with subscribed(broker.port) as client:
        news = await heard(client, lambda news: len(news) == 2)
    assert news == {
        "test/leaderboard/nim/classic": {"game": "nim", "pool": "nim/classic", "rows": [{"bot": "bob"}]},
        "test/status": {"online": False},
    }


async def test_an_arena_that_dies_is_reported_offline_by_its_last_will_by_a_process_that_gives_way_to_others(
    broker: Any,
) -> None:
    async with subscribed(broker.port) as client, publishing(broker.url()) as feed:
        await heard(client, lambda news: news.get("test/status") == {"online": True})
        assert feed._connection is not None
        assert feed._connection._process is not None
        pid = feed._connection._process.pid
        assert os.sched_getscheduler(pid) == os.SCHED_OTHER
        assert os.getpriority(os.PRIO_PROCESS, pid) == os.nice(0) + 1  # as far as the tests let it
        assert os.getsid(pid) == os.getsid(0)
        assert os.getpgid(pid) == pid, "no Ctrl-C reaches it"
        feed._connection.abort()
        news = await heard(client, lambda news: "test/status" in news)
    assert news["test/status"] == {"online": False}


@pytest.mark.uvloop_too
async def test_ends_survive_a_broker_that_is_killed_and_comes_back(broker: Any) -> None:
    async with publishing(broker.url()) as feed:
        async with subscribed(broker.port) as client:
            for i in range(25):
                feed.report(end(f"m-{i}"))
            feed.publish_leaderboard("nim/classic", [])
            await heard(client, lambda news: sum("/end" in topic for topic in news) == 25)
            broker.kill()
            with pytest.raises(aiomqtt.MqttError):
                await heard(client, lambda news: False)
        for i in range(25, 50):
            feed.report(end(f"m-{i}"))
        await asyncio.to_thread(broker.start)
        # A subscriber that comes after the feed would miss ends, but the broker acknowledges each one.
        async with asyncio.timeout(WITHIN):
            acknowledged = [await feed.deliveries.get() for _ in range(50)]
        async with subscribed(broker.port) as client:
            news = await heard(client, lambda news: len(news) == 2)
    assert sorted(acknowledged) == sorted((f"m-{i}", True) for i in range(50))
    assert news["test/leaderboard/nim/classic"] == {"game": "nim", "pool": "nim/classic", "rows": []}, (
        "a restarted broker forgot it"
    )
    assert news["test/status"] == {"online": True}


async def test_nobody_waits_for_a_broker_that_is_absent(caplog: pytest.LogCaptureFixture) -> None:
    timeouts = dataclasses.replace(PATIENT_FEED, first_retry_delay_s=10 * WITHIN)
    async with asyncio.timeout(WITHIN), publishing("mqtt://127.0.0.1:1", timeouts) as feed:
        for i in range(1000):
            feed.report(turn("m-1", i))
        feed.report(end("m-1"))
    assert [record.levelname for record in caplog.records].count("WARNING") <= 1


async def test_a_broker_that_stops_reading_neither_grows_memory_nor_holds_up_the_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    accept = b"\x20\x02\x00\x00"

    async def connack_and_stall(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1000)
        writer.write(accept)
        await released.wait()
        writer.close()

    released = asyncio.Event()
    caplog.set_level("INFO", "arena.feed.feed")
    connected = set_when_logged(caplog)
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # what the system takes is not crowded out
    server = await asyncio.start_server(connack_and_stall, sock=listener, limit=1024)
    port = listener.getsockname()[1]
    outbox = Outbox(max_turn_bytes=100_000, max_durable_bytes=100_000)
    feed = Feed(
        f"mqtt://127.0.0.1:{port}/test", outbox, timeouts=dataclasses.replace(PATIENT_FEED, flush_timeout_s=0.1)
    )
    task = asyncio.create_task(feed.run())
    await connected.wait()
    for i in range(5_000):
        feed.report(turn("m-1", i))
        feed.report(end(f"m-{i}"))
        if i % 100 == 0:
            await asyncio.sleep(0)
    assert outbox.bytes <= 200_000
    assert feed.is_online
    assert min(feed.dropped_counts[kind] for kind in ("turns", "lasting")) > 2_000
    async with asyncio.timeout(WITHIN):
        await feed.close()
    assert task.done()
    assert not feed.is_online
    released.set()
    server.close()


async def test_a_broker_that_refuses_is_told_of_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1000)
        writer.write(b"\x20\x02\x00\x04")
        writer.close()

    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    told = set_when_logged(caplog)
    async with publishing(f"mqtt://127.0.0.1:{server.sockets[0].getsockname()[1]}"):
        await asyncio.wait_for(told.wait(), WITHIN)
    server.close()
    assert "can't be reached (it refuses: Bad user name or password);" in caplog.records[0].getMessage()


@pytest.mark.virtual_time
@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request", b"", None])
async def test_a_broker_that_is_none_is_waited_for_no_longer_than_the_order_says(answer: bytes | None) -> None:
    answered, over = asyncio.Event(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1000)
        if answer is not None:
            writer.write(answer)
            writer.close()
        answered.set()
        await over.wait()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    order = order_to(server.sockets[0].getsockname()[1])
    ours, theirs = socket.socketpair()
    publishing = asyncio.create_task(mqtt_publisher._serve(theirs))
    arena, writer = await asyncio.open_unix_connection(sock=ours)
    writer.write(msgspec.json.encode(order) + b"\n")
    said = asyncio.create_task(arena.read())
    await answered.wait()
    await advance(0.99 * order.within)
    assert not said.done()
    await advance(0.02 * order.within)
    assert await said == f'"it has accepted no connection in {order.within:g} s"\n'.encode()
    await publishing
    over.set()
    writer.close()
    server.close()


async def test_a_broker_that_falls_silent_is_left_and_tried_again() -> None:
    timeouts = dataclasses.replace(PATIENT_FEED, keepalive_s=1, first_retry_delay_s=0.01, flush_timeout_s=0.01)
    came: asyncio.Queue[bytes] = asyncio.Queue()

    async def say_nothing_more(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        came.put_nowait(await reader.read(1000))
        writer.write(b"\x20\x02\x00\x00")
        await reader.read()
        writer.close()

    server = await asyncio.start_server(say_nothing_more, "127.0.0.1", 0)
    feed = Feed(f"mqtt://127.0.0.1:{server.sockets[0].getsockname()[1]}", timeouts=timeouts)
    running = asyncio.create_task(feed.run())
    async with asyncio.timeout(WITHIN):
        assert await came.get() == await came.get()
        await feed.close()
    assert running.done()
    server.close()
