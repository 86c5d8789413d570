"""The owner of a hosted bot hands programs in on its page, and changes how it runs."""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import Literal

import msgspec
import pytest
from playwright.async_api import Page, expect

from arena.operator.bot_files import StoreMatchLog
from arena.operator.hosting import CheckVersion, RunBot
from arena.runner.hand_in import upload_file
from chromium import DESKTOP, PHONE, Visits, barriers, sideways
from hosted_runner import RECORD, joined
from in_process import hosting
from players import player, token_of
from protocol.match_logs import MatchLog, ProgramFault

pytestmark = pytest.mark.asyncio(loop_scope="session")


LOOKS = "**/api/v1/bots/mine/submissions"
"""The address at which the page looks at a check, again and again."""


async def next_look(page: Page) -> None:
    """Wait until the page has looked at a check once more."""
    async with page.expect_response(LOOKS):
        pass


@pytest.mark.parametrize(
    ("size", "theme"),
    [pytest.param(PHONE, "light", id="phone"), pytest.param(DESKTOP, "dark", marks=pytest.mark.ci, id="desktop")],
)
async def test_an_owner_hands_programs_in_and_changes_how_the_bot_runs(
    visiting: Visits, tmp_path: Path, size: tuple[int, int], theme: Literal["light", "dark"]
) -> None:
    async with (
        hosting(tmp_path / "data", "--hosting", "--web-port", "0") as arena,
        visiting(await arena.page(), size, theme) as visit,
        joined(arena) as runner,
    ):
        async with player(arena.url, "mine"):
            pass
        page = await visit.open("/bots/mine")
        state, wrong, rows = page.locator("#owner-state"), page.locator("#owner-wrong"), page.locator("#owner-rows tr")
        await page.get_by_text("For the owner of mine").click()
        token = page.get_by_label("The token of mine")
        await token.fill("x" * 20)
        await token.press("Enter")
        await expect(page.get_by_text("That is not the token of mine")).to_be_visible()
        await visit.expects("status of 401")
        await token.fill(token_of("mine"))
        await token.press("Enter")
        await expect(state).to_have_text("Nothing was handed in yet.")
        assert await barriers(page) == ""

        hand_in = page.get_by_role("button", name="Check and hand in this text")
        await hand_in.click()
        await expect(rows).to_contain_text(re.compile("waits for its check|is being checked"))
        check = await runner.next(CheckVersion)
        await page.get_by_label("Name of the file").fill("mine.txt")
        await hand_in.click()
        await expect(wrong).to_contain_text("ends in '.txt'")
        await visit.expects("status of 400")
        await next_look(page)
        await expect(wrong).to_contain_text("ends in '.txt'")
        await page.get_by_label("Name of the file").fill("mine.py")
        await page.route(LOOKS, lambda route: route.abort("connectionreset"))
        await expect(wrong).to_have_text("The arena does not answer.")
        await visit.expects("ERR_CONNECTION_RESET")
        await page.unroute(LOOKS)
        await next_look(page)
        await expect(wrong).to_be_empty()
        await runner.report(check, passed=True, report="ok, won against random", records={"nim": RECORD})
        await runner.next(RunBot)
        await expect(rows).to_contain_text("passed its check, plays now")
        await expect(page.locator("#owner-report")).to_contain_text("won against random")
        async with page.expect_download() as replay:
            await page.get_by_role("button", name="Save the match of Nim").click()
        assert (await replay.value).suggested_filename == "mine-1-nim.html"
        await page.get_by_label("Its text").fill("print(1)\n")
        await hand_in.click()
        await runner.report(await runner.next(CheckVersion), passed=False, report="failed <b>after 0 plies")
        await expect(page.locator("#owner-report")).to_have_text("failed <b>after 0 plies")
        await page.get_by_role("button", name="Edit version 1").click()
        await expect(page.get_by_label("Its text")).to_have_value(re.compile("class Mine"))
        await expect(page.get_by_label("Its text")).to_be_focused()

        show_logs = page.get_by_role("button", name="Show the newest logs")
        await show_logs.click()
        await expect(page.locator("#owner-found")).to_have_text("Its program has written nothing, and did not fail.")
        fault = ProgramFault(ply=3, what="ended with exit code 1", last_lines="KeyError: 3")
        log = MatchLog(match="m-1", text="heaps <b>\nKeyError: 3\n", faults=(fault,))
        upload = await upload_file(runner.ask, zlib.compress(msgspec.json.encode(log)))
        await runner.ask(StoreMatchLog(bot="mine", number=1, upload=upload))
        await page.get_by_label("With this text, or all").fill("keyerror")
        await show_logs.click()
        listed = page.locator("#owner-log-list li")
        await expect(listed).to_contain_text("at ply 3 its program ended with exit code 1KeyError: 3")
        await expect(listed.get_by_text("at ply 3")).to_have_attribute("href", "/matches/m-1#ply=3")
        await page.get_by_role("button", name="Log of m-1").click()
        await expect(page.locator("#owner-log")).to_contain_text("heaps <b>")
        await expect(page.locator("#owner-log")).to_be_focused()

        pause = page.get_by_role("button", name="Pause")
        await pause.click()
        await expect(state).to_have_text("Version 1 is paused.")
        await runner.end_bot("Mine")
        await page.get_by_role("button", name="Resume").click()
        await expect(state).to_contain_text("Version 1 plays")
        await runner.next(RunBot)
        await page.get_by_label("Play against, now").fill("ghost")
        await page.get_by_role("button", name="Start an unrated match").click()
        await expect(wrong).to_contain_text("Mine does not run now")
        await expect(page.get_by_role("button", name="Use version 2")).to_have_count(0)
        await page.get_by_role("button", name="Publish version 1").click()
        await expect(page.get_by_role("button", name="Unpublish version 1")).to_be_focused()
        async with page.expect_download() as download:
            await page.get_by_role("button", name="Download version 1").click()
        assert (await download.value).suggested_filename == "mine.py"
        assert await barriers(page) == ""
        assert await sideways(page) == 0

        await page.evaluate("location.hash = 'log=m-1'")
        await page.reload()
        await expect(page.locator("#owner-log")).to_contain_text("heaps <b>")
        await expect(state).to_contain_text("Version 1 plays")
        await page.get_by_text("Source of version 1, mine.py").click()
        await expect(page.locator("details pre").first).to_contain_text("class Mine")
        await page.get_by_role("button", name="Forget the token here").click()
        await expect(token).to_be_focused()
        await expect(rows.first).to_be_hidden()
