"""The moves that gave most away, on the page of a match and where a person has just played: listed, and shown."""

from __future__ import annotations

import json
import re
import secrets
from itertools import pairwise
from typing import Any

import pytest
from playwright.async_api import Page, Route, expect

from chromium import PHONE, Visit, barriers, demand_fit
from house import House, sit_down
from players import player

pytestmark = pytest.mark.asyncio(loop_scope="session")

MOST = 5


async def graded(page: Page, match: str) -> list[dict[str, Any]]:
    told = await page.evaluate(f"fetch('/api/v1/matches/{match}/grades').then((answer) => answer.json())")
    return sorted(told["moves"], key=lambda move: -move["gave_away"])


async def test_the_moves_that_gave_most_away_are_listed_and_shown_on_the_board(
    stored: Visit, kept: dict[str, str]
) -> None:
    stored.size = PHONE
    page = await stored.open("/matches/{duel}")
    await page.get_by_role("tab", name="Grades").click()
    section = page.get_by_role("region", name="worst moves")
    moves = await graded(page, kept["duel"])
    bots = {move["seat"]: move["bot"] for move in moves}
    assert len(bots) == 2
    for seat, bot in bots.items():
        await section.get_by_role("combobox").select_option(bot)
        worst = [move for move in moves if move["seat"] == seat and move["gave_away"] >= 0.001][:MOST]
        assert worst
        buttons = section.get_by_role("button")
        await expect(buttons).to_have_count(len(worst))
        for at, move in enumerate(worst):
            await expect(buttons.nth(at)).to_contain_text(f"gave away {50 * move['gave_away']:.1f} %")
        for one, other in pairwise(worst):
            assert one["gave_away"] >= other["gave_away"]
        await buttons.first.click()
        await expect(buttons.first).to_have_attribute("aria-pressed", "true")
        await expect(page.locator(".board-told")).to_contain_text(worst[0]["notation"].replace(" > ", " → "))
    await demand_fit(page)


@pytest.mark.parametrize("game", ["duel", pytest.param("campaign", marks=pytest.mark.nightly)])
async def test_the_worst_moves_are_at_first_those_of_who_lost_or_of_the_bot_whose_list_led_here(
    stored: Visit, kept: dict[str, str], game: str
) -> None:
    page = await stored.open("/play")
    document = await page.evaluate(f"fetch('/api/v1/matches/{kept[game]}').then((answer) => answer.json())")
    bots, ranks = [seat["bot"] for seat in document["header"]["seats"]], document["footer"]["ranks"]
    lost = bots[ranks.index(max(ranks))]
    for query, expected in [("", lost), *((f"?bot={bot.upper()}", bot) for bot in bots), ("?bot=nobody", lost)]:
        await page.goto(f"{stored.home}/matches/{kept[game]}{query}")
        await page.get_by_role("tab", name="Grades").click()
        chosen = page.get_by_role("tabpanel").get_by_role("combobox").locator("option:checked")
        await expect(chosen).to_have_text(expected)


async def test_who_played_a_match_sees_their_own_worst_moves(stored: Visit, kept: dict[str, str]) -> None:
    page = await stored.open("/play")
    bots = {move["bot"] for move in await graded(page, kept["duel"])}
    for bot in bots:
        await page.evaluate(
            f"localStorage.setItem('arena.identity', {json.dumps(json.dumps({'bot': bot.upper(), 'tokens': {}}))})"
        )
        await page.goto(f"{stored.home}/matches/{kept['duel']}")
        await page.get_by_role("tab", name="Grades").click()
        section = page.get_by_role("region", name="worst moves")
        await expect(section.get_by_role("heading")).to_have_text("Your costliest moves")
        await expect(section.get_by_role("combobox")).to_have_count(0)
        worst = next(move for move in await graded(page, kept["duel"]) if move["bot"] == bot)
        await expect(section.get_by_role("button").first).to_contain_text(f"{50 * worst['gave_away']:.1f} %")


