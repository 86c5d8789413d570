"""A person plays a game that has no script: on cells of the board that the server draws, and by buttons."""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import expect

from chromium import PHONE, Visit, barriers, sideways
from example_games import EXAMPLES
from house import House, sit_down
from machine.game_discovery import GAME_FILES_VARIABLE, load_game_file
from players import Player, player
from registered_games import registered

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.fixture(scope="module", autouse=True)
def games() -> Iterator[None]:
    """Register three games of files, here and for the processes that start later, until no page is open any more."""
    files = (EXAMPLES / "connect4.py", EXAMPLES / "onecard.py", Path(__file__).with_name("crossing.py"))
    specs = [spec._replace(board=None, styles=()) for file in files for spec in load_game_file(file)]
    with pytest.MonkeyPatch.context() as monkeypatch, registered(*specs):
        monkeypatch.setenv(GAME_FILES_VARIABLE, os.pathsep.join(map(str, files)))
        yield


@pytest_asyncio.fixture(loop_scope="session")
async def rival(house: House) -> AsyncIterator[Player]:
    async with player(house.url, f"rival-{secrets.token_hex(4)}", follow=True) as rival:
        yield rival


async def test_a_person_presses_cells_of_a_grid_on_a_phone(visit: Visit, rival: Player) -> None:
    visit.size = PHONE
    await rival.seek("connect4", open=True)
    page = await sit_down(visit, f"person-{secrets.token_hex(4)}", f"game=connect4&opponent={rival.name}")
    start = await rival.begin()
    told = await rival.expect("turn")
    if "legal" in told:
        await rival.move(told, {"move": 7})
        told = await rival.expect("turn")
    mark = "XO"[1 - start["seat"]]
    await page.get_by_role("button", name="3", exact=True).first.click()
    told = await rival.expect("turn")
    assert told["state"]["columns"][2] == mark
    lowest = page.locator(".any-grid tr").last.locator("td").nth(2)
    await expect(lowest).to_have_text(mark)
    assert not await sideways(page)


async def test_a_person_chooses_moves_without_cells_by_buttons(visit: Visit, rival: Player) -> None:
    await rival.seek("onecard", open=True)
    page = await sit_down(visit, f"person-{secrets.token_hex(4)}", f"game=onecard&opponent={rival.name}")
    await rival.begin()
    told = await rival.expect("turn")
    await expect(page.locator(".any-text")).to_contain_text("player 1: ")
    size = await page.locator(".any-text").evaluate("text => parseFloat(getComputedStyle(text).fontSize)")
    assert size > 30, "a short text fills the board"
    if "legal" in told:
        await rival.move(told, {"move": "bet"})
        await page.get_by_role("button", name="call").click()
    else:
        await expect(page.locator(".any-text")).to_contain_text("?")
        await page.get_by_role("button", name="bet").click()
        told = await rival.expect("turn")
        await rival.move(await rival.expect("turn") if "legal" not in told else told, {"move": "fold"})
    assert (await rival.expect("end"))["reason"] == "win"


async def test_a_person_moves_by_keyboard_on_a_board_that_is_seen_from_their_own_side(
    visit: Visit, rival: Player
) -> None:
    await rival.seek("crossing", open=True)
    page = await sit_down(visit, f"person-{secrets.token_hex(4)}", f"game=crossing&opponent={rival.name}")
    seat = 1 - (await rival.begin())["seat"]
    if seat == 1:
        await rival.move(await rival.expect("turn"), {"move": "a1a2q"})
        await expect(page.locator("td[data-changed]")).to_have_text(["", "♕"])
        await expect(page.locator("td[data-highlight]")).to_have_text("♕")
    cell = page.get_by_role("button", name=("a1 ♙: a1a2q, a1a2r", "b2 ♟: b2b1q, b2b1r")[seat], exact=True)
    await expect(page.locator(".any-grid tr").first.locator("th")).to_have_text("21"[seat])
    await expect(page.locator(".hint")).to_have_text("Press a marked cell of the board where a move begins.")
    await cell.press("Enter")
    await expect(page.locator(".hint")).to_have_text("Now press the cell where the move ends.")
    await page.keyboard.press("ArrowUp")
    await page.keyboard.press("Enter")
    await expect(page.locator(".hint")).to_have_text("Choose one of these moves:")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    told = await rival.expect("turn", "end")
    while told["type"] == "turn" and "legal" not in told:
        told = await rival.expect("turn", "end")
    assert told["state"]["moves"][seat] == ("a1a2r", "b2b1r")[seat]
    assert await barriers(page) == ""


async def test_the_rules_of_a_game_without_a_text_say_what_it_is_about(visit: Visit) -> None:
    page = await visit.open("/rules/onecard")
    await expect(page.locator(".brief")).to_contain_text("card")
    await page.evaluate("import(document.querySelector('script[src*=\"pages/rules.js\"]').src)")
