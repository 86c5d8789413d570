"""The page of a match, stored, live or played, in windows of all sizes: the whole board and the prompt are in sight."""

from __future__ import annotations

import asyncio
import re
import secrets
from contextlib import AsyncExitStack

import pytest
from playwright.async_api import Page, expect

from chromium import Visit, barriers, resize, sideways
from house import House, sit_down
from players import Player, player
from volumes import IS_NIGHTLY

pytestmark = pytest.mark.asyncio(loop_scope="session")

DESKS = ((1280, 800), (1440, 900), (1100, 768))
PHONE = (390, 844)
SMALL_BOARDS = ("nim", "grundy", "tictactoe", "risk-duel", "dilemma", "kuhn", "leduc")
"""Games of which a phone shows board and prompt together."""
ALL_TABS = ("campaign", "dilemma", "leduc")
"""Games that have between them every kind of tab: with dice, with rounds, and with hands."""
BOARD_PARTS = ".land, .counter, .cell, .matrix td, .card, .history"
PARTS = f".board, .board :is({BOARD_PARTS}), .timeline, .prompt, .prompt :is(button, select, input, .die)"
OUTSIDE = """(parts) => {
  const hidden = (part) => part.getClientRects().length === 0 || getComputedStyle(part).visibility === "hidden";
  return [...document.querySelectorAll(parts)].filter((part) => !hidden(part)).filter((part) => {
    const { left, top, right, bottom } = part.getBoundingClientRect();
    const prompt = part.parentElement.closest(".prompt");
    const low = Math.min(innerHeight, prompt === null ? innerHeight : prompt.getBoundingClientRect().bottom);
    return left < 0 || top < 0 || right > innerWidth + 1 || bottom > low + 1;
  }).map((part) => part.outerHTML.slice(0, 120));
}"""
SCROLLS = "document.documentElement.scrollHeight > innerHeight"
LOG = "document.querySelector('.match > .tabbed').getBoundingClientRect().height"
LIST_FITS = "[...document.querySelectorAll('div.moves')].every((list) => list.scrollWidth <= list.clientWidth)"
AS_MANY_ATTACKS_AS_THERE_CAN_BE = """() => {
  const list = document.querySelector(".prompt .choosing .choosing");
  while (list.children.length < 6) list.append(list.lastElementChild.cloneNode(true));
  for (const attack of list.children) attack.textContent = "Attack Northern Europe · 100 %";
  document.querySelector(".prompt .hint").textContent = "From Northwest Territory: choose what to attack.";
}"""
"""On the world, where a territory has six neighbours at most, and their names take two lines."""
LOG_AT_LEAST = 112
"""Pixels of the side for the moves, however many play."""

SIZES_OF_THE_MAP = """async () => {
  const frame = () => new Promise(requestAnimationFrame);
  const sizes = new Set();
  for (let at = 0; at < 3; at++) await frame();
  for (let at = 0; at < 3; at++) {
    await frame();
    sizes.add(document.querySelector("svg.map").getBoundingClientRect().height);
  }
  return sizes.size;
}"""
"""In how many sizes the map is drawn once the window has its size."""


async def demand_all_in_sight(page: Page, size: tuple[int, int]) -> None:
    """Board and prompt are inside a window of this size, and the page does not scroll on a desk."""
    await resize(page, size)
    assert await page.evaluate(OUTSIDE, PARTS) == [], size
    assert await sideways(page) == 0, size
    if size[0] >= DESKS[-1][0]:
        assert not await page.evaluate(SCROLLS), size
        assert await page.evaluate(LOG) >= LOG_AT_LEAST, size


@pytest.mark.parametrize(
    "game",
    [
        "campaign",
        *(
            pytest.param(game, marks=pytest.mark.nightly)
            for game in ("leduc", "dilemma", "nim", "grundy", "tictactoe", "duel", "kuhn")
        ),
    ],
)
async def test_a_stored_match_fills_the_window_and_no_more(stored: Visit, kept: dict[str, str], game: str) -> None:
    page = await stored.open(f"/matches/{kept[game]}#ply=start")
    await expect(page.locator(".board")).to_be_visible()
    for place in ("Home", "End"):
        await page.keyboard.press(place)
        for size in DESKS:
            await demand_all_in_sight(page, size)
            assert await page.evaluate(LIST_FITS), size
    for tab in await page.get_by_role("tab").all():
        await tab.click()
        assert not await page.evaluate(SCROLLS), await tab.inner_text()
        if game in ALL_TABS:
            assert await barriers(page) == ""
    await resize(page, PHONE)
    assert await sideways(page) == 0


