"""People at the play page of an arena whose operator gives the names: they play with the token that they were given."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from playwright.async_api import expect

from arena.store.registry import add_bots
from arena.store.store import Store
from arena.store.tokens import hash_token
from chromium import PHONE, Visits, barriers, sideways
from house import come, open_house, start_playing
from players import player, token_of

pytestmark = pytest.mark.asyncio(loop_scope="session")
CLOSED = ("--registration", "closed")


def register(data: Path, *names: str) -> None:
    """Give names and tokens, as an operator does."""
    with closing(Store.open(data / "arena.db")) as store:
        store.write(add_bots, {name: hash_token(token_of(name)) for name in names})


async def test_a_person_plays_with_the_token_that_they_were_given_and_need_it_once(
    visiting: Visits, tmp_path: Path
) -> None:
    register(tmp_path, "anna", "rival")
    async with open_house(tmp_path, *CLOSED) as house, visiting(house.page, PHONE) as visit:
        page = await come(visit, "anna", "game=nim")
        await start_playing(page)
        wrong = page.locator("#wrong-token")
        await expect(wrong).to_have_text("On this arena a name needs its token: type or paste yours.")
        assert await sideways(page) == 0
        assert await barriers(page) == ""
        for typed, told in (
            ("short", "A token has 16 to 128 characters: this one has 5."),
            ("x" * 20, "This is not the token of anna."),
        ):
            await page.get_by_label("Your token").fill(typed)
            await start_playing(page)
            await expect(wrong).to_have_text(told)
        await page.get_by_label("Your token").fill(f" \u200b{token_of('anna')} ")
        await start_playing(page)
        await page.get_by_role("button", name="Stop waiting").click()
        await expect(page.get_by_label("Your token")).to_be_hidden()
        again = await visit.open("/play?game=nim&opponent=rival")
        await expect(again.get_by_label("Your name")).to_have_value("anna")
        async with player(house.url, "rival") as rival:
            await rival.seek("nim", open=True)
            await start_playing(again)
            await rival.begin()
            await expect(again.locator(".status")).to_be_visible()


async def test_who_has_no_name_is_told_to_ask_and_a_name_can_be_forgotten(visiting: Visits, tmp_path: Path) -> None:
    register(tmp_path, "anna")
    async with open_house(tmp_path, *CLOSED) as house, visiting(house.page) as visit:
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


async def test_an_invited_friend_gives_their_token_too(visiting: Visits, tmp_path: Path) -> None:
    register(tmp_path, "anna", "ben")
    async with (
        open_house(tmp_path, *CLOSED) as house,
        visiting(house.page) as visit,
        player(house.url, "anna") as anna,
    ):
        await anna.seek("nim", private=True)
        page = await visit.open("/play?from=anna&game=nim&preset=classic")
        await page.locator("#guest").fill("ben")
        await page.locator("#guest-token").fill(token_of("ben"))
        await page.get_by_role("button", name="Play anna").click()
        await anna.begin()
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
