"""A name is registered on the page, and a program comes in with its token."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from playwright.async_api import expect

from chromium import PHONE, Visits, barriers
from processes import run, serving

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.ci
async def test_a_name_is_registered_once_and_its_token_lets_a_program_in(visiting: Visits, tmp_path: Path) -> None:
    async with serving(tmp_path / "data", "--web-port", "0") as arena, visiting(await arena.page(), PHONE) as visit:
        page = await visit.open("/connect?bot=zoe")
        await expect(page.locator("#address")).to_have_text(arena.url)
        await expect(page.locator("#javascript-run")).to_have_text("node my_bot.mjs")
        await page.get_by_role("button", name="Register it").click()
        await expect(page.get_by_text("zoe is yours.")).to_be_visible()
        token = await page.locator("#token").inner_text()
        assert await barriers(page) == ""
        await expect(page.locator("#javascript-run")).to_have_text(f"ARENA_TOKEN={token} node my_bot.mjs")
        await page.get_by_role("button", name="Copy the token").click()
        await page.get_by_role("button", name="Register it").click()
        await expect(page.get_by_text("Somebody owns the name zoe already: choose another.")).to_be_visible()
        await page.get_by_label("Name to register").fill("zoe-2")
        await page.get_by_role("button", name="Register it").click()
        await expect(page.get_by_text("zoe-2 is yours.")).to_be_visible()
        await expect(page.locator("#javascript-run")).to_have_text(f"ARENA_TOKEN={token} node my_bot.mjs")
        await page.get_by_label("Name to register").fill("no spaces")
        await page.get_by_role("button", name="Register it").click()
        await expect(page.get_by_text("A name has 1 to 32 letters")).to_be_visible()
        assert await barriers(page) == ""
        seek = ["--game", "nim", "--matches", "1", "--url", arena.url]
        watching = run("arena-bot", "run", "random", "--open", *seek, folder=tmp_path)
        playing = run("arena-bot", "run", "random", "--name", "zoe", *seek, folder=tmp_path, ARENA_TOKEN=token)
        (code, out, err), _ = await asyncio.gather(playing, watching)
        assert (code, err) == (0, "")
        assert "zoe: connected" in out
