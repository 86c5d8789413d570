"""Every page in a real browser: nobody is kept out, nothing sticks out of it, nothing is complained of."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import pytest
from playwright.async_api import expect

from arena.web.pages import ROUTES
from chromium import DESKTOP, PHONE, Visit, Visits, barriers, demand_fit, out_of_reach, sideways

pytestmark = pytest.mark.asyncio(loop_scope="session")

BY_DAY = "looked at by day"
LIKE_ANOTHER = "the parts of one that is looked at by day, with other words: one size and theme will do"
ELSEWHERE = "a match with a board that another test looks at, or whose parts two of those before it have"
ADDRESSES = {
    "/": BY_DAY,
    "/leaderboard": BY_DAY,
    "/leaderboard/nim": LIKE_ANOTHER,
    "/leaderboard/nim/classic": BY_DAY,
    "/leaderboard/risk-duel/south-america": LIKE_ANOTHER,
    "/leaderboard/nim/classic?search=an&sort=played&order=asc": LIKE_ANOTHER,
    "/api": BY_DAY,
    "/bots/ann": BY_DAY,
    "/bots/ann?pool=nim/classic": LIKE_ANOTHER,
    "/bots/perfect": LIKE_ANOTHER,
    "/tournaments": BY_DAY,
    "/tournaments/{tournament}": BY_DAY,
    "/matches": BY_DAY,
    "/matches?game=nim&bot=ann&reason=timeout": LIKE_ANOTHER,
    "/matches/{nim}": ELSEWHERE,  # test_live
    "/matches/{duel}": BY_DAY,
    "/matches/{campaign}": ELSEWHERE,  # test_match_layout
    "/play": BY_DAY,
    "/rules/nim": BY_DAY,
    "/rules/grundy": LIKE_ANOTHER,
    "/rules/tictactoe": LIKE_ANOTHER,
    "/rules/risk-duel": LIKE_ANOTHER,
    "/rules/risk-campaign": ELSEWHERE,
    "/play/tutorial/risk-duel": BY_DAY,
    "/play/tutorial/risk-campaign": LIKE_ANOTHER,
    "/connect": BY_DAY,
    "/wall": BY_DAY,
    "/matches/{tictactoe}": ELSEWHERE,
    "/matches/{dilemma}": ELSEWHERE,  # test_rounds
    "/matches/{kuhn}": ELSEWHERE,  # test_hand_grades
    "/matches/{leduc}": ELSEWHERE,  # test_views
    "/rules/dilemma": BY_DAY,
    "/rules/kuhn": LIKE_ANOTHER,
    "/rules/leduc": LIKE_ANOTHER,
    "/leaderboard/dilemma/axelrod": BY_DAY,
    "/connect?bot=ann": LIKE_ANOTHER,
    "/download": BY_DAY,
    "/docs": BY_DAY,
    "/docs?q=clock+bank": BY_DAY,
    "/docs/writing-a-bot": BY_DAY,
    "/docs/ladder": LIKE_ANOTHER,
}
"""`{nim}` stands for the id that the library has under that name."""
NO_PAGES = ["/download/{file}", "/docs/", "/rules"]
"""Answered by where the page is, and by a file."""


async def test_every_page_is_looked_at() -> None:
    unseen = [route.path for route in ROUTES if not any(route.path_regex.match(address) for address in ADDRESSES)]
    assert unseen == NO_PAGES


@pytest.mark.parametrize(
    ("address", "size", "theme"),
    [
        *(
            pytest.param(
                address, PHONE, "light", marks=[pytest.mark.nightly] if kind != BY_DAY else [], id=f"{address}-phone"
            )
            for address, kind in ADDRESSES.items()
        ),
        *(
            pytest.param(address, DESKTOP, "dark", marks=pytest.mark.nightly, id=f"{address}-desktop")
            for address, kind in ADDRESSES.items()
            if kind != LIKE_ANOTHER
        ),
    ],
)
async def test_a_page_keeps_nobody_out_and_nothing_sticks_out_of_it(
    visiting: Visits,
    library: str,
    kept: dict[str, str],
    address: str,
    size: tuple[int, int],
    theme: Literal["light", "dark"],
) -> None:
    async with visiting(library, size, theme) as visit:
        page = await visit.open(address.format(**kept))
        await demand_fit(page)
        assert await out_of_reach(page) == []


async def test_on_paper_a_page_is_dark_on_light_whatever_its_theme(visiting: Visits, library: str) -> None:
    async with visiting(library, DESKTOP, "dark") as visit:
        page = await visit.open("/leaderboard")
        for theme in ("", "dark"):
            await page.evaluate("(theme) => (document.documentElement.dataset.theme = theme)", theme)
            await page.emulate_media(media="print")
            background = await page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
            assert background == "rgb(255, 255, 255)"


async def test_what_is_not_there_is_a_page_like_any_other(stored: Visit) -> None:
    page = await stored.open("/leaderboard/chess")
    assert await barriers(page) == ""
    await page.get_by_role("link", name="Go to the home page").click()
    await page.wait_for_url("**/")
    await stored.expects("status of 404")


@pytest.mark.parametrize("width", [360, pytest.param(390, marks=pytest.mark.nightly)])
async def test_the_ways_to_all_pages_fit_a_phone_in_two_lines_and_stand_apart(
    visiting: Visits, library: str, width: int
) -> None:
    async with visiting(library, (width, 844)) as visit:
        page = await visit.open("/matches")
        links = page.get_by_role("navigation", name="Pages", exact=True).get_by_role("link")
        names = ["Play", "Matches", "Leaderboard", "Tournaments", "Connect", "Docs"]
        await expect(links).to_have_text(names)
        boxes = [box for link in await links.all() if (box := await link.bounding_box())]
        assert len({box["y"] for box in boxes}) <= 2
        for one, other in pairwise(boxes):
            assert one["y"] != other["y"] or other["x"] - (one["x"] + one["width"]) >= 8
        assert await sideways(page) == 0
