"""The operator's pages in a real browser: with scripts and without, for everybody, and attacked by another page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from admin_server import AdminServer, admin_server
from arena.store.bot_versions import add_version, end_check
from arena.store.incident import Incident
from arena.store.registry import log_incident
from arena.store.store import Store
from chromium import DESKTOP, PHONE, Visits, barriers, sideways
from house import page_elsewhere
from players import player

pytestmark = pytest.mark.asyncio(loop_scope="session")
PAGES = (
    "/admin",
    "/admin/add",
    "/admin/matches",
    "/admin/seasons",
    "/admin/tournaments",
    "/admin/hosting",
    "/admin/plans",
    "/admin/log",
)
SCRIPT = "<img src=x onerror=alert(1)><script>alert(1)</script>"
HOUSE = ("greedy", "random")
ASK = """async (method) => {
  const body = method === "POST" ? new URLSearchParams("token=x") : null;
  const told = await fetch("/admin/sign-in", { method, body });
  return [told.status, await told.text()];
}"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[AdminServer]:
    """One for the tests of this file, with bots, of whom something hostile is known."""
    async with admin_server(tmp_path_factory.mktemp("admin"), "--hosting") as server, AsyncExitStack() as stack:
        operator = await server.operator()
        await operator.post("/admin/add", [("names", "anna\nben\ncleo\ndora")])
        with closing(Store.open(server.served.data / "arena.db", checkpoint=False)) as store:
            store.write(log_incident, "anna", Incident(at="2026-11-25T00:00:00.000Z", code="4000", text=SCRIPT))
            version = store.write(add_version, "anna", "1" * 64, b"zip", '{"games": ["nim"]}')
            store.write(end_check, version.id, passed=False, report=SCRIPT)
        await operator.told("/admin/bots", ("bot", SCRIPT), ("do", "revoke"), ("sure", "yes"))
        for bot in HOUSE:
            await stack.enter_async_context(player(server.served.url, bot))
        yield server


async def sign_in(page: Page, token: str) -> None:
    await page.get_by_label("The operator’s token").fill(token)
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("heading", name="Bots")).to_be_visible()


@pytest.mark.parametrize(
    ("size", "theme"),
    [pytest.param(PHONE, "light", id="phone"), pytest.param(DESKTOP, "dark", marks=pytest.mark.ci, id="desktop")],
)
async def test_every_page_of_the_operator_keeps_nobody_out_and_runs_nothing_that_it_shows(
    visiting: Visits, server: AdminServer, theme: Literal["light", "dark"], size: tuple[int, int]
) -> None:
    async with visiting(server.url, size, theme, fresh=True) as visit:
        page = await visit.open("/admin")
        page.on("dialog", lambda dialog: visit.complaints.append(f"a script ran: {dialog.message}"))
        assert await barriers(page) == ""
        await sign_in(page, server.token)
        for address in PAGES:
            await page.goto(server.url + address)
            assert await barriers(page) == "", address
            assert await sideways(page) == 0, address
        await page.goto(f"{server.url}/admin")
        await expect(page.get_by_text(SCRIPT)).to_be_visible()
        await page.get_by_label("Select anna").check()
        await page.get_by_role("button", name="New token…").click()
        sure = page.get_by_role("button", name="Make a new token")
        await expect(sure).to_be_visible()
        assert await barriers(page) == ""
        await sure.click()
        await expect(page.get_by_role("link", name="Save as tokens.csv")).to_be_visible()
        assert await barriers(page) == ""


async def test_the_roster_is_looked_at_again_and_leaves_chosen_what_is_chosen(
    visiting: Visits, server: AdminServer
) -> None:
    operator = await server.operator()
    await operator.post("/admin/add", [("names", "gus")])
    async with visiting(server.url) as visit:
        page = await visit.open("/admin")
        await sign_in(page, server.token)
        row = page.get_by_role("row").filter(has=page.get_by_label("Select gus"))
        await expect(row).to_contain_text("offline")
        await operator.told("/admin/bots", ("bot", "gus"), ("do", "revoke"), ("sure", "yes"))
        await expect(row).to_contain_text("revoked")
        for bot in ("anna", "gus"):
            await page.get_by_label(f"Select {bot}").check()
        await page.get_by_label("Name", exact=True).focus()
        await operator.post("/admin/bots", [("bot", "gus"), ("do", "rotate"), ("sure", "yes")])
        await expect(row).not_to_contain_text("revoked")
        for bot in ("anna", "gus"):
            await expect(page.get_by_label(f"Select {bot}")).to_be_checked()


