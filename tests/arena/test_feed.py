"""The event feed: its address, its bounded outbox, and real Mosquittos that vanish, stall and come back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import aiomqtt
import pytest

from arena.feed import OVERHEAD, BadBroker, Broker, Feed, Message, Outbox
from protocol.messages import Clock, End, Outcome, Player, Start, Turn
from timeouts import WITHIN

SEATS = [Player(bot="ann"), Player(bot="bob")]
HEX = "0" * 64


def start(match: str) -> Start:
    clock = Clock(bank_ms=1000, increment_ms=0)
    return Start(
        match=match, seek="mine", game="nim", config={}, seat=1, seats=SEATS, clock=clock, commitment=HEX, rated=True
    )


def turn(match: str, ply: int = 0) -> Turn:
    state = {"heaps": [1], "to_move": 0, "ply": ply}
    legal = [{"heap": 0, "take": 1}]
    return Turn(
        match=match, ply=ply, to_move=0, state=state, events=[], clock=[1000, 1000], legal=legal, options={}, digest=HEX
    )


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


def message(payload: str, qos: int) -> Message:
    return Message("t", payload.encode(), qos)


def payloads(outbox: Outbox, most: int = 100) -> list[str]:
    return [queued.payload.decode() for _, queued in outbox.take(most)]


def test_messages_leave_in_the_order_they_came() -> None:
    outbox = Outbox()
    for i in range(6):
        outbox.add(message(str(i), qos=i % 2))
    assert payloads(outbox, 4) == ["0", "1", "2", "3"]
    assert payloads(outbox) == ["4", "5"]
    assert len(outbox) == outbox.bytes == 0


def test_the_oldest_turns_make_room_and_ends_stay() -> None:
    outbox = Outbox(turn_bytes=3 * (OVERHEAD + 2), lasting_bytes=10_000)
    outbox.add(message("s", qos=1))
    for i in range(9):
        outbox.add(message(str(i), qos=0))
    outbox.add(message("e", qos=1))
    assert payloads(outbox) == ["s", "6", "7", "8", "e"]


def test_an_outbox_without_a_broker_stays_within_its_bounds() -> None:
    outbox = Outbox(turn_bytes=50_000, lasting_bytes=100_000)
    for i in range(5_000):
        outbox.add(message("x" * 90, qos=i % 2))
        assert outbox.bytes <= 150_000


def test_what_was_not_published_goes_back_in_front_but_turns_do_not() -> None:
    outbox = Outbox()
    for i in range(6):
        outbox.add(message(str(i), qos=i % 2))
    outbox.put_back(outbox.take(4))
    assert payloads(outbox) == ["1", "3", "4", "5"]


# The broker


@asynccontextmanager
async def publishing(url: str) -> AsyncIterator[Feed]:
    feed = Feed(url)
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
    async with subscribed(broker.port) as client, publishing(broker.url()) as feed:
        feed.started(start("m-1"))
        feed.turned(turn("m-1"))
        feed.ended(end("m-1"))
        feed.leaderboard("nim/classic", [{"bot": "ann", "mu": 25.0}])
        news = await heard(client, lambda news: len(news) == 5)
    assert news["test/status"] == {"online": True}
    assert news["test/match/m-1/start"]["type"] == "start"
    assert news["test/match/m-1/start"].keys().isdisjoint({"seat", "seek"})
    assert news["test/match/m-1/turn"]["ply"] == 0
    assert news["test/match/m-1/turn"].keys().isdisjoint({"legal", "options"})
    assert news["test/match/m-1/end"]["ranks"] == [1, 2]
    assert news["test/leaderboard/nim/classic"] == {
        "game": "nim",
        "pool": "nim/classic",
        "rows": [{"bot": "ann", "mu": 25.0}],
    }


async def test_leaderboard_and_status_are_retained_for_who_comes_late(broker: Any) -> None:
    async with publishing(broker.url()) as feed:
        feed.leaderboard("nim/classic", [{"bot": "ann"}])
        feed.leaderboard("nim/classic", [{"bot": "bob"}])
    async with subscribed(broker.port) as client:
        news = await heard(client, lambda news: len(news) == 2)
    assert news == {
        "test/leaderboard/nim/classic": {"game": "nim", "pool": "nim/classic", "rows": [{"bot": "bob"}]},
        "test/status": {"online": False},
    }


async def test_closing_publishes_what_still_waits(broker: Any) -> None:
    async with subscribed(broker.port) as client:
        async with publishing(broker.url()) as feed:
            for i in range(500):
                feed.ended(end(f"m-{i}"))
        news = await heard(client, lambda news: news.get("test/status") == {"online": False})
    assert sum(topic.endswith("/end") for topic in news) == 500


async def test_an_arena_that_dies_is_reported_offline_by_its_last_will(broker: Any) -> None:
    async with subscribed(broker.port) as client:
        feed = Feed(broker.url())
        async with feed._client() as dying:
            await dying.publish(*feed._status(True))
            await heard(client, lambda news: news.get("test/status") == {"online": True})
            dying._client.socket().shutdown(2)
            with pytest.raises(aiomqtt.MqttError):
                await anext(dying.messages)
            news = await heard(client, lambda news: "test/status" in news)
    assert news["test/status"] == {"online": False}


async def test_ends_survive_a_broker_that_is_killed_and_comes_back(broker: Any) -> None:
    async with publishing(broker.url()) as feed:
        async with subscribed(broker.port) as client:
            for i in range(25):
                feed.ended(end(f"m-{i}"))
            feed.leaderboard("nim/classic", [])
            await heard(client, lambda news: sum("/end" in topic for topic in news) == 25)
            broker.kill()
            with pytest.raises(aiomqtt.MqttError):
                await heard(client, lambda news: False)
        for i in range(25, 50):
            feed.ended(end(f"m-{i}"))
        await asyncio.to_thread(broker.start)
        async with subscribed(broker.port) as client:
            news = await heard(client, lambda news: sum("/end" in topic for topic in news) == 25 and len(news) == 27)
    assert news["test/match/m-49/end"]["reason"] == "win"
    assert news["test/leaderboard/nim/classic"] == {"game": "nim", "pool": "nim/classic", "rows": []}, (
        "a restarted broker forgot it"
    )
    assert news["test/status"] == {"online": True}


async def test_nobody_waits_for_a_broker_that_is_absent(
    broker: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arena.feed.FIRST_DELAY", 10 * WITHIN)
    broker.kill()
    async with asyncio.timeout(WITHIN), publishing(broker.url()) as feed:
        for i in range(1000):
            feed.turned(turn("m-1", i))
        feed.ended(end("m-1"))
    assert [record.levelname for record in caplog.records].count("WARNING") <= 1


async def test_a_broker_that_stops_reading_neither_grows_memory_nor_holds_up_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("arena.feed.BROKER_TIMEOUT", 10 * WITHIN)
    monkeypatch.setattr("arena.feed.FLUSH_SECONDS", 0.1)
    accept = b"\x20\x02\x00\x00"

    async def connack_and_stall(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1000)
        writer.write(accept)
        stalled.set()
        await released.wait()
        writer.close()

    stalled, released = asyncio.Event(), asyncio.Event()
    server = await asyncio.start_server(connack_and_stall, "127.0.0.1", 0, limit=1024)
    port = server.sockets[0].getsockname()[1]
    outbox = Outbox(turn_bytes=100_000, lasting_bytes=100_000)
    feed = Feed(f"mqtt://127.0.0.1:{port}/test", outbox)
    task = asyncio.create_task(feed.run())
    await stalled.wait()
    for i in range(20_000):
        feed.turned(turn("m-1", i))
        feed.ended(end(f"m-{i}"))
        if i % 100 == 0:
            await asyncio.sleep(0)
    assert outbox.bytes <= 200_000
    async with asyncio.timeout(WITHIN):
        await feed.close()
    assert task.done()
    released.set()
    server.close()


def test_it_works_under_uvloop(broker: Any) -> None:
    uvloop = pytest.importorskip("uvloop")

    async def scene() -> dict[str, Any]:
        async with subscribed(broker.port) as client, publishing(broker.url()) as feed:
            feed.ended(end("m-1"))
            await heard(client, lambda news: "test/match/m-1/end" in news)
            broker.kill()
            with pytest.raises(aiomqtt.MqttError):
                await heard(client, lambda news: False)
            await asyncio.to_thread(broker.start)
            feed.ended(end("m-2"))
            async with subscribed(broker.port) as again:
                return await heard(again, lambda news: "test/match/m-2/end" in news)

    run: Callable[[Coroutine[Any, Any, dict[str, Any]]], dict[str, Any]] = uvloop.run
    assert run(scene())["test/match/m-2/end"]["reason"] == "win"
