"""Takes a picture of every page, light and dark, on a desktop and on a phone, for the README and the gallery.

The matches are built by tests/library.py and are the same each time. One more match is kept in progress.
"""

from __future__ import annotations

import asyncio
import io
import sys
import tempfile
from contextlib import AsyncExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.async_api import Browser, Page, expect

from arena.store.store import Store
from bots import Bot, Turn
from bots.reference.perfect import Perfect
from bots.reference.random_bot import RandomBot
from bots.reference.search_bots import AlphaBeta, Greedy
from chromium import DESKTOP, PHONE, running, visit
from house import House, open_house
from library import Entrant, Library
from players import Player, player

HERE = Path(__file__).parent
COLOURS = 256
HELD_AT = 6
"""The ply at which the match in progress is kept."""


class Careless(Bot):
    """Plays perfectly, except that it plays the fraction `share` of its moves at random."""

    def __init__(self, name: str, share: float) -> None:
        super().__init__(name)
        self._share = share
        self._perfect, self._random = Perfect(name), RandomBot(name)

    def choose(self, turn: Turn) -> Any:
        return (self._random if turn.random.random() < self._share else self._perfect).choose(turn)


CLASS = [
    Entrant("perfect", Perfect, "0.1.0", 0.05),
    Entrant("ada", partial(Careless, share=0.1), "3.2", 0.4),
    Entrant("carl", partial(Careless, share=0.25), "1.4", 0.9),
    Entrant("emmy", partial(Careless, share=0.4), "2.0", 0.2),
    Entrant("blaise", partial(Careless, share=0.6), "1.1", 1.4),
    Entrant("felix", partial(Careless, share=0.8), "0.3", 0.6),
    Entrant("random", RandomBot, "0.1.0", 0.03),
]
GENERALS = [
    Entrant("deep", partial(AlphaBeta, nodes=400), "0.1.0", 1.2),
    Entrant("greedy", Greedy, "0.1.0", 0.2),
    Entrant("random", RandomBot, "0.1.0", 0.03),
    Entrant("ada", Greedy, "3.2", 0.4),
    Entrant("emmy", RandomBot, "2.0", 0.2),
    Entrant("felix", RandomBot, "0.3", 0.6),
]


def fill(store: Store) -> dict[str, str]:
    """Fill the store with the matches of a class in a term. Return the ids of the matches and of the tournament to
    show.
    """
    library = Library(store)
    for number in range(150):
        one, other = CLASS[number % 7], CLASS[(number * 3 + number // 7 + 1) % 7]
        if one is not other:
            ends = {17: "sleep", 40: "cheat", 66: "leave", 90: "resign"}.get(number, "")
            library.play("nim", [one, other._replace(ends=ends, at=3)])
    for number in range(12):
        one, other = GENERALS[number % 4], GENERALS[(number + 1 + number // 4) % 4]
        if one is not other:
            library.play("risk-duel", [one, other])
    found = {"tournament": library.tournament("nim", CLASS, 2)}
    found["campaign"] = library.play("risk-campaign", GENERALS, {"preset": "world", "max_rounds": 8})
    found["duel"] = library.play("risk-duel", [GENERALS[0], GENERALS[1]], {"preset": "europe"})
    found["nim"] = library.play("nim", [CLASS[0], CLASS[3]])
    return found


async def hold(house: House, stack: AsyncExitStack) -> tuple[str, Player]:
    """Begin a match and keep it at a ply, and connect a bot that plays any opponent. Return the match's id and this
    bot.
    """
    bots = [await stack.enter_async_context(player(house.url, name, version="1")) for name in ("turing", "lovelace")]
    for bot in bots:
        await bot.seek("risk-duel", config={"preset": "south-america"}, rated=False)
    starts = [await bot.begin() for bot in bots]
    seats = {start["seat"]: bot for start, bot in zip(starts, bots, strict=True)}
    for ply in range(HELD_AT):
        await seats[ply % 2].move(await seats[ply % 2].expect("turn"))
    host = await stack.enter_async_context(player(house.url, "host", follow=True, version="1", slots=8))
    await host.seek("nim", open=True)
    return str(starts[0]["match"]), host


async def pictures(browser: Browser, house: House, found: dict[str, str], live: str, host: Player) -> None:
    """Take a picture of every page in both themes and both sizes."""
    addresses = {
        "home": "/",
        "leaderboard": "/leaderboard/nim/classic",
        "bot": "/bots/carl",
        "matches": "/matches",
        "match-nim": f"/matches/{found['nim']}#ply=4",
        "match-duel": f"/matches/{found['duel']}#ply=20",
        "match-campaign": f"/matches/{found['campaign']}#ply=60",
        "match-live": f"/matches/{live}",
        "tournaments": "/tournaments",
        "tournament": f"/tournaments/{found['tournament']}",
        "play": "/play",
        "connect": "/connect",
        "api": "/api",
    }
    for theme in ("light", "dark"):
        for size_name, size in (("desktop", DESKTOP), ("phone", PHONE)):
            async with visit(browser, house.page, size, theme, reduced_motion="reduce") as seen:
                for name, address in addresses.items():
                    page = await seen.open(address)
                    await settle(page, name)
                    await take(page, f"{name}-{size_name}-{theme}")
                    await page.close()
                page = await at_the_board(
                    await seen.open(f"/play?game=nim&opponent={host.name}"), host, size_name, theme
                )
                await take(page, f"play-nim-{size_name}-{theme}")


async def at_the_board(page: Page, host: Player, *words: str) -> Page:
    """Return a person's page with a match of nim on it."""
    await page.locator("#bot").fill("-".join(("paula", *words)))
    await page.get_by_role("button", name="Play", exact=True).click()
    start = await host.begin()
    turn = await host.expect("turn")
    if turn["to_move"] == start["seat"]:
        await host.move(turn)
    await expect(page.locator(".status")).to_contain_text("Your move.")
    await host.seek("nim", open=True)
    return page


async def settle(page: Page, name: str) -> None:
    """Wait until scripts have drawn the page."""
    if name.startswith("match-"):
        await expect(page.locator(".board")).to_be_visible()
    if name == "home":
        await expect(page.locator("#stage .board")).to_be_visible()
    if name == "matches":
        await expect(page.get_by_text("turing").first).to_be_visible()
    await page.wait_for_load_state("networkidle")


async def take(page: Page, name: str) -> None:
    """Take a picture in few colours."""
    picture = Image.open(io.BytesIO(await page.screenshot(animations="disabled", caret="hide"))).convert("RGB")
    reduced = picture.quantize(COLOURS, kmeans=8, dither=Image.Dither.NONE)
    reduced.save(HERE / f"{name}.png", optimize=True)


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        with closing(Store.open(Path(folder) / "arena.db")) as store:
            found = fill(store)
        async with (
            running() as browser,
            open_house(Path(folder), "--clock", "600+5", "--keep-unrated-records", "0") as house,
            AsyncExitStack() as stack,
        ):
            await pictures(browser, house, found, *await hold(house, stack))


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
