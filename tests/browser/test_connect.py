"""A name is registered on the page, and a program comes in with its token."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from playwright.async_api import expect

from chromium import PHONE, Visit, Visits, barriers
from house import House, sit_down
from players import player
from processes import run, serving

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.nightly
async def test_a_name_is_registered_once_and_its_token_lets_a_program_in(visiting: Visits, tmp_path: Path) -> None:
    async with serving(tmp_path / "data", "--web-port", "0") as arena, visiting(await arena.page(), PHONE) as visit:
        page = await visit.open("/connect?bot=zoe")
        name, register = page.get_by_label("Your bot’s name"), page.get_by_role("button", name="Reserve it now")
        code, complaint = page.locator("#python"), page.locator("#bot-wrong")
        await expect(code).to_contain_text(f'run(Mine("zoe"), url="{arena.url}")')
        await register.click()
        await expect(page.get_by_text("This browser keeps the token of zoe.")).to_be_visible()
        await expect(register).to_be_hidden()
        found = re.search(
            r'run\(Mine\("zoe"\), url="[^"]+", token="([\w-]+={0,2})"\)\n', await code.inner_text() + "\n"
        )
        assert found
        token = found[1]
        assert await barriers(page) == ""
        await page.get_by_text("A bot in JavaScript").click()
        await expect(page.locator("#javascript-run")).to_have_text(f"ARENA_TOKEN={token} node my_bot.mjs")
        await page.get_by_role("button", name="Copy the Python code").click()
        await name.fill("no spaces")
        await expect(code).to_contain_text('run(Mine("zoe"), url=')
        await register.click()
        await expect(complaint).to_contain_text("A name has 1 to 32 letters")
        assert await barriers(page) == ""
        await name.fill("zoe-2")
        await expect(code).to_contain_text(f'run(Mine("zoe-2"), url="{arena.url}")')
        again = await visit.open("/connect?bot=zoe")
        await expect(again.locator("#python")).to_contain_text(f'token="{token}"')
        assert token not in again.url
        async with visiting(await arena.page()) as other:
            theirs = await other.open("/connect?bot=ZOE")
            await theirs.get_by_role("button", name="Reserve it now").click()
            await expect(theirs.get_by_text("The name ZOE is taken: choose another.")).to_be_visible()
            await expect(theirs.locator("#token-in-code")).to_have_text("")
        seek = ["--game", "nim", "--matches", "1", "--url", arena.url]
        watching = run("arena-bot", "run", "random", "--open", *seek, folder=tmp_path)
        playing = run("arena-bot", "run", "random", "--name", "zoe", *seek, folder=tmp_path, ARENA_TOKEN=token)
        (code, out, err), _ = await asyncio.gather(playing, watching)
        assert (code, err) == (0, "")
        assert "zoe: connected" in out


async def test_the_game_beside_the_command_is_put_into_it(visit: Visit) -> None:
    visit.size = PHONE
    page = await visit.open("/connect")
    command, game = page.locator("#python-run"), page.get_by_label("Game", exact=True)
    await expect(command).to_have_text("python my_bot.py --game nim")
    await game.select_option("Risk: the duel")
    await expect(command).to_have_text("python my_bot.py --game risk-duel")
    await expect(page.locator("#javascript")).to_contain_text('seek", id: "first", game: "risk-duel"')
    assert await barriers(page) == ""
    await page.reload()
    await expect(command).to_have_text(f"python my_bot.py --game {await game.input_value()}")


async def test_a_name_that_was_refused_on_the_play_page_has_no_token_in_its_code(visit: Visit, house: House) -> None:
    async with player(house.url, "owner"):
        page = await sit_down(visit, "owner", "game=nim")
        await expect(page.locator("#wrong-bot")).to_have_text(
            "The name owner is taken: choose another, or enter its token."
        )
        await page.goto(f"{house.page}/connect?bot=owner")
        await expect(page.get_by_role("button", name="Reserve it now")).to_be_visible()
        await expect(page.locator("#token-in-code")).to_have_text("")
        assert "keeps the token" not in await page.locator("#owning").inner_text()


async def test_a_name_that_was_accepted_on_the_play_page_has_its_token_in_its_code(visit: Visit, house: House) -> None:
    async with player(house.url, "host") as host:
        await host.seek(open=True)
        page = await sit_down(visit, "newcomer", f"game=nim&opponent={host.name}")
        await host.begin()  # so the page was told that the name is accepted
        await page.goto(f"{house.page}/connect?bot=newcomer")
        await expect(page.get_by_text("This browser keeps the token of newcomer.")).to_be_visible()
        await expect(page.locator("#token-in-code")).to_contain_text("token=")


async def test_the_results_that_are_asked_for_come_into_sight(visit: Visit, house: House) -> None:
    visit.size = PHONE
    async with player(house.url, "owner"):
        page = await visit.open("/connect")
        for name in ("owner", "nobody-yet"):
            await page.get_by_label("Your bot’s name").fill(name)
            await page.get_by_role("button", name="Its results").click()
            await expect(page.get_by_role("heading", name=f"Results of {name}")).to_be_in_viewport()
        await page.evaluate("window.before = true")
        await page.get_by_role("button", name="Its results").click()
        await page.wait_for_function("window.before === undefined")
        await expect(page.get_by_role("heading", name="Results of nobody-yet")).to_be_in_viewport()
