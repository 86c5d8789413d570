"""A person plays a game that has no script: on cells of the board that the server draws, and by buttons."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import expect

from chromium import PHONE, Visit, sideways
from example_games import EXAMPLES
from house import House, sit_down
from machine.game_discovery import load_game_file
from players import Player, player
from registered_games import registered

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(loop_scope="session")
async def rival(house: House) -> AsyncIterator[Player]:
    """Have a bot wait at an arena that knows two of the examples."""
    specs = [
        spec._replace(board=None, styles=())
        for file in ("connect4", "onecard")
        for spec in load_game_file(EXAMPLES / f"{file}.py")
    ]
    with registered(*specs):
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
    if "legal" in told:
        await rival.move(told, {"move": "bet"})
        await page.get_by_role("button", name="call").click()
    else:
        await expect(page.locator(".any-text")).to_contain_text("?")
        await page.get_by_role("button", name="bet").click()
        told = await rival.expect("turn")
        await rival.move(await rival.expect("turn") if "legal" not in told else told, {"move": "fold"})
    assert (await rival.expect("end"))["reason"] == "win"


@pytest.mark.usefixtures("rival")
async def test_the_rules_of_a_game_without_a_text_say_what_it_is_about(visit: Visit) -> None:
    page = await visit.open("/rules/onecard")
    await expect(page.locator(".brief")).to_contain_text("card")
    await page.evaluate("import(document.querySelector('script[src*=\"pages/rules.js\"]').src)")
