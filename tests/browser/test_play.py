"""A person at the board, by mouse and by keyboard, against bots that move when the test says so."""

from __future__ import annotations

import re
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import reduce
from operator import xor

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from chromium import Visit, barriers
from house import House, sit_down
from players import Map, Player, player

pytestmark = pytest.mark.asyncio(loop_scope="session")
Choose = Callable[[Page, Map], Awaitable[None]]
AWAY_AND_BACK = """dispatchEvent(new PageTransitionEvent("pagehide", { persisted: true }));
  dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }))"""


def new(kind: str) -> str:
    return f"{kind}-{secrets.token_hex(4)}"


@pytest_asyncio.fixture(loop_scope="session")
async def rival(house: House) -> AsyncIterator[Player]:
    """A bot that follows, and moves when the test says so."""
    async with player(house.url, new("rival"), follow=True) as rival:
        yield rival


async def begin(visit: Visit, rival: Player, game: str, more: str = "") -> tuple[Page, Map]:
    """A match of a person with a new name, who names the rival: the person's page, and the rival's `start`."""
    await rival.seek(game, open=True)
    page = await sit_down(visit, new("person"), f"game={game}{more}&opponent={rival.name}")
    return page, await rival.begin()


async def resign(page: Page) -> None:
    await page.get_by_role("button", name="Resign", exact=True).click()
    await page.get_by_role("dialog").get_by_role("button", name="Resign").click()


async def play(page: Page, rival: Player, choose: Choose, *, turns: int = 1000) -> Map:
    """Let the person choose by the page and the rival by its first legal move, for so many turns; what came last."""
    for _ in range(turns):
        told = await rival.expect("turn", "end")
        if told["type"] == "end":
            break
        if "legal" in told:
            await rival.move(told, kind(told))
        else:
            await page.locator(".status", has_text="Your move.").wait_for()  # looks more often than `expect`
            await choose(page, told)
    return told


def kind(turn: Map) -> Map:
    """A legal move that wins nothing: in nim one that leaves a move to nim-sum zero."""
    heaps = turn["state"].get("heaps")
    if heaps is None:
        return dict(turn["legal"][0])
    left = [
        move for move in turn["legal"] if reduce(xor, heaps) ^ heaps[move["heap"]] != heaps[move["heap"]] - move["take"]
    ]
    return dict((left or turn["legal"])[0])


def best(heaps: list[int]) -> tuple[int, int]:
    """A heap and how many it should keep: by the nim-sum, which wins, or else all but one."""
    total = reduce(xor, heaps)
    return next(((at, size ^ total) for at, size in enumerate(heaps) if size ^ total < size), last(heaps))


def last(heaps: list[int]) -> tuple[int, int]:
    at = max(range(len(heaps)), key=heaps.__getitem__)
    return at, heaps[at] - 1


async def click_nim(page: Page, turn: Map) -> None:
    heap, kept = best(turn["state"]["heaps"])
    await page.locator(f".board [data-heap='{heap}'][data-at='{kept}']").click()


async def key_nim(page: Page, turn: Map) -> None:
    """The same with the keyboard alone: Tab to the board, arrows to the counter, Enter."""
    heap, kept = best(turn["state"]["heaps"])
    await page.locator(".board [tabindex='0']").focus()
    wanted = page.locator(f".board [data-heap='{heap}'][data-at='{kept}']")
    for _ in range(60):
        here = await page.evaluate("[+document.activeElement.dataset.heap, +document.activeElement.dataset.at]")
        if here == [heap, kept]:
            break
        way = (
            "ArrowRight"
            if here[0] < heap
            else "ArrowLeft"
            if here[0] > heap
            else "ArrowDown"
            if here[1] > kept
            else "ArrowUp"
        )
        await page.keyboard.press(way)
    await expect(wanted).to_be_focused()
    await page.keyboard.press("Enter")


async def click_list(page: Page, turn: Map) -> None:
    """The first of the legal moves as buttons."""
    moves = page.locator(".moves")
    if await moves.get_attribute("open") is None:
        await moves.locator("summary").click()
    await moves.get_by_role("button").first.click()


@pytest.mark.parametrize(
    "choose", [pytest.param(click_nim, marks=pytest.mark.nightly, id="mouse"), pytest.param(key_nim, id="keyboard")]
)
async def test_a_person_wins_a_match_of_nim(visit: Visit, rival: Player, choose: Choose) -> None:
    await rival.seek("nim", open=True)
    page = await sit_down(visit, new("person"), f"game=nim&preset=classic&opponent={rival.name}")
    await expect(page).to_have_title(f"Nim, classic against {rival.name} · Bot Arena")
    for left in ("pointerleave", "focusout"):  # before the match begins
        await page.locator(".board-face").dispatch_event(left)
    start = await rival.begin()
    assert start["rated"], "among people"
    assert start["clock"] == {"bank_ms": 600_000, "increment_ms": 10_000}
    manner = "Press a counter to take it with all counters above it."
    await expect(page.locator(".asked .terms")).to_have_text(f"{manner} Each has 10 min + 10 s a move.")
    end = await play(page, rival, choose)
    await expect(page.get_by_role("heading", name="You won")).to_be_visible()
    await expect(page.locator(".ending p").first).to_have_text("You took the last counter.")
    await expect(page.locator(".asked")).to_be_hidden()
    await expect(page.locator(".players .clock")).to_have_text(["", ""])  # `end` does not tell the clocks
    assert end["ranks"][start["seat"]] == 2
    assert await barriers(page) == ""


