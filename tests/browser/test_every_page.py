"""Every page in a real browser: nobody is kept out, nothing sticks out of it, nothing is complained of."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import pytest
from playwright.async_api import expect

from arena.web.pages import ROUTES
from chromium import DESKTOP, PHONE, Visit, Visits, barriers, demand_fit, out_of_reach, sideways

pytestmark = pytest.mark.asyncio(loop_scope="session")

ADDRESSES = (
    "/",
    "/leaderboard",
    "/leaderboard/nim",
    "/leaderboard/nim/classic",
    "/leaderboard/risk-duel/south-america",
    "/leaderboard/nim/classic?search=an&sort=played&order=asc",
    "/api",
    "/bots/ann",
    "/bots/ann?pool=nim/classic",
    "/bots/perfect",
    "/tournaments",
    "/tournaments/{tournament}",
    "/matches",
    "/matches?game=nim&bot=ann&reason=timeout",
    "/matches/{nim}",
    "/matches/{duel}",
    "/matches/{campaign}",
    "/play",
    "/rules/nim",
    "/rules/grundy",
    "/rules/tictactoe",
    "/rules/risk-duel",
    "/rules/risk-campaign",
    "/play/tutorial/risk-duel",
    "/play/tutorial/risk-campaign",
    "/connect",
    "/wall",
    "/matches/{tictactoe}",
    "/matches/{dilemma}",
    "/matches/{kuhn}",
    "/matches/{leduc}",
    "/rules/dilemma",
    "/rules/kuhn",
    "/rules/leduc",
    "/leaderboard/dilemma/axelrod",
    "/connect?bot=ann",
    "/download",
    "/docs",
    "/docs?q=clock+bank",
    "/docs/writing-a-bot",
    "/docs/ladder",
)
"""`{nim}` stands for the id that the library has under that name."""
LIKE_OTHERS = {
    "/leaderboard/nim",
    "/leaderboard/risk-duel/south-america",
    "/leaderboard/nim/classic?search=an&sort=played&order=asc",
    "/bots/ann?pool=nim/classic",
    "/bots/perfect",
    "/matches?game=nim&bot=ann&reason=timeout",
    "/rules/grundy",
    "/rules/tictactoe",
    "/rules/risk-duel",
    "/rules/kuhn",
    "/rules/leduc",
    "/play/tutorial/risk-campaign",
    "/connect?bot=ann",
    "/docs/ladder",
}
"""Pages that have other words than one before them, and the same parts: one size and theme will do."""
LOOKED_AT_ELSEWHERE = {
    "/matches/{nim}",  # test_live
    "/matches/{tictactoe}",
    "/matches/{campaign}",  # test_match_layout
    "/matches/{dilemma}",  # test_rounds
    "/matches/{kuhn}",  # test_hand_grades
    "/matches/{leduc}",  # test_views
    "/rules/risk-campaign",
}
"""Pages of a match with a board that another test looks at, or whose parts two of those before them have."""
NO_PAGES = ["/download/{file}", "/docs/", "/rules"]
"""Answered by where the page is, and by a file."""
MISSING = ("/nowhere", "/leaderboard/chess", "/matches/nothing", "/bots/nobody", "/tournaments/none", "/docs/none")


async def test_every_page_is_looked_at() -> None:
    unseen = [route.path for route in ROUTES if not any(route.path_regex.match(address) for address in ADDRESSES)]
    assert unseen == NO_PAGES
    assert set(ADDRESSES) > LIKE_OTHERS


@pytest.mark.parametrize(
    ("address", "size", "theme"),
    [
        *(
            pytest.param(
                address,
                PHONE,
                "light",
                marks=[pytest.mark.nightly] if address in LIKE_OTHERS | LOOKED_AT_ELSEWHERE else [],
                id=f"{address}-phone",
            )
            for address in ADDRESSES
        ),
        *(
            pytest.param(address, DESKTOP, "dark", marks=pytest.mark.nightly, id=f"{address}-desktop")
            for address in ADDRESSES
            if address not in LIKE_OTHERS
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


@pytest.mark.parametrize(
    "address",
    [MISSING[1], *(pytest.param(address, marks=pytest.mark.nightly) for address in MISSING if address != MISSING[1])],
)
async def test_what_is_not_there_is_a_page_like_any_other(stored: Visit, address: str) -> None:
    page = await stored.open(address)
    assert await barriers(page) == ""
    await page.get_by_role("link", name="Go to the home page").click()
    await page.wait_for_url("**/")
    stored.expects("status of 404")


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
