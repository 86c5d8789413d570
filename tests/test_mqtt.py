"""Live events end to end: an arena and its bots, a real Mosquitto, and brokers that fail."""

from __future__ import annotations

import asyncio
import json
import os
import re
import select
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiomqtt
import msgspec
import pytest

import zygote
from arena.mqtt_connection import MqttConnectSpec, Publication
from commands import call
from in_process import hosting, play
from processes import REPOSITORY, RunningArena, serving
from timeouts import WITHIN
from volumes import examples

MATCHES = examples(6, nightly=50)


class Listener:
    """A subscriber to everything under a prefix: what it heard of each topic, in order."""

    def __init__(self, client: aiomqtt.Client) -> None:
        self._client = client
        self.heard: dict[str, list[Any]] = {}

    async def until(self, done: Callable[[Listener], Any]) -> None:
        """Listen until `done(self)`. Raises `TimeoutError`, or `MqttError` when the broker goes."""
        async with asyncio.timeout(WITHIN):
            while not done(self):
                item = await anext(self._client.messages)
                assert isinstance(item.payload, bytes)
                self.heard.setdefault(str(item.topic), []).append(json.loads(item.payload))

    def last(self, topic: str) -> Any:
        """The newest payload of a topic under the prefix; None if there is none."""
        return self.heard.get(f"club/arena/{topic}", [None])[-1]

    def of_matches(self, kind: str) -> dict[str, list[Any]]:
        """Match id -> what was heard of its `kind`: start, turn or end."""
        parts = [(topic.split("/"), payloads) for topic, payloads in self.heard.items()]
        return {topic[3]: payloads for topic, payloads in parts if topic[2] == "match" and topic[4] == kind}

    def matches_on_board(self) -> list[int]:
        """How many matches each bot of the newest leaderboard has played."""
        board = self.last("leaderboard/nim/classic")
        return [] if board is None else [row["played"] for row in board["rows"]]


@asynccontextmanager
async def listening(port: int) -> AsyncIterator[Listener]:
    async with aiomqtt.Client("127.0.0.1", port) as client:
        await client.subscribe("club/arena/#", qos=1)
        yield Listener(client)


async def play_many(arena: RunningArena) -> None:
    async with asyncio.TaskGroup() as group:
        for name in ("perfect", "random"):
            group.create_task(play(arena, name, MATCHES, "--slots", str(MATCHES)))


def matches(arena: RunningArena) -> list[dict[str, Any]]:
    code, out, err = call("arena", "matches", "--data", str(arena.data), "--json")
    assert (code, err) == (0, "")
    found: list[dict[str, Any]] = json.loads(out)
    return found


async def test_a_subscriber_sees_many_matches_whole_and_the_leaderboard(broker: Any, tmp_path: Path) -> None:
    async with listening(broker.port) as listener:
        async with hosting(tmp_path / "data", "--mqtt", broker.url("club/arena")) as arena:
            await listener.until(lambda it: it.last("status"))
            assert listener.last("status") == {"online": True}
            await play_many(arena)
            await listener.until(lambda it: it.matches_on_board() == [MATCHES, MATCHES])
        await listener.until(lambda it: it.last("status") == {"online": False})
    starts, turns, ends = (listener.of_matches(kind) for kind in ("start", "turn", "end"))
    assert len(starts) == MATCHES
    assert starts.keys() == turns.keys() == ends.keys()
    assert all(len(heard) == 1 for heard in [*starts.values(), *ends.values()])
    for match, (end,) in ends.items():
        assert {seat["bot"] for seat in starts[match][0]["seats"]} == {"perfect", "random"}
        assert starts[match][0].keys().isdisjoint({"seat", "seek"})
        assert [turn["ply"] for turn in turns[match]] == list(range(end["ply"]))
        assert all(turn.keys().isdisjoint({"legal", "options", "nonces"}) for turn in turns[match])
        assert all(seat["mu_after"] != seat["mu_before"] for seat in end["seats"])


@pytest.mark.ci
async def test_who_comes_after_all_is_over_gets_the_last_leaderboard(broker: Any, tmp_path: Path) -> None:
    async with hosting(tmp_path / "data", "--mqtt", broker.url("club/arena")) as arena:
        await play_many(arena)
        async with listening(broker.port) as listener:
            await listener.until(lambda it: it.matches_on_board() == [MATCHES, MATCHES])
    async with listening(broker.port) as listener:
        await listener.until(lambda it: it.last("status") and it.last("leaderboard/nim/classic"))
    assert listener.last("status") == {"online": False}
    assert {row["bot"] for row in listener.last("leaderboard/nim/classic")["rows"]} == {"perfect", "random"}
    assert listener.matches_on_board() == [MATCHES, MATCHES]
    (documented,) = re.findall(r"^```json\n(.*)\n```", (REPOSITORY / "docs" / "mqtt.md").read_text(), re.M)
    assert listener.last("leaderboard/nim/classic")["rows"][0].keys() == json.loads(documented)["rows"][0].keys()
    assert listener.heard.keys() == {"club/arena/status", "club/arena/leaderboard/nim/classic"}


