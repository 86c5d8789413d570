"""A board that does not load, is not there, or can't be drawn: it is said, and no match is lost by it."""

from __future__ import annotations

import pytest
from playwright.async_api import Route, expect

from chromium import Visit, Visits
from house import House, sit_down
from players import meet, player

pytestmark = pytest.mark.asyncio(loop_scope="session")
UNDRAWN = """export default ({ Board }) => class extends Board {
  draw() { if (this.isPlayable) throw new Error("no picture\\nof it"); }
}"""


async def answer(visit: Visit, path: str, script: str | None) -> None:
    """Have a script of the page be another one, or fail to load."""

    async def handle(route: Route) -> None:
        if script is None:
            await route.abort("failed")
        else:
            await route.fulfill(body=script, content_type="text/javascript")

    await visit.context.route(f"**/{path}*", handle)


async def test_what_has_a_board_that_does_not_load_is_not_sought(visiting: Visits, house: House) -> None:
    async with visiting(house.page, fresh=True) as visit:
        await answer(visit, "games/nim/board.js", None)
        page = await sit_down(visit, "board-missing", "game=nim")
        await expect(page.locator("#failed")).to_have_text(
            "The board of Nim did not load, so no match was requested. Reload this page and try again."
        )
        await expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
        await visit.expects("nim/board.js")


async def test_a_match_whose_board_fails_at_the_first_turn_is_called_off_and_not_rated(
    visiting: Visits, house: House
) -> None:
    async with visiting(house.page, fresh=True) as visit, player(house.url, "board-rival") as rival:
        await answer(visit, "games/nim/board.js", UNDRAWN)
        await rival.seek("nim", open=True)
        page = await sit_down(visit, "board-broken", "game=nim&preset=classic&opponent=board-rival")
        start = await rival.begin()
        assert start["rated"]
        told = await rival.expect("turn", "end")
        if told["type"] == "turn":
            await rival.move(told)
            told = await rival.expect("end")
        assert told["reason"] == "void"
        assert not any("mu_after" in seat for seat in told["seats"])
        await expect(page.locator("#failed")).to_have_text(
            "This page can’t show your match of Nim. The match is called off and not rated. "
            "Reload the page before you try again."
        )
        await visit.expects("no picture")


async def test_a_match_whose_board_does_not_load_is_still_read_move_by_move(
    visiting: Visits, library: str, kept: dict[str, str]
) -> None:
    async with visiting(library, fresh=True) as visit:
        await answer(visit, "games/nim/board.js", None)
        page = await visit.open(f"/matches/{kept['nim']}")
        await expect(page.locator(".viewer")).to_contain_text("This page has no board for Nim.")
        await expect(page.locator("table tbody tr:not(.spacer)").first).to_be_visible()
        await visit.expects("nim/board.js")


async def test_without_the_scripts_of_a_game_pages_show_the_rest_and_say_no_more_than_that_they_did_not_load(
    visiting: Visits, house: House
) -> None:
    async with (
        visiting(house.page, fresh=True) as visit,
        player(house.url, "ann", slots=2) as ann,
        player(house.url, "bob", slots=2) as bob,
    ):
        await answer(visit, "games/nim/", None)
        await meet(ann, bob)
        page = await visit.open("/")
        await expect(page.get_by_role("region", name="Live now").get_by_role("listitem")).to_have_count(2)
        for one, other in ((ann, "bob"), (bob, "ann")):
            await one.seek("tictactoe", opponent=other)
        for one in (ann, bob):
            await one.begin()
        await page.goto(f"{house.page}/wall")
        await expect(page.locator(".wall-match").get_by_role("heading")).to_contain_text(["Tic-tac-toe"])
        await page.goto(f"{house.page}/rules/nim")
        await expect(page.get_by_role("heading", level=1)).to_be_visible()
        await visit.expects("games/nim/")


async def test_a_verification_without_the_rules_of_the_game_says_so(
    visiting: Visits, library: str, kept: dict[str, str]
) -> None:
    async with visiting(library, fresh=True) as visit:
        await answer(visit, "games/nim/check.js", None)
        page = await visit.open("/")
        await expect(page.get_by_role("region", name="The latest match")).to_contain_text("at Nim, classic")
        await page.goto(f"{library}/matches/{kept['nim']}")
        await page.get_by_role("tab", name="Verify").click()
        await page.get_by_role("button", name="Verify in this browser").click()
        await expect(page.locator(".verdict")).to_contain_text("did not load")
        await visit.expects("nim/check.js")


async def test_a_lesson_whose_board_does_not_load_says_so(visiting: Visits, house: House) -> None:
    async with visiting(house.page, fresh=True) as visit:
        await answer(visit, "games/risk/duel-board.js", None)
        page = await visit.open("/play/tutorial/risk-duel")
        await expect(page.get_by_role("alert")).to_have_text("The board did not load. Reload this page and try again.")
        await visit.expects("duel-board.js")
