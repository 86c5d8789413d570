"""A person at the games of rounds and of cards, by mouse and by keyboard, and who watches them."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from chromium import DESKTOP, Visit, Visits, barriers, demand_fit
from house import House, come, sit_down
from players import Map, Player, player

pytestmark = pytest.mark.asyncio(loop_scope="session")

PHONE = (390, 844)
NAMES = [["cooperate", "defect"]] * 2
COOPERATE, DEFECT = {"choose": 0}, {"choose": 1}
PARTS = ".board-face, .matrix td, .card, .choices button, .status"
OUTSIDE = """(parts) => [...document.querySelectorAll(parts)].filter((part) => {
  const { left, top, right, bottom } = part.getBoundingClientRect();
  return part.checkVisibility() && (left < 0 || top < 0 || right > innerWidth + 1 || bottom > innerHeight + 1);
}).map((part) => part.outerHTML.slice(0, 120))"""
SIZES = [pytest.param(DESKTOP, marks=pytest.mark.nightly, id="desktop"), pytest.param(PHONE, id="phone")]


@pytest_asyncio.fixture(loop_scope="session")
async def rival(house: House) -> AsyncIterator[Player]:
    """A bot that moves when the test says so."""
    async with player(house.url, f"rival-{secrets.token_hex(3)}") as rival:
        yield rival


async def begin(visit: Visit, rival: Player, game: str, config: Map) -> tuple[Page, Map]:
    """A match of a person who names the rival: the person's page, and the rival's `start`."""
    await rival.seek(game, open=True)
    address = f"game={game}&config={json.dumps(config)}&opponent={rival.name}"
    page = await sit_down(visit, f"person-{secrets.token_hex(3)}", address)
    return page, await rival.begin()


@pytest.mark.parametrize("size", SIZES)
async def test_a_person_plays_rounds_of_the_dilemma_and_reads_what_came_of_them(
    visit: Visit, rival: Player, size: tuple[int, int]
) -> None:
    visit.size = size
    page, start = await begin(visit, rival, "dilemma", {"rounds": 4, "choices": NAMES})
    own = 1 - start["seat"]
    for number in range(4):
        turn = await rival.expect("turn")
        await expect(page.locator(".status")).to_contain_text("Your move.")
        assert await page.evaluate(OUTSIDE, PARTS) == []
        await page.get_by_role("button", name="Defect").click()
        await expect(page.locator(".status")).to_contain_text(f"You chose defect. Waiting for {rival.name} …")
        await expect(page.locator(".board [data-chosen] th")).to_have_text("defect")
        await expect(page.get_by_role("button", name="Defect")).to_be_hidden()
        await expect(page.locator(".log li")).to_have_count(number)
        if number == 3:
            await demand_fit(page)
        await rival.move(turn, COOPERATE if number % 2 == 0 else DEFECT)
        payoffs = [5 * (number // 2 + 1) + (number + 1) // 2, (number + 1) // 2]
        totals = page.locator(".history .totals .seat-" + str(own))
        await expect(totals).to_have_text(str(payoffs[0]))
        await expect(page.locator(".matrix td[data-last] .own")).to_have_text("5" if number % 2 == 0 else "1")
    end = await rival.expect("end")
    assert end["ranks"][own] == 1
    await expect(page.get_by_role("heading", name="You won")).to_be_visible()
    await expect(page.locator(".ending p").first).to_have_text(re.compile(r"^You got 12, rival-\w+ 2\.$"))
    await expect(page.locator(".columns-of-marks li")).to_have_count(4)
    assert await barriers(page) == ""


@pytest.mark.parametrize(
    ("game", "size"),
    [pytest.param("kuhn", DESKTOP, marks=pytest.mark.nightly, id="kuhn"), pytest.param("leduc", PHONE, id="leduc")],
)
async def test_a_person_plays_hands_of_poker_with_the_keyboard_alone(
    visit: Visit, rival: Player, game: str, size: tuple[int, int]
) -> None:
    visit.size = size
    page, _ = await begin(visit, rival, game, {"hands": 2})
    left, right = page.locator(".felt .place .card").nth(0), page.locator(".felt .place .card").nth(1)
    choices, over = page.locator(".choices"), page.locator(".ending h2")
    keys = {"check": "c", "call": "c"}
    playing = asyncio.ensure_future(rival.play(bet_or_call))
    while await choices.or_(over).first.wait_for() or await choices.is_visible():
        await expect(page.locator(".status")).to_contain_text("Your move.")
        await expect(left).to_have_attribute("data-side", "up")
        await expect(right).to_have_attribute("data-side", "down")
        assert await page.evaluate(OUTSIDE, PARTS) == []
        await expect(choices.locator(":focus")).to_have_count(1)
        name = await page.evaluate("document.activeElement.firstChild.textContent.toLowerCase()")
        await page.keyboard.press(keys[name])
    await playing
    await expect(page.locator(".ending h2")).to_be_visible()
    for card in (left, right):
        await expect(card).to_have_attribute("data-side", "up")
    await expect(page.locator(".columns-of-marks li")).to_have_count(2)
    await demand_fit(page)


def bet_or_call(turn: Map) -> Map:
    dos = [move["do"] for move in turn["legal"]]
    return {"do": next(do for do in ("bet", "call", "check") if do in dos)}


async def test_a_choice_stands_when_the_page_is_loaded_again(visit: Visit, rival: Player) -> None:
    page, _ = await begin(visit, rival, "dilemma", {"rounds": 2})
    turn = await rival.expect("turn")
    await page.locator(".choices button").nth(1).press("Enter")
    await expect(page.locator(".status")).to_contain_text("You chose")
    await page.reload()
    stands = f"You have chosen. Waiting for {rival.name} …"
    await expect(page.locator(".status")).to_contain_text(stands)
    await expect(page.locator(".choices")).to_be_hidden()
    await rival.move(turn, DEFECT)
    assert (await rival.expect("turn"))["events"][0]["moves"] == [DEFECT, DEFECT]
    await expect(page.locator(".status")).to_contain_text("Your move.")
    await expect(page.locator(".columns-of-marks li")).to_have_count(1)


@pytest.mark.nightly
async def test_two_people_choose_at_once_in_two_browsers(visiting: Visits, house: House) -> None:
    async with visiting(house.page) as hers, visiting(house.page, PHONE) as his:
        ann, bob = (f"{name}-{secrets.token_hex(3)}" for name in ("ann", "bob"))
        one = await sit_down(hers, ann, f"game=dilemma&preset=chicken&opponent={bob}")
        other = await come(his, bob)
        await other.get_by_role("button", name=f"Play {ann}").click()
        await one.get_by_role("button", name="Straight").click()
        await expect(one.locator(".status")).to_contain_text(f"Waiting for {bob}")
        await expect(other.locator(".matrix td[data-last]")).to_have_count(0)
        await other.get_by_role("button", name="Swerve").click()
        for page, own in ((one, "1"), (other, "−1")):
            await expect(page.locator(".matrix td[data-last] .own")).to_have_text(own)


async def test_who_watches_rounds_learns_of_a_choice_when_both_have_chosen(visit: Visit, house: House) -> None:
    async with (
        player(house.url, f"ann-{secrets.token_hex(3)}") as ann,
        player(house.url, f"bob-{secrets.token_hex(3)}") as bob,
    ):
        start = await meet(ann, bob, "dilemma", rounds=3, choices=NAMES)
        watched, wall = await visit.open(f"/matches/{start['match']}"), await visit.open("/wall")
        shown = (watched.locator(".match"), wall.locator(".wall-match", has_text=ann.name))
        for place in shown:
            await expect(place.locator(".board-dilemma")).to_be_visible()
            await expect(place.locator(".player[data-to-move]")).to_have_count(2)
        turns = [await seat.expect("turn") for seat in (ann, bob)]
        await ann.move(turns[0], COOPERATE)
        clocks = watched.locator(".players .clock")
        before = await clocks.all_text_contents()
        for at, clock in enumerate(before):
            await expect(clocks.nth(at)).not_to_have_text(clock)
        await expect(watched.locator(".moves tr[data-at]")).to_have_count(0)
        await bob.move(turns[1], DEFECT)
        row = watched.locator(".moves tr[data-at='1']")
        told = ["cooperate, defect · 0 and 5", "defect, cooperate · 5 and 0"]
        await expect(row.locator(".move")).to_have_text(told[start["seat"]])
        totals = ["0", "5"] if start["seat"] == 0 else ["5", "0"]
        for place in shown:
            await expect(place.locator(".history .totals b")).to_have_text(totals)
        await expect(shown[1].locator(".saying")).to_have_text("Round 2 of 3: both choose")
        assert await barriers(watched) == ""
        assert await barriers(wall) == ""
        await ann.send("resign", match=start["match"])
        await expect(watched.locator(".ending p").first).to_contain_text("resigned")
        await expect(watched.locator(".saying")).to_be_empty()


async def test_who_watches_a_hand_sees_backs_until_the_cards_are_shown(visit: Visit, house: House) -> None:
    async with (
        player(house.url, f"ann-{secrets.token_hex(3)}", follow=True) as ann,
        player(house.url, f"bob-{secrets.token_hex(3)}") as bob,
    ):
        start = await meet(ann, bob, "leduc", hands=2)
        page = await visit.open(f"/matches/{start['match']}")
        sides = page.locator(".place .card")
        await expect(sides.nth(0)).to_have_attribute("data-side", "down")
        await expect(sides.nth(1)).to_have_attribute("data-side", "down")
        while (told := await ann.expect("turn", "end"))["type"] == "turn" and told["state"]["hand"] == 0:
            await check(told, ann, bob)
        await expect(page.locator(".deal")).to_have_text("Hand 2 of 2")
        await expect(page.locator(".hand-before")).to_have_text(
            re.compile(r"^Hand 1: .*[JQK][♠♥] (against|and) [JQK][♠♥]")
        )
        for side in ("down", "up"):  # back over the deal, to the end of the first hand
            for at in (0, 1):
                await expect(sides.nth(at)).to_have_attribute("data-side", side)
            await page.keyboard.press("ArrowLeft")
        await page.keyboard.press("End")
        while told["type"] == "turn":
            await check(told, ann, bob)
            told = await ann.expect("turn", "end")
        for at in (0, 1):
            await expect(sides.nth(at)).to_have_attribute("data-side", "up")
        await expect(page.locator(".ending h2")).to_be_visible()
        assert await barriers(page) == ""


async def meet(one: Player, other: Player, game: str, **config: Any) -> Map:
    """Begin a match between two; the `start` of the first."""
    for seat in (one, other):
        await seat.seek(game, config=config)
    start = await one.begin()
    await other.begin()
    return start


async def check(turn: Map, follower: Player, other: Player) -> None:
    if "legal" in turn:
        await follower.move(turn, {"do": "check"})
    else:
        await other.move(await other.expect("turn"), {"do": "check"})
