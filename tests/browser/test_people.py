"""People at the play page: who meets whom, under which names, and tables of more than two."""

from __future__ import annotations

import asyncio
import re
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from playwright.async_api import expect

from chromium import PHONE, Visit, Visits, barriers, demand_fit, sideways
from house import House, choose, come, open_house, sit_down, start_playing
from players import player

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.nightly
async def test_whom_another_person_names_is_asked_and_can_accept(visiting: Visits, house: House) -> None:
    async with visiting(house.page) as hers, visiting(house.page, PHONE) as his:
        ann = await sit_down(hers, "ann", "game=grundy&preset=large&opponent=Bob")
        await expect(ann.locator("#absent")).to_contain_text("Bob is offline")
        bob = await come(his, "bob")
        await expect(bob.locator("#calls")).to_contain_text(
            "ann wants to play Grundy’s game, heaps of 20 and 30 with you"
        )
        assert await sideways(bob) == 0
        await bob.get_by_role("button", name="Play ann").click()
        for page, rival in ((ann, "bob"), (bob, "ann")):
            await expect(page.get_by_role("heading", name="Grundy’s game, heaps of 20 and 30")).to_be_visible()
            await expect(page.locator(".player", has_text=rival)).to_be_visible()
            await expect(page.locator(".players .clock").first).to_have_text(re.compile("^(9:5.|10:00)$"))


async def test_a_person_who_waits_is_told_why(visit: Visit, house: House) -> None:
    async with player(house.url, "rival") as rival:
        page = await sit_down(visit, "anna", "game=tictactoe")
        why = page.locator("#absent")
        await expect(why).to_have_text(
            "Nobody else online wants to play Tic-tac-toe now. The match starts when somebody does."
        )
        assert await barriers(page) == ""
        await page.get_by_role("button", name="Stop waiting").click()
        await expect(page.get_by_role("radio", name="rival")).to_have_count(0)
        await page.get_by_label("Another opponent, by name").fill("rival")
        await start_playing(page)
        says = "rival is online but is not ready to play Tic-tac-toe with you. The match starts when it is."
        await expect(why).to_have_text(says)
        await rival.seek("tictactoe", open=True)
        await expect(page.get_by_role("heading", name="Tic-tac-toe")).to_be_visible()


@pytest.mark.nightly
async def test_nobody_plays_against_themselves(visit: Visit) -> None:
    page = await sit_down(visit, "alone", "game=nim&opponent=ALONE")
    await expect(page.locator("#wrong-named")).to_contain_text("You cannot play against yourself")
    for field, invalid in (("Another opponent, by name", "true"), ("Your name", None)):
        assert await page.get_by_label(field).get_attribute("aria-invalid") == invalid


@pytest.mark.nightly
async def test_what_the_arena_refuses_is_said_and_the_form_is_there_again(visit: Visit) -> None:
    page = await sit_down(visit, "inventor", 'game=nim&config={"heaps":[-1]}')
    await expect(page.locator("#failed")).to_contain_text("heaps[0] is -1: it must be an integer from 0 to 1000")
    await page.get_by_label("Settings as JSON").fill("heaps: 3")
    await start_playing(page)
    await expect(page.locator("#wrong-own")).to_contain_text("This is not a JSON object")


@pytest.mark.nightly
async def test_a_person_plays_a_campaign_of_four_to_its_end(visit: Visit, house: House) -> None:
    async with AsyncExitStack() as stack:
        rivals = [await stack.enter_async_context(player(house.url, name)) for name in ("ben", "cid", "dan")]
        for rival in rivals:
            await rival.seek("risk-campaign", open=True)
        config = '{"players":4,"max_rounds":1}'
        page = await sit_down(visit, "fourth", f"game=risk-campaign&config={config}&seats=4&opponent=cid")
        async with asyncio.TaskGroup() as playing:
            for rival in rivals:
                playing.create_task(rival.play_through())
            while await choose(page):
                pass
        await expect(page.locator(".players .badge:not([hidden])")).to_have_count(4)
        await expect(page.locator(".ending")).to_contain_text("The last round was played")
        assert await barriers(page) == ""


async def test_where_nothing_is_live_the_page_says_how_to_start_an_arena(stored: Visit) -> None:
    page = await stored.open("/play")
    await expect(page.get_by_text("You cannot play here: these pages")).to_be_visible()
    await expect(page.get_by_text("arena serve --demo")).to_be_visible()


async def test_a_person_types_their_own_name_and_is_shown_by_it_beside_one_that_a_bot_can_have(
    visiting: Visits, tmp_path: Path
) -> None:
    async with open_house(tmp_path) as house, visiting(house.page, PHONE) as hers, visiting(house.page) as his:
        page = await sit_down(hers, " Zoë  Müller", "game=nim&preset=classic")
        told = page.locator("#wrong-bot")
        await expect(told).to_contain_text("You will play as Zoe-Muller")
        await expect(told).to_contain_text("Zoë Müller is shown beside it")
        await expect(page.get_by_label("Your name")).to_have_value("Zoe-Muller")
        await demand_fit(page)
        await start_playing(page)
        await expect(page.get_by_role("button", name="Stop waiting")).to_be_visible()
        other = await come(his, "ben", "game=nim&preset=classic")
        row = other.locator(".opponent", has_text="Zoe-Muller")
        await expect(row.locator("bdi.display")).to_have_text(" Zoë Müller")
        await row.get_by_role("radio").check()
        await start_playing(other)
        await expect(other.locator(".player bdi.display")).to_have_text(" Zoë Müller")
