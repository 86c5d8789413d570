"""The tutorials: five moves of each game of Risk on a real board, with a hint for what is pressed amiss."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from chromium import PHONE, Visit, Visits, barriers, sideways
from protocol.games import game_class, game_names

pytestmark = pytest.mark.asyncio(loop_scope="session")

AROUND = ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp")
FOCUSED = """(() => {
  const at = document.activeElement;
  return at.getAttribute("aria-label") ?? (at.matches("button, a, input") ? at.textContent : "");
})()"""
PRESSED = {
    "risk-duel": [
        ("Brazil is", "Next"),
        ("Venezuela is", "Next"),
        ("Brazil is", "Reinforce Brazil", "Next"),
        ("Brazil is", "Attack Peru · 42 %, else lose 3", "Next"),
        ("Brazil is", "Attack Argentina · 42 %, else lose 4"),
    ],
    "risk-campaign": [
        ("Brazil is", "Brazil is", "Brazil is", "Place them"),
        ("Brazil is", "Attack Peru · 79 %", "Attack Peru · 79 %"),
        ("End the turn", "Next"),
        ("Peru is", "Peru is", "Peru is", "Place them"),
        ("Peru is", "Attack Argentina · 97 %", "Attack Argentina · 97 %"),
    ],
}
"""What is pressed for each move."""


async def test_every_tutorial_is_done() -> None:
    assert [name for name in game_names() if game_class(name).tutorial is not None] == list(PRESSED)


async def reach(page: Page, name: str) -> None:
    """Bring the focus by keys alone to what begins with this name; to a territory along the map, by its arrow keys."""
    said = str(await page.evaluate(FOCUSED))
    for step in range(120):
        if said.startswith(name):
            return
        on_map = await page.evaluate("document.activeElement.matches('[data-territory]')")
        await page.keyboard.press(AROUND[step % 4] if on_map and name.endswith(" is") else "Tab")
        said = str(await page.evaluate(FOCUSED))
    raise AssertionError(f"{name} was not reached: {said}")


@pytest.mark.parametrize("game", ["risk-duel", pytest.param("risk-campaign", marks=pytest.mark.nightly)])
async def test_the_tutorial_is_done_by_keyboard_alone(stored: Visit, game: str) -> None:
    page = await stored.open(f"/play/tutorial/{game}")
    for number, names in enumerate(PRESSED[game], 1):
        await expect(page.get_by_text(f"Move {number} of 5")).to_be_visible()
        for name in names:
            await reach(page, name)
            await page.keyboard.press("Enter")
    await expect(page.get_by_text("You have won.")).to_be_visible()
    await expect(page.get_by_role("link", name="Play it for real")).to_be_focused()
    assert await barriers(page) == ""
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"**/play?game={game}*")


@pytest.mark.parametrize("game", ["risk-campaign", pytest.param("risk-duel", marks=pytest.mark.nightly)])
async def test_on_a_phone_a_tap_or_the_button_show_me_does_each_move(visiting: Visits, library: str, game: str) -> None:
    async with visiting(library, PHONE, "dark", has_touch=True) as visit:
        page = await visit.open(f"/play/tutorial/{game}")
        await expect(page.get_by_text("Move 1 of 5")).to_be_visible()
        assert await barriers(page) == ""
        for number in range(1, 6):
            await expect(page.get_by_text(f"Move {number} of 5")).to_be_visible()
            assert await sideways(page) == 0
            await page.get_by_role("button", name="Show me").tap()
            onward = page.get_by_role("button", name="Next")
            if number < 5:
                await expect(onward.or_(page.get_by_text(f"Move {number + 1} of 5")).first).to_be_visible()
                if await onward.is_visible():
                    await onward.tap()
        await expect(page.get_by_text("You have won.")).to_be_visible()
        await page.get_by_role("button", name="Start again").tap()
        await expect(page.get_by_text("Move 1 of 5")).to_be_visible()
        await expect(page.get_by_text("You have won.")).to_be_hidden()


async def test_what_is_pressed_amiss_in_a_tutorial_is_answered_with_a_hint(stored: Visit) -> None:
    page = await stored.open("/play/tutorial/risk-duel")
    hint = page.get_by_role("alert")
    await page.get_by_role("button", name="Peru is nobody's").click()
    await expect(hint).to_have_text(
        "The rules allow this move, but the lesson needs another one. Press Brazil, on the right of the map."
    )
    await expect(page.get_by_text("Move 1 of 5")).to_be_visible()
    await page.get_by_role("button", name="Brazil is nobody's").click()
    await expect(hint).to_have_text("")
    await page.get_by_role("button", name="Next").click()
    await page.get_by_role("button", name="Peru is Ada's").click()
    await expect(hint).to_contain_text("as long as there is one. Press Venezuela, at the top of the map.")
    await page.get_by_role("button", name="Venezuela is nobody's").click()
    await expect(page.get_by_text("Venezuela is yours too.")).to_be_visible()


async def test_a_game_without_a_tutorial_is_said_to_have_none(stored: Visit) -> None:
    page = await stored.open("/play/tutorial/nim")
    await expect(page.get_by_text("no tutorial for nim")).to_be_visible()
    await stored.expects("status of 404")
