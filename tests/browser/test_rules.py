"""The pages of rules in a browser: their examples are drawn as boards."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from chromium import PHONE, Visit

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize(
    ("game", "after"),
    [
        ("nim", ["4 from heap 2"]),
        pytest.param("grundy", ["split 3 off heap 1"], marks=pytest.mark.nightly),
        pytest.param("tictactoe", ["middle"], marks=pytest.mark.nightly),
        pytest.param(
            "risk-duel", ["reinforce Venezuela", "Peru → Argentina: taken (dice 6 : 1)"], marks=pytest.mark.nightly
        ),
        ("risk-campaign", ["draft Peru+1 Argentina+1", "Peru → Venezuela with 1: taken (dice 6 : 1), 1 troop left"]),
        pytest.param("kuhn", ["call: K♠ and J♠, Ada wins 2 chips"], marks=pytest.mark.nightly),
        ("leduc", ["call: J♥ and K♠, Ada wins 5 chips"]),
    ],
)
async def test_the_position_of_the_rules_and_what_each_example_makes_of_it_are_drawn(
    stored: Visit, game: str, after: list[str]
) -> None:
    stored.size = PHONE
    page = await stored.open(f"/rules/{game}")
    captions = page.locator("#rules figcaption")
    await expect(captions).to_have_text([f"After it: {words}." for words in after])
    await expect(page.get_by_role("group", name="board")).to_have_count(1 + len(after))
    for board in await page.get_by_role("group", name="board").all():
        await board.scroll_into_view_if_needed()
        await expect(board.locator(".board-face")).to_be_in_viewport()


@pytest.mark.parametrize(
    ("game", "won"), [pytest.param("kuhn", ["+2", "−2"], marks=pytest.mark.nightly), ("leduc", ["+5", "−5"])]
)
async def test_the_example_of_a_hand_ends_with_the_cards_that_were_shown_on_the_table(
    stored: Visit, game: str, won: list[str]
) -> None:
    page = await stored.open(f"/rules/{game}")
    after = page.locator("#rules figure")
    for card in await after.locator(".place .card").all():
        await expect(card).to_have_attribute("data-side", "up")
    await expect(after.locator(".mark-of-seat")).to_have_text(won)
