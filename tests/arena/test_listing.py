"""Who is here and what is played, as `list` is answered."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from arena.host import client_registry
from arena.host.client_registry import LISTING_CACHE_TTL_S
from arena.lobby.policy import LobbyPolicy
from machine.timestamps import utc_now
from protocol.codec import JSON, MSGPACK
from protocol.display_names import MAX_DISPLAY_LENGTH
from protocol.games import game_class, game_names
from protocol.messages import MAX_SERVER_FRAME_BYTES, ListedBot, ListedMatch, ListedSeek, Listing
from timeouts import WITHIN
from virtual_time import advance

pytestmark = pytest.mark.virtual_time


async def listed(client: Any, after_s: float = LISTING_CACHE_TTL_S) -> dict[str, Any]:
    """What a client is told that asks for a listing after this time: a new one, unless the time is short."""
    await advance(after_s)
    await client.send(type="list")
    told: dict[str, Any] = await client.expect("listing")
    return told


async def test_a_watcher_without_a_name_is_told_who_is_here_what_they_seek_and_what_is_played(serve: Any) -> None:
    served = await serve()
    watcher = await served.spectator()
    assert await listed(watcher) == {"type": "listing", "bots": [], "matches": []}
    first, second, start = await served.begun()
    turn = await first.expect("turn")
    await first.send(type="move", match=start["match"], ply=0, move=turn["legal"][0])
    await second.expect("turn")
    house = await served.enter("house", version="2", client="shell", slots=9)
    await house.send(type="seek", id="1", game="grundy", open=True)
    for number in range(3):
        await house.send(type="seek", id=f"alike {number}", game="nim", config={"heaps": [1]})
    await house.send(type="seek", id="5", game="nim", config={"preset": "classic"}, opponent="Ann")
    await house.send(type="seek", id="6", game="risk-duel")
    await house.send(type="unseek", id="none")
    await house.expect("unseeked")
    await watcher.send(type="watch", match=start["match"])
    told = await listed(watcher)
    assert [(bot["bot"], bot.get("playing")) for bot in told["bots"]] == [("ann", 1), ("bob", 1), ("house", None)]
    assert told["bots"][2] == {
        "bot": "house",
        "version": "2",
        "client": "shell",
        "seeks": [
            {"game": "grundy", "open": True},
            {"game": "nim"},
            {"game": "nim", "preset": "classic", "opponents": ["ann"]},
            {"game": "risk-duel", "preset": "south-america", "rated": True},
        ],
    }
    (match,) = told["matches"]
    assert utc_now(days_ago=1) < match.pop("started") <= utc_now()
    assert match == {
        "match": start["match"],
        "game": "nim",
        "preset": "classic",
        "seats": [player["bot"] for player in start["seats"]],
        "ply": 1,
        "rated": True,
        "watchers": 1,
    }
    await house.wire.close()
    while len((await listed(watcher))["bots"]) > 2:
        pass
    await first.send(type="resign", match=start["match"])
    await second.expect("end")
    assert (await listed(watcher))["matches"] == []


async def test_a_listing_is_made_once_for_all_who_ask_in_a_while(serve: Any) -> None:
    served = await serve()
    ann = await served.enter("ann")
    assert [bot["bot"] for bot in (await listed(ann))["bots"]] == ["ann"]
    bob = await served.enter("bob")
    assert [bot["bot"] for bot in (await listed(bob, LISTING_CACHE_TTL_S - 0.01))["bots"]] == ["ann"]
    assert [bot["bot"] for bot in (await listed(bob, 0.01))["bots"]] == ["ann", "bob"]


async def test_what_is_too_much_is_counted(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, most in (("MAX_LISTED_BOTS", 3), ("MAX_LISTED_MATCHES", 1)):
        monkeypatch.setattr(client_registry, name, most)
    served = await serve(policy=LobbyPolicy(max_listed_seeks=6))
    clients = [await served.enter(f"bot-{number}", slots=9) for number in range(5)]
    matches = []
    for one, other in (clients[:2], clients[2:4]):
        matches.append((await served.sit_down(one, other))["match"])
    for number in range(3):
        await clients[0].send(type="seek", id=f"s{number}", game="nim", opponent=f"nobody-{number}")
    told = await listed(clients[0])
    assert [bot["bot"] for bot in told["bots"]] == ["bot-0", "bot-1", "bot-2"]
    assert len(told["bots"][0]["seeks"]) == 2
    assert [match["match"] for match in told["matches"]] == matches[1:]
    assert (told["more_bots"], told["more_matches"]) == (2, 1)


def test_the_largest_listing_fits_into_a_frame() -> None:
    name, label, display = "n" * 32, "𝔸" * 64, "𝔸" * MAX_DISPLAY_LENGTH
    others = [name] * 5
    seek = ListedSeek(game="risk-campaign", preset="p" * 16, rated=True, open=True, opponents=others, unknown=others)
    policy = LobbyPolicy()
    naming = [seek] * (policy.max_listed_seeks // policy.naming_seek_weight)
    open_ones = [ListedSeek(game=game, open=True, presets=list(game_class(game).presets)) for game in game_names()]
    longest = max(open_ones, key=lambda one: len(msgspec.json.encode(one)))
    seeks = max(naming, [longest] * policy.max_listed_seeks, key=lambda some: len(msgspec.json.encode(some)))
    bot = ListedBot(
        bot=name,
        display=display,
        person=True,
        version=label,
        client=label,
        playing=64,
        seeks=seeks,
        pace_s=3600,
        warming=list(game_names()),
        warming_s=10**6,
    )
    started = "2026-01-31T12:00:00.000Z"
    match = ListedMatch(
        match="m" * 40, game=seek.game, preset=seek.preset, seats=[name] * 6, ply=10**6, started=started, rated=True
    )
    told = Listing(
        bots=[bot] * client_registry.MAX_LISTED_BOTS,
        matches=[msgspec.structs.replace(match, watchers=1000)] * client_registry.MAX_LISTED_MATCHES,
        more_bots=1000,
        more_matches=10**6,
    )
    for codec in (JSON, MSGPACK):
        assert len(codec.encode(told)) < MAX_SERVER_FRAME_BYTES


async def test_a_bot_that_warms_up_is_listed_with_the_games_and_for_how_long(serve: Any) -> None:
    served = await serve()
    house = await served.enter("house", slots=9)
    await house.send(type="warming", games=["risk-duel", "chess", "risk-duel", "nim"])
    assert (await listed(house))["bots"][0] == {
        "bot": "house",
        "warming": ["risk-duel", "nim"],
        "warming_s": int(LISTING_CACHE_TTL_S),
    }
    await advance(7)
    await house.send(type="warming", games=["nim"])
    told = (await listed(house))["bots"][0]
    assert (told["warming"], told["warming_s"]) == (["nim"], int(7 + 2 * LISTING_CACHE_TTL_S))
    await house.send(type="warming")
    assert (await listed(house))["bots"][0] == {"bot": "house"}
    watcher = await served.spectator()
    await watcher.send(type="warming", games=["nim"])
    assert (await watcher.expect("error"))["code"] == "not_allowed"


async def test_of_opponents_those_are_told_who_were_never_here(serve: Any) -> None:
    served = await serve()
    ben = await served.enter("ben")
    await ben.wire.close()
    ann = await served.enter("ann", slots=2)
    for number, opponent in enumerate(("Ben", "Nobody")):
        await ann.send(type="seek", id=str(number), game="nim", opponent=opponent)
    async with asyncio.timeout(WITHIN):
        while True:
            seeks = (await listed(ann))["bots"][-1]["seeks"]
            if any("unknown" in seek for seek in seeks):
                break
    assert [(seek["opponents"], seek.get("unknown")) for seek in seeks] == [(["ben"], None), (["nobody"], ["nobody"])]


async def test_a_bot_whose_pace_is_used_up_is_told_how_long_it_waits(serve: Any) -> None:
    served = await serve(policy=LobbyPolicy(max_matches_per_hour=2))
    clients = [await served.enter("ann"), await served.enter("bob")]
    for _ in range(2):
        start, _ = await served.meet(*clients)
        await clients[0].send(type="resign", match=start["match"])
        for client in clients:
            await client.expect("end")
    for client in clients:
        await client.send(type="seek", id="paced", game="nim")
    for client in clients:
        told = (await listed(client))["bots"]
    assert all(1700 < bot["pace_s"] <= 1800 for bot in told)
