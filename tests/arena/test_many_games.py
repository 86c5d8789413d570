"""A bot that is open to all of thirteen games: it is found in each, also while it plays."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from arena.host import client_registry
from bots.client.bot import Bot
from games.nim.rules import Nim
from in_process import hosting, playing
from players import Player, player
from protocol.games import game_names
from protocol.games.spec import GameSpec
from registered_games import registered
from timeouts import WITHIN

MADE = {
    f"nim-{number}": type(f"Nim{number}", (Nim,), {"name": f"nim-{number}"}) for number in range(13 - len(game_names()))
}
"""Games that make thirteen of those there are."""
NAMES = (*game_names(), *MADE)


@pytest.fixture(autouse=True)
def thirteen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for made in MADE.values():
        monkeypatch.setitem(globals(), made.__name__, made)
    monkeypatch.setattr(Bot, "games", NAMES)
    monkeypatch.setattr(client_registry, "LISTING_CACHE_TTL_S", 0.0)
    with registered(*(GameSpec(name, "games.nim", f"{__name__}:{made.__name__}") for name, made in MADE.items())):
        yield


async def listed(asker: Player, playing: int) -> dict[str, Any]:
    """What is told of `random` once it plays so many matches and is found in all games."""
    bot: dict[str, Any] = {}
    async with asyncio.timeout(WITHIN):
        while bot.get("playing", 0) != playing or len(bot.get("seeks", [])) < len(NAMES):
            await asker.send("list")
            bot = next((one for one in (await asker.expect("listing"))["bots"] if one["bot"] == "random"), {})
    return bot


async def test_it_is_open_in_each_and_stays_so_while_it_plays_matches_in_some(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        arena = await stack.enter_async_context(hosting(tmp_path))
        await stack.enter_async_context(playing(arena, "random", "--open"))
        asker = await stack.enter_async_context(player(arena.url, "eve"))
        found = await listed(asker, 0)
        assert sorted(seek["game"] for seek in found["seeks"] if seek["open"]) == sorted(NAMES)
        for number, game in enumerate(NAMES[-6:]):
            one = await stack.enter_async_context(player(arena.url, f"ann-{number}"))
            await one.seek(game, opponent="random", rated=False)
            await one.begin()
            found = await listed(asker, number + 1)
            assert sorted(seek["game"] for seek in found["seeks"] if seek["open"]) == sorted(NAMES)