async def test_a_server_that_is_killed_is_reported_offline_by_its_last_will(broker: Any, tmp_path: Path) -> None:
    address = broker.url("club/arena")
    async with listening(broker.port) as listener, serving(tmp_path / "data", "--mqtt", address) as arena:
        await listener.until(lambda it: it.last("status") == {"online": True})
        arena.process.kill()
        await listener.until(lambda it: len(it.heard["club/arena/status"]) > 1)
    assert listener.heard == {"club/arena/status": [{"online": True}, {"online": False}]}


async def test_a_server_that_goes_with_words_of_its_publisher_unread_is_reported_offline_too(broker: Any) -> None:
    will = Publication("club/arena/status", b'{"online":false}', 1, False)
    order = MqttConnectSpec(
        host="127.0.0.1",
        port=broker.port,
        identifier="publisher",
        user=None,
        password=None,
        will=will,
        within=WITHIN,
        keepalive=600,
    )
    server, line = socket.socketpair()
    async with listening(broker.port) as listener:
        publisher = await zygote.async_program(["arena.mqtt_publisher"], env=os.environ, stdin=line, stdout=line)
        line.close()
        server.sendall(msgspec.json.encode(order) + b"\n")
        await asyncio.to_thread(select.select, [server], [], [], WITHIN)  # it says that the broker has accepted it
        server.close()
        await listener.until(lambda it: it.last("status") == {"online": False})
        assert await publisher.wait() == 1


async def test_many_matches_finish_with_the_broker_killed_half_way(broker: Any, tmp_path: Path) -> None:
    async with serving(tmp_path / "data", "--mqtt", broker.url("club/arena")) as arena:
        async with asyncio.TaskGroup() as group:
            group.create_task(play(arena, "random", MATCHES, "--slots", str(MATCHES // 2)))
            half = group.create_task(play(arena, "perfect", MATCHES // 2, "--slots", str(MATCHES // 2)))
            async with listening(broker.port) as listener:
                await listener.until(lambda it: len(it.of_matches("end")) >= MATCHES // 2 - 1)
                broker.kill()
                with pytest.raises(aiomqtt.MqttError):
                    await listener.until(lambda it: False)
            await half
            group.create_task(play(arena, "perfect", MATCHES // 2, "--slots", str(MATCHES // 2)))
        assert [match["rated"] for match in matches(arena)] == [True] * MATCHES
        await asyncio.to_thread(broker.start)
        async with listening(broker.port) as listener:
            await listener.until(
                lambda it: it.last("status") == {"online": True} and it.matches_on_board() == [MATCHES, MATCHES]
            )


async def test_an_arena_that_starts_again_knows_its_leaderboard(broker: Any, tmp_path: Path) -> None:
    async with hosting(tmp_path / "data") as arena:
        await asyncio.gather(play(arena, "perfect", 2), play(arena, "random", 2))
    async with hosting(tmp_path / "data", "--mqtt", broker.url("club/arena")), listening(broker.port) as listener:
        await listener.until(lambda it: it.last("leaderboard/nim/classic"))
    async with listening(broker.port) as later:  # when only the broker still knows it
        await later.until(lambda it: it.last("leaderboard/nim/classic"))
    for heard in (listener, later):
        board = heard.last("leaderboard/nim/classic")
        assert {row["bot"]: row["played"] for row in board["rows"]} == {"perfect": 2, "random": 2}
        assert heard.of_matches("end") == {}


@pytest.mark.parametrize("how", ["kill", pytest.param("terminate", marks=pytest.mark.ci)])
async def test_ends_that_the_broker_has_not_got_when_the_server_ends_come_after_the_next_start(
    broker: Any, tmp_path: Path, how: str
) -> None:
    """That it is absent slows no match, and is told once."""
    options = ("--mqtt", broker.url("club/arena"))
    broker.kill()
    async with serving(tmp_path / "data", *options) as arena:
        await asyncio.gather(play(arena, "perfect", 3), play(arena, "random", 3))
        await arena.says("can't be reached")
        getattr(arena.process, how)()
        await asyncio.to_thread(arena.process.wait, WITHIN)
    assert len([line for line in arena.said if "can't be reached" in line]) == 1
    assert "Traceback" not in "".join(arena.said)
    await asyncio.to_thread(broker.start)
    stored = {match["match"]: match for match in matches(arena)}
    assert len(stored) == 3
    async with listening(broker.port) as listener, hosting(tmp_path / "data", *options):
        await listener.until(lambda it: it.of_matches("end").keys() >= stored.keys())
    for match, (end, *_) in listener.of_matches("end").items():
        assert end["digest"] == stored[match]["digest"]
        assert all(seat["mu_after"] != seat["mu_before"] for seat in end["seats"])
