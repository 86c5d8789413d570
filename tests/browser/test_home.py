"""The home page in a browser: a live match on its small board, or the latest one again, and a pause in both."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import expect

from chromium import DESKTOP, PHONE, Visit, Visits, demand_fit, release_timers
from house import House, open_house
from players import answer, meet, player

pytestmark = pytest.mark.asyncio(loop_scope="session")
COUNTERS = "#stage .counter:not(.ghost)"
MOVE_DISPLAY_MS = 1000
"""For how long a replay shows each position."""


async def test_a_live_match_is_on_the_board_move_by_move_until_one_pauses(visit: Visit, house: House) -> None:
    visit.size = PHONE
    async with player(house.url, "ann", follow=True) as ann, player(house.url, "bob") as bob:
        start = await meet(ann, bob)
        page = await visit.context.new_page()
        async with page.expect_websocket() as opened:
            await page.goto(house.page)
        wire = await opened.value
        stage = page.get_by_role("region", name="Live now")
        for name in ("Nim, classic", "Open this match"):
            await expect(stage.get_by_role("link", name=name)).to_have_attribute("href", f"/matches/{start['match']}")
        await expect(stage.get_by_role("list", name="Players").get_by_role("listitem")).to_have_count(2)
        first = start["seats"][0]["bot"]
        await expect(stage.locator("[data-to-move]")).to_contain_text(first)
        await expect(stage.locator(".stage-saying")).to_have_text(f"{first} is to move.")
        await expect(page.locator(COUNTERS)).to_have_count(15)
        await answer(await ann.expect("turn"), ann, bob)
        await expect(page.locator(COUNTERS)).to_have_count(14)
        await demand_fit(page)
        await stage.get_by_role("button", name="Pause").click()
        async with wire.expect_event("framereceived", lambda told: '"turn"' in str(told)):
            await answer(await ann.expect("turn"), ann, bob)
        assert await page.locator(COUNTERS).count() == 14
        await expect(stage.locator(".stage-saying")).to_contain_text("(view paused)")
        await stage.get_by_role("button", name="Resume").click()
        await expect(page.locator(COUNTERS)).to_have_count(13)
        await ann.send("resign", match=start["match"])
        over = page.get_by_role("region", name="Just over")
        await expect(over).to_contain_text("bob won at Nim, classic")


async def test_the_end_of_a_match_is_on_the_board_with_its_words_also_while_it_pauses(
    visiting: Visits, house: House
) -> None:
    async with (
        visiting(house.page, DESKTOP, reduced_motion="reduce") as visit,
        player(house.url, "ann", follow=True) as ann,
        player(house.url, "bob") as bob,
    ):
        start = await meet(ann, bob)
        page = await visit.open("/")
        await expect(page.locator(COUNTERS)).to_have_count(15)
        await answer(await ann.expect("turn"), ann, bob)
        await ann.send("resign", match=start["match"])
        await expect(page.get_by_role("region", name="Just over")).to_contain_text("bob won")
        await expect(page.locator(COUNTERS)).to_have_count(14)


async def test_where_nothing_is_live_the_latest_match_is_played_again(visiting: Visits, library: str) -> None:
    async with visiting(library, fresh=True) as visit:
        await visit.hold_timers(MOVE_DISPLAY_MS)
        page = await visit.open("/")
        stage = page.get_by_role("region", name="The latest match")
        await expect(stage).to_contain_text("at Nim, classic")
        await expect(page.locator(COUNTERS)).to_have_count(15)
        await release_timers(page)
        await expect(page.locator(COUNTERS)).not_to_have_count(15)
        await stage.get_by_role("button", name="Pause").click()
        await expect(stage.get_by_role("button", name="Resume")).to_be_visible()


async def test_who_wants_less_motion_sees_the_last_position_until_they_ask(visiting: Visits, library: str) -> None:
    async with visiting(library, DESKTOP, reduced_motion="reduce") as visit:
        page = await visit.open("/")
        await page.get_by_role("button", name="Resume").wait_for()
        assert await page.locator(COUNTERS).count() == 0
        await page.get_by_role("button", name="Resume").click()
        await expect(page.locator(COUNTERS)).to_have_count(15)


async def test_the_first_match_of_an_arena_comes_on_as_soon_as_it_is_played(visiting: Visits, tmp_path: Path) -> None:
    async with (
        open_house(tmp_path) as house,
        visiting(house.page) as visit,
        player(house.url, "ann", follow=True) as ann,
        player(house.url, "bob") as bob,
    ):
        page = await visit.open("/")
        await expect(page.get_by_role("region", name="No matches yet")).to_be_visible()
        await meet(ann, bob)
        await expect(page.get_by_role("region", name="Live now")).to_be_visible()
        await expect(page.locator(COUNTERS)).to_have_count(15)


async def test_without_scripts_the_page_tells_the_same(visiting: Visits, library: str) -> None:
    async with visiting(library, PHONE, java_script_enabled=False) as visit:
        page = await visit.open("/")
        await expect(page.get_by_role("region", name="The latest match").get_by_role("link")).to_have_count(2)
        await expect(page.get_by_role("link", name="Full leaderboard of Nim, classic")).to_be_visible()
        await expect(page.get_by_role("button", name="Pause")).to_be_hidden()