async def test_names_come_from_a_file_and_their_tokens_go_into_one(
    visiting: Visits, server: AdminServer, tmp_path: Path
) -> None:
    names = tmp_path / "names.csv"
    names.write_text("name,group\neve,1\nfay,2\n")
    async with visiting(server.url) as visit:
        page = await visit.open("/admin")
        await sign_in(page, server.token)
        await page.get_by_role("link", name="Add bots").click()
        await page.get_by_label("Or load them from a file").set_input_files(names)
        await expect(page.get_by_label("Names, one on each line")).to_have_value(names.read_text())
        await page.get_by_role("button", name="Add bots").click()
        async with page.expect_download() as saving:
            await page.get_by_role("link", name="Save as tokens.csv").click()
        saved = await saving.value
        assert saved.suggested_filename == "tokens.csv"
        await saved.save_as(tmp_path / "tokens.csv")
        lines = (tmp_path / "tokens.csv").read_text().splitlines()
        assert [line.rpartition(",")[0] for line in lines] == ["name,group", "eve,1", "fay,2"]


async def test_all_of_it_works_without_a_script(visiting: Visits, server: AdminServer) -> None:
    async with visiting(server.url, java_script_enabled=False) as visit:
        page = await visit.open("/admin")
        await sign_in(page, server.token)
        await page.get_by_label("Select ben").check()
        await page.get_by_label("Select cleo").check()
        await page.get_by_role("button", name="Revoke…").click()
        await page.get_by_role("button", name="Revoke", exact=True).click()
        await expect(page.get_by_role("status").filter(has_text="Revoked: ben, cleo.")).to_be_visible()
        await page.get_by_role("link", name="Tournaments").last.click()
        for bot in HOUSE:
            await page.get_by_role("checkbox", name=bot).check()
        await page.get_by_role("button", name="Start", exact=True).click()
        await expect(page.get_by_role("status").filter(has_text="has started.")).to_be_visible()
        await page.get_by_role("link", name="Log").click()
        await expect(page.get_by_role("row").nth(1)).to_contain_text("started a tournament: nim, greedy, random")
        await page.get_by_role("button", name="Sign out").click()
        await expect(page.get_by_text("You are signed out.")).to_be_visible()
        await page.goto(f"{server.url}/admin/log")
        await expect(page.get_by_label("The operator’s token")).to_be_visible()


async def test_a_tournament_is_seen_as_it_goes_without_a_click(visiting: Visits, server: AdminServer) -> None:
    operator = await server.operator()
    url = server.served.url
    usual = {"pool": "nim/classic", "format": "round-robin", "rounds": "2", "clock": "10+0.1", "wait": "60"}
    async with player(url, "hal") as hal, player(url, "ida") as ida, visiting(server.url) as visit:
        fields = [("bot", bot.name) for bot in (hal, ida)]
        said = await operator.told("/admin/tournaments", *fields, *usual.items(), ("do", "start"))
        name = said.split()[2]
        page = await visit.open("/admin")
        await sign_in(page, server.token)
        await page.goto(f"{server.url}/admin/tournaments")
        stop = page.get_by_role("button", name=f"Stop {name}")
        progress = page.locator(".going", has=stop).get_by_role("progressbar")  # that of another test may go on
        await expect(progress).to_have_attribute("value", "0")
        for bot in (hal, ida):
            await bot.begin()
        async with asyncio.TaskGroup() as playing:
            for bot in (hal, ida):
                playing.create_task(bot.play())
        await expect(progress).to_have_attribute("value", "1")
        await stop.click()
        await expect(page.get_by_role("button", name=f"Continue {name}")).to_be_visible()


async def test_a_page_elsewhere_can_neither_send_a_form_nor_read_or_frame_a_page(
    visiting: Visits, server: AdminServer
) -> None:
    operator = await server.operator()
    form = f"""<form method="post" action="{server.url}/admin/bots"><input name="csrf" value="{operator.csrf}">
        <input name="bot" value="dora"><input name="do" value="revoke"><input name="sure" value="yes">
        <button>Win</button></form><iframe src="{server.url}/admin"></iframe>"""
    async with visiting(server.url, fresh=True) as visit:
        with page_elsewhere(form) as evil:
            page = await visit.open("/admin")
            await sign_in(page, server.token)
            await page.goto(evil)
            fetched = "url => fetch(url, {credentials: 'include'}).then(told => told.text()).catch(() => 'refused')"
            assert await page.evaluate(fetched, f"{server.url}/admin") == "refused"
            assert page.frames[1].url in ("chrome-error://chromewebdata/", "about:blank", f"{server.url}/admin")
            assert "dora" not in await page.frames[1].content()
            await page.get_by_role("button", name="Win").click()
            await expect(
                page.get_by_text("This form was sent from another site, and nothing was changed.")
            ).to_be_visible()
            visit.forgives("")  # the browser tells of what it refused
    assert not (await server.bots())["dora"].revoked


async def test_a_page_whose_name_is_led_here_reads_and_sends_nothing(tmp_path: Path, browser: Browser) -> None:
    # behind a proxy the page as a whole answers to any name
    async with admin_server(tmp_path, "--trusted-proxy", "127.0.0.1") as server:
        evil = f"http://evil.example:{urlsplit(server.url).port}"
        async with await browser.new_page() as page:
            assert (await page.goto(f"{evil}/matches")).status == 200  # type: ignore[union-attr]
            for method in ("GET", "POST"):
                told = await page.evaluate(ASK, method)
                assert told[0] == 421
                assert "--admin-host allows it" in told[1]