@pytest.mark.nightly
async def test_a_deal_is_told_as_chances(visit: Visit, rival: Player) -> None:
    page, _ = await begin(visit, rival, "nim", '&config={"heaps":[3,4,5],"start":"p-position"}')
    await expect(page.locator(".log li").last).to_have_text(re.compile("^chance: deals heaps of "))


@pytest.mark.nightly
@pytest.mark.parametrize(("game", "part"), [("nim", "[tabindex='0']"), ("risk-duel", ".offered")])
async def test_the_board_keeps_the_keyboard_between_turns(visit: Visit, rival: Player, game: str, part: str) -> None:
    page, _ = await begin(visit, rival, game)
    turns = 0

    async def press(page: Page, turn: Map) -> None:
        nonlocal turns
        turns += 1
        if turns > 1:
            await expect(page.locator(".board :focus")).to_have_count(1)
        await page.locator(f".board {part}").first.focus()
        await page.keyboard.press("Enter")

    await play(page, rival, press, turns=4)
    assert turns > 1


@pytest.mark.nightly
async def test_a_move_that_is_none_is_explained_and_costs_nothing(visit: Visit, rival: Player) -> None:
    page, _ = await begin(visit, rival, "nim", '&config={"heaps":[4,4],"take":[1,2]}')
    turn = await rival.expect("turn")
    if "legal" in turn:
        await rival.move(turn)
        turn = await rival.expect("turn")
    await expect(page.locator(".status")).to_contain_text("Your move.")
    await page.locator(".board [data-heap='1'][data-at='0']").click()
    await expect(page.locator(".wrong").last).to_contain_text("a move must take 1 or 2")
    await page.locator(".board [data-heap='1'][data-at='3']").click()
    assert (await rival.expect("turn"))["events"][-1]["move"] == {"heap": 1, "take": 1}
    assert not any(message["type"] == "rejected" for message in rival.heard)


async def test_who_lost_to_a_level_is_offered_the_nearest_below(visit: Visit, house: House) -> None:
    async with (
        player(house.url, "level-4") as four,
        player(house.url, "level-2") as two,
        player(house.url, "level-3") as three,
        player(house.url, "level-1"),
        player(house.url, "level-6"),
    ):
        await three.seek("grundy", open=True)  # is here for something else
        page, _ = await begin(visit, four, "tictactoe")
        await two.seek("tictactoe", open=True)
        await resign(page)
        await expect(page.locator(".rated")).to_contain_text("Your rating among people: 25.0 before, 2")
        await page.get_by_role("button", name="Play level-2").click()
        await two.begin()


@pytest.mark.nightly
async def test_who_gives_up_a_rematch_sees_who_comes_in(visit: Visit, house: House, rival: Player) -> None:
    page, _ = await begin(visit, rival, "tictactoe")
    await resign(page)
    await page.get_by_role("button", name="Rematch").click()
    await page.get_by_role("button", name="Stop waiting").click()
    async with player(house.url, new("late")) as late:
        await late.seek("tictactoe", open=True)
        await expect(page.locator(".opponent", has_text=late.name)).to_be_visible()


@pytest.mark.nightly
async def test_a_page_that_is_loaded_again_goes_on_with_its_match(visit: Visit, rival: Player) -> None:
    page, _ = await begin(visit, rival, "nim", "&preset=classic")
    await play(page, rival, click_nim, turns=3)
    told = await page.locator(".log li").all_text_contents()
    await page.reload()
    await expect(page.locator(".log li")).to_have_text(told)
    await play(page, rival, click_nim)
    await expect(page.get_by_role("heading", name="You won")).to_be_visible()


@pytest.mark.nightly
async def test_of_two_tabs_of_one_person_the_newer_one_plays(visit: Visit, rival: Player) -> None:
    first, start = await begin(visit, rival, "nim", "&preset=classic")
    second = await visit.open("/play")
    await expect(second.locator("#table")).to_be_visible()
    await expect(first.get_by_text("you are playing in another tab", exact=False)).to_be_visible()
    await first.evaluate(AWAY_AND_BACK)
    await first.bring_to_front()
    await first.get_by_role("button", name="Play here instead").click()
    await expect(second.get_by_text("you are playing in another tab", exact=False)).to_be_visible()
    end = await play(first, rival, click_nim)
    assert (end["match"], end["reason"]) == (start["match"], "win")
