"""Who watches is told everything in order, however many they are; and nobody else waits for that."""

from __future__ import annotations

import asyncio
import json
import time
from itertools import pairwise
from typing import Any

import msgpack
import pytest
from msgspec.structs import replace

from arena.host import broadcast as audiences
from arena.host.broadcast import BATCH_SIZE, Audience, Broadcaster, EncodedMessages
from protocol.codec import JSON, MSGPACK, Codec
from protocol.messages import Event, FromServer, Turn, Unseeked
from timeouts import WITHIN


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Portions follow each other without a pause."""
    monkeypatch.setattr(audiences, "MIN_BATCH_INTERVAL_S", 0.0)
    monkeypatch.setattr(audiences, "IDLE_RATIO", 0)


class Watcher:
    """A peer that remembers what it was shown, and how it came."""

    def __init__(self) -> None:
        self.told: list[FromServer] = []
        self.shown: list[EncodedMessages] = []

    def send(self, message: FromServer) -> None:
        raise AssertionError("what many are told is shown")

    def send_shared(self, shown: EncodedMessages) -> None:
        self.told += shown.messages
        self.shown.append(shown)


def turn(ply: int) -> Turn:
    return Turn(match="m", ply=ply, to_move=0, state={}, events=[], clock=[], digest="")


def plies(watcher: Watcher) -> list[int]:
    return [message.ply for message in watcher.told if isinstance(message, Turn)]


async def quiet() -> None:
    """Return when the event loop has told all there is to tell."""
    for _ in range(100):
        await asyncio.sleep(0)


def crowd(audience: Audience, count: int) -> list[Watcher]:
    watchers = [Watcher() for _ in range(count)]
    for watcher in watchers:
        audience.add_spectator(watcher)
    return watchers


async def test_the_rest_after_a_portion_is_many_times_as_long_as_it_took(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(audiences, "IDLE_RATIO", 15)
    audience = Audience(Broadcaster(), "m")
    told: list[tuple[float, float]] = []
    everyone = asyncio.Event()

    class Slow(Watcher):
        def send_shared(self, shown: EncodedMessages) -> None:
            began = time.monotonic()
            time.sleep(0.001)
            told.append((began, time.monotonic()))
            if len(told) == 2 * BATCH_SIZE:
                everyone.set()

    for _ in range(2 * BATCH_SIZE):
        audience.add_spectator(Slow())
    audience.publish(turn(1))
    first, second = told[0][0], told[BATCH_SIZE - 1][1]
    async with asyncio.timeout(WITHIN):
        await everyone.wait()
    assert told[BATCH_SIZE][0] - second >= 15 * (second - first)


async def test_many_are_told_in_portions_with_a_turn_of_the_loop_between() -> None:
    audience = Audience(Broadcaster(), "m")
    watchers = crowd(audience, 3 * BATCH_SIZE)
    audience.publish(turn(1))
    told = []
    for _ in range(8):
        told.append(sum(bool(watcher.told) for watcher in watchers))
        await asyncio.sleep(0)
    assert {after - before for before, after in pairwise(told)} == {0, BATCH_SIZE}
    assert (told[0], told[-1]) == (BATCH_SIZE, 3 * BATCH_SIZE)


async def test_between_portions_there_is_time_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, pauses = asyncio.get_running_loop(), []
    monkeypatch.setattr(audiences, "MIN_BATCH_INTERVAL_S", 0.003)
    monkeypatch.setattr(loop, "call_later", lambda pause, call: pauses.append((pause, call)) or pauses)
    first, second = Audience(rounds := Broadcaster(), "m"), Audience(rounds, "n")
    watchers = crowd(first, BATCH_SIZE), crowd(second, BATCH_SIZE)
    first.publish(turn(1))
    second.publish(turn(1))
    assert [bool(told.told) for (told, *_) in watchers] == [True, False]
    ((pause, call),) = pauses
    assert pause == 0.003
    call()
    assert watchers[1][-1].told


async def test_everyone_is_told_everything_in_order_and_what_is_shown_meanwhile_at_once() -> None:
    audience = Audience(Broadcaster(), "m")
    watchers = crowd(audience, 5 * BATCH_SIZE)
    for ply in range(20):
        audience.publish(turn(ply))
        await asyncio.sleep(0)
    await quiet()
    assert [plies(watcher) for watcher in watchers] == [list(range(20))] * len(watchers)
    assert len(watchers[0].shown) < 10


async def test_two_large_audiences_are_told_in_turn() -> None:
    rounds = Broadcaster()
    audiences = [Audience(rounds, name) for name in "ab"]
    crowds = [crowd(audience, 4 * BATCH_SIZE) for audience in audiences]
    for audience in audiences:
        audience.publish(turn(1))
    counts = []
    for _ in range(20):
        counts.append([sum(bool(watcher.told) for watcher in watchers) // BATCH_SIZE for watchers in crowds])
        await asyncio.sleep(0)
    assert all(abs(a - b) <= 2 for a, b in counts)
    assert counts[-1] == [4, 4]


async def test_who_comes_during_a_round_is_told_what_follows_and_who_goes_nothing_more() -> None:
    audience = Audience(Broadcaster(), "m")
    watchers = crowd(audience, 2 * BATCH_SIZE)
    audience.publish(turn(1))
    audience.publish(turn(2))
    late = crowd(audience, 1)[0]
    audience.remove_spectator(watchers[-1])
    audience.publish(turn(3))
    await quiet()
    assert plies(late) == [3]
    assert plies(watchers[-1]) == []
    assert plies(watchers[0]) == plies(watchers[-2]) == [1, 2, 3]


async def test_a_message_is_made_ready_once_for_each_encoding() -> None:
    made: list[Any] = []

    def framed(frame: Any) -> bytes:
        made.append(frame)
        return frame if isinstance(frame, bytes) else frame.encode()

    class Client(Watcher):
        def __init__(self, codec: Codec) -> None:
            super().__init__()
            self.codec = codec

        def send_shared(self, shown: EncodedMessages) -> None:
            self.ready = shown.encode(self.codec, framed)

    audience = Audience(Broadcaster(), "m")
    clients = [Client(codec) for codec in (MSGPACK, JSON) for _ in range(BATCH_SIZE)]
    for client in clients:
        audience.add_spectator(client)
    audience.publish(turn(1))
    await quiet()
    assert len(made) == 2
    assert len({id(client.ready) for client in clients}) == 2


async def test_one_that_can_not_be_told_is_its_own_trouble(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Watcher):
        def send_shared(self, shown: EncodedMessages) -> None:
            raise ConnectionError("gone")

    audience = Audience(Broadcaster(), "m-1")
    audience.add_spectator(Broken())
    other = crowd(audience, 1)[0]
    audience.publish(turn(1))
    assert plies(other) == [1]
    assert "match m-1: a message could not be sent to a spectator" in caplog.text


async def test_who_reports_is_told_at_once_while_others_wait_for_their_rounds() -> None:
    audience = Audience(rounds := Broadcaster(), "m")
    crowd(other := Audience(rounds, "n"), 3 * BATCH_SIZE)
    (watcher,) = crowd(audience, 1)
    reported: list[FromServer] = []
    audience.add_reporter(reported.append)
    other.publish(turn(1))
    audience.publish(turn(1))
    audience.publish(turn(2))
    assert (plies(watcher), reported) == ([], [turn(1), turn(2)])
    assert len(audience.spectators) == 1
    await quiet()
    assert plies(watcher) == [1, 2]


async def test_a_report_that_fails_is_its_own_trouble(caplog: pytest.LogCaptureFixture) -> None:
    def fail(message: FromServer) -> None:
        raise RuntimeError("no feed")

    audience = Audience(Broadcaster(), "m-1")
    audience.add_reporter(fail)
    (watcher,) = crowd(audience, 1)
    audience.publish(turn(1))
    assert plies(watcher) == [1]
    assert "match m-1: a message could not be reported" in caplog.text


async def test_what_is_neither_start_nor_end_does_not_reach_a_subscriber() -> None:
    audience = Audience(Broadcaster(), "m")
    news = Watcher()
    audience.broadcaster.subscribers[news] = None
    audience.publish(Unseeked(id="x"))
    assert news.told == []


async def test_watchers_in_both_encodings_see_a_match_from_start_to_end(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audiences, "BATCH_SIZE", 4)
    served = await serve()
    first, second, start, _ = await served.pair(config={"heaps": [9, 9]})
    watchers = []
    for number in range(10):
        encoding = ("arena.v1.json", "arena.v1.msgpack")[number % 2]
        wire = (await served.connect(subprotocols=[encoding])).wire
        write = json.dumps if number % 2 == 0 else msgpack.packb
        await wire.send(write({"type": "hello"}))
        await wire.send(write({"type": "watch", "match": start["match"]}))
        watchers.append((wire, json.loads if number % 2 == 0 else msgpack.unpackb))
    stories = []
    for wire, read in watchers:
        assert read(await wire.recv())["type"] == "welcome"
        stories.append([read(await wire.recv())])
    for client in (first, second):
        await client.ready(start)
    end, _ = await asyncio.gather(first.play(), second.play())
    for (wire, read), story in zip(watchers, stories, strict=True):
        while story[-1]["type"] != "end":
            story.append(read(await wire.recv()))
    assert all(story == stories[0] for story in stories)
    assert [message["type"] for message in stories[0]] == ["start", *["turn"] * end["ply"], "end"]
    assert [message["ply"] for message in stories[0][1:]] == list(range(end["ply"] + 1))


async def test_of_turns_that_wait_for_long_the_newest_stands_for_the_last_with_their_events(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(audiences, "MAX_QUEUED_MESSAGES", 8)
    monkeypatch.setattr(audiences, "MAX_MERGED_EVENTS", 5)
    audience = Audience(rounds := Broadcaster(), "m")
    (early,) = crowd(audience, 1)
    rounds._is_busy = True
    for ply in range(20):
        audience.publish(replace(turn(ply), events=[Event(ply=ply, seat=0)]))
    (late,) = crowd(audience, 1)
    for ply in range(20, 23):
        audience.publish(replace(turn(ply), events=[Event(ply=ply, seat=0)]))
    rounds._send_batch()
    await quiet()
    assert plies(early) == [*range(7), 19, 22]
    assert [event.ply for event in early.told[7].events] == [15, 16, 17, 18, 19]  # type: ignore[union-attr]
    assert plies(late) == [22]
    assert [event.ply for event in late.told[0].events] == [20, 21, 22]  # type: ignore[union-attr]
