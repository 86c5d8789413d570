"""What an arena has its feed tell a real Mosquitto: ends above all, none of which is lost."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from typing import Any

import aiomqtt
import pytest

from arena.feed import MESSAGE_OVERHEAD_BYTES, Feed, Outbox
from arena.store.dialect import execute
from arena.store.feed_position import feed_range, match_ends_between, switch_feed
from arena.store.store import Reader
from patience import PATIENT_FEED
from timeouts import WITHIN


async def served_with(serve: Any, feed: Feed) -> Any:
    """An arena with this feed, which doesn't run."""
    served = await serve(feed=feed)
    served.store.write(switch_feed, on=True)
    return served


async def play(served: Any, count: int) -> list[str]:
    """Matches of a single move or two, one after the other: which."""
    bots = [await served.enter("ann"), await served.enter("bob")]
    played = []
    for _ in range(count):
        for bot in bots:
            await bot.send(type="seek", id="s1", game="nim", config={"heaps": [1]}, rated=False)
        ends = await asyncio.gather(*(bot.play() for bot in bots))
        played.append(ends[0]["match"])
    return played


async def ends(port: int, feed: Feed, matches: list[str]) -> dict[str, dict[str, Any]]:
    """What a subscriber hears from a feed that begins to run: the ends, once there is one of each of these matches."""
    heard: dict[str, dict[str, Any]] = {}
    async with asyncio.timeout(WITHIN), aiomqtt.Client("127.0.0.1", port) as client:
        await client.subscribe("test/match/+/end", qos=1)
        running = asyncio.create_task(feed.run())
        while not heard.keys() >= set(matches):
            item = await anext(client.messages)
            assert isinstance(item.payload, bytes)
            heard[item.topic.value.split("/")[2]] = json.loads(item.payload)
        await feed.close()
        await running
    return heard


def missing(served: Any) -> list[str]:
    """The matches whose ends the broker has not got, as the store knows."""
    with closing(Reader.open(served.data / "arena.db")) as store:
        return [match for _, match in store.read(match_ends_between, *store.read(feed_range), 100)]


async def test_ends_that_there_was_no_room_for_come_when_the_broker_is_back_as_the_store_then_knows(
    serve: Any, broker: Any
) -> None:
    feed = Feed(broker.url(), Outbox(max_durable_bytes=3 * MESSAGE_OVERHEAD_BYTES + 2000), timeouts=PATIENT_FEED)
    served = await served_with(serve, feed)
    matches = await play(served, 6)
    assert len(feed.outbox) < 6 + 6, "a turn of each, and few of the ends"
    assert missing(served) == matches
    assert (await ends(broker.port, feed, matches)).keys() == set(matches)
    await served.arena.close()
    assert missing(served) == []


async def test_an_end_that_cannot_be_read_holds_up_no_other(
    serve: Any, broker: Any, caplog: pytest.LogCaptureFixture
) -> None:
    played = await served_with(serve, Feed(broker.url(), timeouts=PATIENT_FEED))
    damaged, sound = await play(played, 2)
    await played.stop()
    again = Feed(broker.url(), timeouts=PATIENT_FEED)
    played.options["feed"] = again
    await played.begin()
    played.store.write(
        lambda connection: execute(connection, "UPDATE records SET data = :data WHERE match = 1", {"data": b"x"})
    )
    await played.arena.start_feed()
    assert (await ends(broker.port, again, [sound])).keys() == {sound}
    await played.arena.close()
    assert missing(played) == []
    assert f"the end of match {damaged} can't be published" in caplog.text
