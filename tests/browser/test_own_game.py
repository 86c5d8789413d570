"""A person plays a game that has no script: on cells of the board that the server draws, and by buttons."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from typing import Literal, NamedTuple

import pytest
import pytest_asyncio
from playwright.async_api import expect

from chromium import PHONE, Visit, barriers, sideways
from example_games import EXAMPLES
from house import House, sit_down
from machine.game_discovery import load_game_file
from players import Player, player
from protocol.games.spec import GameSpec
from protocol.games.turn_game import TurnGame
from registered_games import registered

pytestmark = pytest.mark.asyncio(loop_scope="session")

Step = Literal["a1a2q", "a1a2r", "b2b1q", "b2b1r"]


class Crossed(NamedTuple):
    """The moves so far."""

    moves: tuple[Step, ...] = ()


class Crossing(TurnGame[Crossed, Step]):
    """Each seat's pawn crosses a board of four cells, and becomes a queen or a rook."""

    name = "crossing"
    marks = ("♙", "♟")
    row_labels = "21"
    column_labels = "ab"
    rotates_board = True

    def start(self) -> Crossed:
        return Crossed()

    def turn(self, state: Crossed) -> int | None:
        return None if len(state.moves) == 2 else len(state.moves)

    def moves(self, state: Crossed) -> list[Step]:
        return ["b2b1q", "b2b1r"] if state.moves else ["a1a2q", "a1a2r"]

    def play(self, state: Crossed, move: Step) -> Crossed:
        return Crossed((*state.moves, move))

    def winner(self, state: Crossed) -> None:
        return None

    def grid(self, state: Crossed) -> list[list[str]]:
        left, right = ["", "♙"], ["♟", ""]
        left = ["♕", ""] if state.moves else left
        return [list(row) for row in zip(left, right, strict=True)]

    def cells(self, move: Step) -> list[tuple[int, int]]:
        return [("21".index(move[at + 1]), "ab".index(move[at])) for at in (0, 2)]

    def highlights(self, state: Crossed) -> list[tuple[int, int]]:
        return [(0, 0)] if state.moves else []


@pytest_asyncio.fixture(loop_scope="session")
async def rival(house: House) -> AsyncIterator[Player]:
    """Have a bot wait at an arena that knows two of the examples, and the game of this module."""
    specs = [
        spec._replace(board=None, styles=())
        for file in ("connect4", "onecard")
        for spec in load_game_file(EXAMPLES / f"{file}.py")
    ]
    with registered(*specs, GameSpec("crossing", __name__, f"{__name__}:Crossing.rules", "1", "0" * 64)):
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


@pytest.mark.usefixtures("rival")
async def test_the_rules_of_a_game_without_a_text_say_what_it_is_about(visit: Visit) -> None:
    page = await visit.open("/rules/onecard")
    await expect(page.locator(".brief")).to_contain_text("card")
    await page.evaluate("import(document.querySelector('script[src*=\"pages/rules.js\"]').src)")
