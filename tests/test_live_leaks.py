"""What a stranger gets of a live match by each way there is, over real sockets: no card, no sealed move."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import aiomqtt
import msgspec

from arena.operator.client import connect_to_folder
from arena.operator.status import MAX_ENTRIES, ServerStatus, StatusRequest
from in_process import hosting
from independent_client import Map
from players import Player, player
from processes import RunningArena
from timeouts import WITHIN
from web_client import Answer, answer

ADDRESSES = ("", "/result", "/grades", "/record.jsonl", "/record.jsonl.gz", "/match.html")
NOTE = "nobody reads this before the end"


class Live(NamedTuple):
    """A match under way over real sockets, its two players by seat, and who watches."""

    arena: RunningArena
    seats: list[Player]
    watcher: Player
    broker: aiomqtt.Client
    match: str

    async def by_http(self) -> list[Answer]:
        """What the API and the page say of the match."""
        page = await self.arena.page()
        under = [f"{page}/api/v1/matches/{self.match}{address}" for address in ADDRESSES]
        asked = [*under, f"{page}/api/v1/matches", f"{page}/matches/{self.match}", f"{page}/"]
        return [await asyncio.to_thread(answer, address) for address in asked]

    async def listed(self) -> list[Map]:
        await self.watcher.send("list")
        matches: list[Map] = (await self.watcher.expect("listing"))["matches"]
        return matches

    async def status(self) -> list[Map]:
        """What the operator's status says of the matches."""
        async with connect_to_folder(self.arena.data) as operator:
            status = await operator.ask(StatusRequest(most=MAX_ENTRIES), ServerStatus)
        matches: list[Map] = msgspec.to_builtins(status.matches)
        return matches

    async def published(self, kind: str) -> list[Map]:
        """What MQTT has told, up to a message of this kind."""
        told: list[Map] = []
        async with asyncio.timeout(WITHIN):
            async for item in self.broker.messages:
                assert isinstance(item.payload, bytes)
                told += [json.loads(line) for line in item.payload.splitlines()]
                if str(item.topic).endswith(f"/{kind}"):
                    break
        return told


@asynccontextmanager
async def live(tmp_path: Path, broker: Any, game: str, config: Map) -> AsyncIterator[Live]:
    options = ("--mqtt", broker.url("club"), "--web-port", "0", "--log-level", "debug")
    async with (
        hosting(tmp_path / "data", *options) as arena,
        aiomqtt.Client("127.0.0.1", broker.port) as subscriber,
        player(arena.url, "ann") as ann,
        player(arena.url, "bob", follow=True) as bob,
        player(arena.url, "eve") as eve,
    ):
        await subscriber.subscribe("club/match/#", qos=1)
        for one in (ann, bob):
            await one.seek(game, config=config, rated=False)
        start = await ann.begin()
        await bob.begin()
        await eve.send("watch", match=start["match"])
        seats = [ann, bob] if start["seat"] == 0 else [bob, ann]
        yield Live(arena, seats, eve, subscriber, start["match"])


def cards_told(messages: list[Map]) -> list[Any]:
    """Every private card in what was told, in states and deals."""
    states = [message["state"]["cards"] for message in messages if message.get("state", {}).get("cards")]
    deals = [
        event["move"]["cards"]
        for m in messages
        for event in m.get("events", [])
        if "cards" in (event.get("move") or {})
    ]
    return [card for cards in (*states, *deals) for card in cards]


async def test_a_stranger_gets_no_card_and_no_note_of_a_live_hand_and_everything_afterwards(
    broker: Any, tmp_path: Path
) -> None:
    async with live(tmp_path, broker, "leduc", {"hands": 1}) as it:
        first = await it.seats[0].expect("turn")
        await it.seats[0].move(first, {"do": "bet"}, info={"value": 0.5, "note": NOTE})
        while (turn := await it.seats[1].expect("turn"))["ply"] < 2:
            pass
        while (await it.watcher.expect("turn"))["ply"] < 2:
            pass
        assert first["state"]["cards"][0] is not None
        assert first["state"]["cards"][1] is None
        assert turn["state"]["cards"][0] is None
        told = [*it.watcher.heard, *await it.published("turn")]
        assert any(message["type"] == "turn" for message in told)
        assert set(cards_told(told)) == {None}
        pages = await it.by_http()
        assert [page.status for page in pages[: len(ADDRESSES)]] == [404] * len(ADDRESSES)
        said = [*(page.body for page in pages), json.dumps(await it.status()).encode(), "".join(it.arena.said).encode()]
        assert not any(b'"cards"' in text or NOTE.encode() in text for text in said)
        assert all(NOTE not in json.dumps(m) for m in [*told, *it.seats[1].heard])
        await it.seats[1].move(turn, {"do": "fold"})
        end = await it.watcher.expect("end")
        assert None not in cards_told((await it.published("end"))[-1:])
        page = await it.arena.page()
        record = await asyncio.to_thread(answer, f"{page}/api/v1/matches/{it.match}/record.jsonl.gz")
        assert NOTE.encode() in gzip.decompress(record.body)
        assert end["seed"]


async def test_a_sealed_move_makes_no_frame_and_changes_no_answer(broker: Any, tmp_path: Path) -> None:
    async with live(tmp_path, broker, "dilemma", {"rounds": 2}) as it:
        turn = await it.seats[0].expect("turn")
        await it.seats[1].expect("turn")
        await it.watcher.expect("turn")
        before = await it.listed(), [page.body for page in await it.by_http()]
        clocks = [match["to_move"] for match in await it.status()]
        await it.seats[0].move(turn, {"choose": 1})
        await it.seats[0].send("move", match=it.match, ply=0, move={"choose": 0})
        rejected = await it.seats[0].expect("rejected")  # the one before it was accepted, then
        assert rejected["message"] == "you have already moved at ply 0: the others still have to move"
        assert (await it.listed(), [page.body for page in await it.by_http()]) == before
        (status,) = await it.status()
        assert clocks == [status["to_move"]] == [None]
        assert status["clock_ms"] == turn["clock"]
        heard = len(it.seats[1].heard), len(it.watcher.heard)
        for one in (it.seats[1], it.watcher):
            await one.send("unseek", id="nothing")
            await one.expect("unseeked")
        assert (len(it.seats[1].heard), len(it.watcher.heard)) == (heard[0] + 1, heard[1] + 1)
        await it.seats[1].move(turn, {"choose": 0})
        told = await it.published("turn")
        while not any(message.get("ply") == 1 for message in told):
            told += await it.published("turn")
        assert [message["ply"] for message in told if message["type"] == "turn"] == [0, 1]
        assert "choose" not in "".join(it.arena.said)


async def test_a_move_in_a_match_of_others_is_refused_in_a_line(broker: Any, tmp_path: Path) -> None:
    async with live(tmp_path, broker, "dilemma", {"rounds": 1}) as it:
        await it.watcher.send("move", match=it.match, ply=0, move={"choose": 0})
        rejected = await it.watcher.expect("rejected")
        assert rejected["code"] == "no_such_match"
        assert "\n" not in rejected["message"]
