"""People at the play page of an arena whose operator gives the names: they play with the token that they were given."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import expect

from chromium import PHONE, Visit, Visits, demand_fit
from house import House, come, open_house, register, start_playing
from players import player, token_of

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    """An arena with some names, at which nobody registers another; tests that begin a match have names of their own."""
    data = tmp_path_factory.mktemp("closed")
    register(data, "anna", "ben", "carla", "olga", "rival")
    async with open_house(data, "--registration", "closed") as house:
        yield house


async def test_a_person_plays_with_the_token_that_they_were_given_and_need_it_once(visit: Visit, house: House) -> None:
    visit.size = PHONE
    page = await come(visit, "carla", "game=nim")
    await start_playing(page)
    wrong = page.locator("#wrong-token")
    await expect(wrong).to_have_text("On this arena a name needs its token: type or paste yours.")
    await demand_fit(page)
    for typed, told in (
        ("short", "A token has 16 to 128 characters: this one has 5."),
        ("x" * 20, "This is not the token of carla."),
    ):
        await page.get_by_label("Your token").fill(typed)
        await start_playing(page)
        await expect(wrong).to_have_text(told)
    await page.get_by_label("Your token").fill(f" \u200b{token_of('carla')} ")
    await start_playing(page)
    await page.get_by_role("button", name="Stop waiting").click()
    await expect(page.get_by_label("Your token")).to_be_hidden()
    again = await visit.open("/play?game=nim&opponent=rival")
    await expect(again.get_by_label("Your name")).to_have_value("carla")
    async with player(house.url, "rival") as rival:
        await rival.seek("nim", open=True)
        await start_playing(again)
        await rival.begin()
        await expect(again.locator(".status")).to_be_visible()


async def test_who_has_no_name_is_told_to_ask_and_a_name_can_be_forgotten(visit: Visit) -> None:
    page = await come(visit, "Guest1", "game=nim")
    await page.get_by_label("Your token").fill("x" * 20)
    await start_playing(page)
    told = "Guest1 is not registered, and registration is closed: ask the operator."
    await expect(page.locator("#wrong-bot")).to_have_text(told)
    await page.get_by_label("Your name").fill("anna")
    await page.get_by_label("Your token").fill(token_of("anna"))
    await start_playing(page)
    await page.get_by_role("button", name="Stop waiting").click()
    await page.get_by_role("button", name="Forget them here").click()
    await expect(page.get_by_label("Your name")).to_have_value("")
    kept = await page.evaluate("localStorage.getItem('arena.identity')")
    assert "anna" not in kept
    assert token_of("anna") not in kept
    await page.get_by_label("Your name").fill("anna")
    await expect(page.get_by_label("Your token")).to_be_visible()


async def test_an_invited_friend_gives_their_token_too(visit: Visit, house: House) -> None:
    async with player(house.url, "olga") as olga:
        await olga.seek("nim", private=True)
        page = await visit.open("/play?from=olga&game=nim&preset=classic")
        await page.locator("#guest").fill("ben")
        await page.locator("#guest-token").fill(token_of("ben"))
        await page.get_by_role("button", name="Play olga").click()
        await olga.begin()
        await expect(page.locator(".status")).to_be_visible()


async def test_with_open_registration_the_token_of_a_name_that_somebody_has_is_asked_for(
    visiting: Visits, tmp_path: Path
) -> None:
    register(tmp_path, "anna")
    async with open_house(tmp_path) as house, visiting(house.page) as visit:
        page = await come(visit, "Anna", "game=nim")
        await expect(page.get_by_label("Your token")).to_be_hidden()
        await start_playing(page)
        told = "The name Anna is taken: choose another, or enter its token."
        await expect(page.locator("#wrong-bot")).to_have_text(told)
        await page.get_by_label("Your token").fill(token_of("anna"))
        await start_playing(page)
        await expect(page.get_by_role("button", name="Stop waiting")).to_be_visible()