async def test_after_a_match_a_person_looks_back_at_their_worst_moves(visit: Visit, house: House) -> None:
    visit.size = PHONE
    async with player(house.url, f"rival-{secrets.token_hex(4)}", follow=True) as rival:
        await rival.seek("nim", open=True)
        page = await sit_down(visit, f"person-{secrets.token_hex(4)}", f"game=nim&opponent={rival.name}")
        start = await rival.begin()
        seat = 1 - start["seat"]
        while (told := await rival.expect("turn", "end"))["type"] != "end":
            if "legal" in told:
                await rival.move(told, told["legal"][0])
            else:
                await page.locator(".status", has_text="Your move.").wait_for()
                await page.locator(".board [role='button']").first.click()
        section = page.get_by_role("region", name="worst moves")
        await expect(section.get_by_role("heading")).to_have_text("Your costliest moves")
        worst = [move for move in await graded(page, start["match"]) if move["seat"] == seat and move["gave_away"]]
        assert worst
        button = section.get_by_role("button").first
        await expect(button).to_contain_text(f"move {worst[0]['ply'] + 1}: ")
        await expect(button).to_contain_text(f"gave away {50 * worst[0]['gave_away']:.1f} %")
        await button.click()
        taken = worst[0]["move"]
        await expect(page.locator(".board-told")).to_contain_text(f"{taken['take']} from heap {taken['heap'] + 1}")
        better = worst[0]["best"]
        await expect(button).to_contain_text(f"better: {better['take']} from heap {better['heap'] + 1}")
        await demand_fit(page)
        await page.goto(f"{house.page}/matches/{start['match']}")
        await page.get_by_role("tab", name="Grades").click()
        await expect(page.get_by_role("region", name="worst moves")).to_contain_text("Your costliest moves")


def estimated(document: dict[str, Any], seat: int) -> tuple[dict[str, Any], list[int]]:
    """Estimates of a seat's moves that give away more and more, the first but noise; which moves the others are."""
    made = [(at, line["event"]) for at, line in enumerate(document["plies"], 1) if line["event"]["seat"] == seat][:4]
    graded = [
        {
            "ply": move["ply"],
            "seat": seat,
            "gave_away": 0.01 + 0.1 * at,
            "value": -0.1 * at,
            "best": {"do": "end"},
            "best_value": 0.01,
        }
        for at, (_, move) in enumerate(made)
    ]
    report = {"match": document["header"]["match"], "game": "risk-campaign", "moves": graded, "seats": []}
    numbers = [number for number, _ in made[:0:-1]]
    return report | {"estimate": "uct, 1,000 simulations a move", "noise": 0.05}, numbers


@pytest.mark.parametrize(
    "played", [pytest.param(False, id="asked for"), pytest.param(True, marks=pytest.mark.nightly, id="own")]
)
async def test_of_a_campaign_the_moves_of_a_seat_are_estimated_for_who_played_it_or_asks(
    stored: Visit, kept: dict[str, str], played: bool
) -> None:
    page = await stored.open("/play")
    document = await page.evaluate(f"fetch('/api/v1/matches/{kept['campaign']}').then((answer) => answer.json())")
    bot = document["header"]["seats"][2]["bot"]
    report, numbers = estimated(document, 2)
    asked = []

    async def answer(route: Route) -> None:
        asked.append(route.request.url.partition("?")[2])
        await route.fulfill(json=report)

    await page.route(re.compile(r"/grades\?"), answer)
    if played:
        me = json.dumps({"bot": bot, "tokens": {}})
        await page.evaluate("(me) => localStorage.setItem('arena.identity', me)", me)
    await page.goto(f"{stored.home}/matches/{kept['campaign']}")
    await page.get_by_role("tab", name="Grades").click()
    if not played:
        assert asked == []
        await page.get_by_label("Costs of the moves of").select_option(bot)
        await page.get_by_role("button", name="Estimate").click()
    section = page.get_by_role("region", name="worst moves")
    await expect(section.get_by_role("button")).to_have_count(len(numbers))
    await expect(section).to_contain_text("Estimated by uct, 1,000 simulations a move; costs below 2.5 %")
    assert asked == ["estimated=true&seat=2"]
    await section.get_by_role("button").first.click()
    await expect(page.locator(".timeline-place")).to_contain_text(f"move {numbers[0]} of")
    assert await barriers(page) == ""