async def test_a_map_keeps_its_size_also_if_its_legend_leaves_too_little_room_for_full_names(stored: Visit) -> None:
    page = await stored.open("/matches/{duel}#ply=start")
    await expect(page.locator("svg.map")).to_be_visible()
    for height in range(535, 580, 4):
        await resize(page, (1280, height))
        assert await page.evaluate(SIZES_OF_THE_MAP) == 1, height


async def test_tabs_are_chosen_with_arrows(stored: Visit) -> None:
    page = await stored.open("/matches/{nim}")
    await page.get_by_role("tab", name="Grades").wait_for()
    await page.get_by_role("tab", name="Moves").focus()
    for key, name in (
        ("ArrowRight", "Plots"),
        ("End", "Details"),
        ("ArrowRight", "Moves"),
        ("ArrowLeft", "Details"),
    ):
        await page.keyboard.press(key)
        await expect(page.get_by_role("tab", selected=True)).to_have_text(name)
        await expect(page.get_by_role("tab", name=name)).to_be_focused()
        await expect(page.get_by_role("tabpanel")).to_have_count(1)


async def seated(stack: AsyncExitStack, house: House, game: str, number: int) -> list[Player]:
    """So many bots that play whoever wants this game."""
    names = [f"{game}-{at}-{secrets.token_hex(3)}" for at in range(number)]
    bots = [await stack.enter_async_context(player(house.url, name)) for name in names]
    for bot in bots:
        await bot.seek(game, open=True)
    return bots


@pytest.mark.parametrize(
    ("game", "config", "rivals"),
    [
        ("risk-campaign", '&config={"preset":"world","max_rounds":2}&seats=6', 5),
        pytest.param("dilemma", "&preset=rock-paper-scissors", 1, marks=pytest.mark.nightly),
        pytest.param("leduc", "", 1, marks=pytest.mark.nightly),
        pytest.param("kuhn", "", 1, marks=pytest.mark.nightly),
        pytest.param("risk-duel", "", 1, marks=pytest.mark.nightly),
        pytest.param("nim", "", 1, marks=pytest.mark.nightly),
        pytest.param("grundy", "", 1, marks=pytest.mark.nightly),
        pytest.param("tictactoe", "", 1, marks=pytest.mark.nightly),
    ],
)
async def test_who_plays_and_who_watches_sees_all_of_the_board_and_the_prompt(
    visit: Visit, house: House, game: str, config: str, rivals: int
) -> None:
    async with AsyncExitStack() as stack:
        bots = await seated(stack, house, game, rivals)
        name = f"ann-{secrets.token_hex(3)}"
        page = await sit_down(visit, name, f"game={game}{config}&opponent={bots[0].name}")
        async with asyncio.TaskGroup() as playing:
            for bot in bots:
                playing.create_task(bot.play_through())
            await page.locator(".status", has_text="Your move.").wait_for()
            await demand_all_in_sight_at_play(page, game)
            if game == "risk-campaign":
                await draft(page)
                await demand_every_attack_in_sight(page)
            match = await page.locator(".match").get_attribute("aria-label")
            assert match is not None
            watched = await visit.open(f"/matches/{match.removeprefix('match ')}")
            await expect(watched.locator(".board")).to_be_visible()
            for size in DESKS:
                await demand_all_in_sight(watched, size)
            await page.get_by_role("button", name="Resign", exact=True).click()
            await page.get_by_role("dialog").get_by_role("button", name="Resign").click()
            await expect(page.locator(".ending h2")).to_be_visible()
            await demand_all_in_sight_at_play(page, game)


async def demand_all_in_sight_at_play(page: Page, game: str) -> None:
    for size in (*DESKS, *((PHONE,) if game in SMALL_BOARDS else ())):
        await demand_all_in_sight(page, size)
    await resize(page, PHONE)
    assert await sideways(page) == 0


async def draft(page: Page) -> None:
    """Place all units of a turn where the first of them can be."""
    for _ in range(20):
        if await page.get_by_role("button", name="Place them").is_enabled():
            break
        await page.locator(".offered").first.press("Enter")
    await page.get_by_role("button", name="Place them").click()
    await page.get_by_role("button", name="End the turn").wait_for()


async def demand_every_attack_in_sight(page: Page) -> None:
    """Whatever territory attacks: what it may attack is in sight with all the rest. By day the first
    attacks alone, with as many attacks as there can be.
    """
    attackers = page.locator(".land.offered")
    for at in range(await attackers.count() if IS_NIGHTLY else 1):
        await attackers.nth(at).press("Enter")
        await expect(page.get_by_role("button", name=re.compile("^Attack ")).first).to_be_visible()
        if at == 0:
            await page.evaluate(AS_MANY_ATTACKS_AS_THERE_CAN_BE)
        for size in DESKS:
            await demand_all_in_sight(page, size)
        await page.locator(".land.picked").press("Enter")
