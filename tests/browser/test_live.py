"""What is under way, in a browser: watched to its end, and through a restart of the server."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest
from playwright.async_api import expect

from chromium import Visit, Visits, barriers
from conftest import free_port
from house import House, house_process, sit_down
from players import answer, meet, player

pytestmark = pytest.mark.asyncio(loop_scope="session")

GONE = "WebSocket connection to|net::ERR_CONNECTION_|net::ERR_EMPTY_RESPONSE|net::ERR_CONTENT_LENGTH_MISMATCH"
"""What is said of an arena that was killed, or ended, also of the icon, for which a browser asks when it likes."""
GIVE_UP = """async () => {
  const script = document.querySelector("script[src*='/static/']").src;
  const { ArenaSocket, arenaAddress } = await import(script.replace(/([/]static[/][^/]+[/]).*/, "$1arena-socket.js"));
  const socket = new ArenaSocket(arenaAddress());
  socket.start();
  socket.stop();
}"""


def lasting() -> tuple[tuple[str, ...], str]:
    """Options by which an arena comes back where it was, and the URL of its page."""
    port, web_port = free_port(), free_port()
    return ("--port", str(port), "--web-port", str(web_port)), f"http://127.0.0.1:{web_port}"


async def test_the_page_of_a_match_that_the_arena_does_not_know_says_so(visit: Visit, house: House) -> None:
    page = await visit.open("/matches/xyz")
    await expect(page.get_by_role("heading", name="No such match")).to_be_visible()
    await expect(page).to_have_title("No such match · Bot Arena")
    await expect(page.get_by_role("alert")).to_have_text("There is no match xyz, neither live nor stored. All matches")
    await visit.expects("404.*/api/v1/matches/xyz")
    await page.get_by_role("link", name="All matches").click()
    await expect(page).to_have_url(f"{house.page}/matches")


async def test_a_match_is_watched_to_its_end_while_two_bots_play(visit: Visit, house: House) -> None:
    async with player(house.url, "ann", follow=True) as ann, player(house.url, "bob") as bob:
        page = await visit.open("/matches")
        start = await meet(ann, bob)
        await page.locator(f"a[href='/matches/{start['match']}']").first.click()
        await expect(page.locator(".board .counter")).to_have_count(15)
        left = 15
        while (told := await ann.expect("turn", "end"))["type"] == "turn":
            left = sum(told["state"]["heaps"])
            await expect(page.locator(".board .counter:not(.ghost)")).to_have_count(left)
            await answer(told, ann, bob)
        assert left > 0
        await expect(page.locator(".ending")).to_contain_text(re.compile(r"won\w+ took the last counter\.$"))
        await page.get_by_role("link", name="ratings and downloads").click()
        await page.get_by_role("tab", name="Details").click()
        await expect(page.get_by_role("heading", name="Result")).to_be_visible()
        assert await barriers(page) == ""


async def test_a_live_match_is_marked_and_is_played_again_only_from_where_one_went_back(
    visit: Visit, house: House
) -> None:
    async with player(house.url, "eve", follow=True) as eve, player(house.url, "fay") as fay:
        start = await meet(eve, fay)
        await answer(await eve.expect("turn"), eve, fay)
        page = await visit.open(f"/matches/{start['match']}")
        await expect(page.locator("#course .live")).to_have_text("LIVE")
        play = page.get_by_role("button", name="play (Space)")
        await expect(play).to_be_hidden()
        await page.get_by_role("button", name="back (←)").click()
        await expect(play).to_be_visible()
        await page.get_by_role("button", name="last (End)").click()
        await expect(play).to_be_hidden()


@pytest.mark.nightly
async def test_a_match_that_was_joined_late_is_verified_from_its_record(visit: Visit, house: House) -> None:
    async with player(house.url, "cas", follow=True) as cas, player(house.url, "dee") as dee:
        start = await meet(cas, dee)

        async def play(least: int) -> None:
            """Play until the match is over, or so many moves have been made."""
            while (told := await cas.expect("turn", "end"))["type"] == "turn":
                await answer(told, cas, dee)
                if told["ply"] >= least:
                    return

        await play(2)
        page = await visit.open(f"/matches/{start['match']}")
        await expect(page.locator(".timeline-place")).to_contain_text("move 3 of")
        await play(99)
        await page.get_by_role("tab", name="Verify").click()
        await page.get_by_role("button", name="Verify in this browser").click()
        await expect(page.locator(".verdict")).to_contain_text("✓ Verified")


@pytest.mark.nightly
async def test_after_a_restart_the_page_comes_back_and_the_match_goes_on(visiting: Visits, tmp_path: Path) -> None:
    options, home = lasting()
    async with visiting(home, fresh=True) as visit:
        async with house_process(tmp_path, *options) as house, player(house.url, "ann", follow=True) as ann:
            await ann.seek("nim", open=True)
            page = await sit_down(visit, "paula", "game=nim&preset=classic&opponent=ann")
            start = await ann.begin()
            turn = await ann.expect("turn")
            house.served.process.send_signal(signal.SIGKILL)
            await expect(page.locator("#connection")).to_be_visible()
        async with house_process(tmp_path, *options) as house, player(house.url, "ann", follow=True) as ann:
            again = await ann.begin()
            assert again["match"] == start["match"]
            assert (await ann.expect("turn"))["ply"] == turn["ply"]
            await expect(page.locator("#connection")).to_be_hidden()
            await expect(page.locator(".status")).to_contain_text(
                "Your move." if turn["to_move"] != start["seat"] else "is to move."
            )
        visit.forgives(GONE)  # there are some if the page tried again before the arena was back


@pytest.mark.nightly
@pytest.mark.parametrize("path", ["/", "/leaderboard", "/matches"])
async def test_after_a_restart_a_table_is_renewed(visiting: Visits, tmp_path: Path, path: str) -> None:
    options, home = lasting()
    async with visiting(home, fresh=True) as visit:
        async with house_process(tmp_path, *options) as house:
            page = await visit.open(path)
            house.served.process.send_signal(signal.SIGKILL)
            await expect(page.locator("#connection")).to_be_visible()
        renewed = page.expect_response(lambda answer: answer.request.resource_type == "xhr")
        async with house_process(tmp_path, *options):
            async with renewed as answer:
                await expect(page.locator("#connection")).to_be_hidden()
            await (await answer.value).finished()  # a house that ends before cuts it off, of which the page complains
        visit.forgives(GONE)  # there are some if the page tried again before the arena was back


async def test_a_connection_that_is_given_up_before_it_stands_is_closed_without_a_complaint(visit: Visit) -> None:
    page = await visit.open("/connect")
    async with page.expect_websocket() as opened:
        await page.evaluate(GIVE_UP)
    socket = await opened.value
    if not socket.is_closed():
        await socket.wait_for_event("close")
