"""The tabs of a bot's page, by keyboard, by address and without scripts; and times as how long ago they were."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from chromium import PHONE, Visit, Visits, demand_fit

pytestmark = pytest.mark.asyncio(loop_scope="session")
AGO = """async ([moment, now]) => {
  const { agoInWords } = await import(document.querySelector("script[src$='ago.js']").src);
  return agoInWords(moment, Date.parse(now));
}"""


async def test_tabs_are_walked_with_the_arrows_and_keep_the_address(stored: Visit) -> None:
    page = await stored.open("/bots/ann")
    await expect(page.get_by_role("tabpanel")).to_have_count(1)
    await page.get_by_role("tab", name="Matches").focus()
    await page.keyboard.press("ArrowRight")
    await expect(page.get_by_role("tab", name="Opponents")).to_be_focused()
    await expect(page.get_by_role("tabpanel", name="Opponents")).to_contain_text("Share of points")
    assert page.url.endswith("/bots/ann#opponents")
    await page.keyboard.press("End")
    await expect(page.get_by_role("tab", selected=True)).to_be_focused()
    await page.keyboard.press("ArrowRight")
    await expect(page.get_by_role("tab", name="Matches")).to_be_focused()


async def test_every_tab_keeps_nobody_out_and_nothing_sticks_out_of_it(stored: Visit) -> None:
    stored.size = PHONE
    page = await stored.open("/bots/ann")
    for tab in await page.get_by_role("tab").all():
        await tab.click()
        await expect(tab).to_have_attribute("aria-selected", "true")
        await demand_fit(page)


async def test_an_address_leads_to_its_tab(stored: Visit) -> None:
    page = await stored.open("/bots/ann#endings")
    await expect(page.get_by_role("tab", selected=True)).to_have_text("Endings")
    await expect(page.get_by_role("heading", name="How its matches ended")).to_be_visible()
    await expect(page.get_by_role("heading", name="Latest matches")).to_be_hidden()


async def test_without_scripts_all_sections_are_there_one_below_the_other(visiting: Visits, library: str) -> None:
    async with visiting(library, java_script_enabled=False) as visit:
        page = await visit.open("/bots/ann")
        for heading in (
            "Latest matches",
            "Results against each opponent",
            "How its matches ended",
            "Standings in all games",
        ):
            await expect(page.get_by_role("heading", name=heading)).to_be_visible()
        await expect(page.get_by_role("link", name="Opponents")).to_have_attribute("href", "#opponents")


async def test_times_are_told_as_how_long_ago_they_were(stored: Visit) -> None:
    page = await stored.open("/matches")
    told = [
        await page.evaluate(AGO, ["2026-01-05T12:00:00.000Z", f"2026-{now}Z"])
        for now in ("01-05T12:00:20", "01-05T12:03:59", "01-05T13:00:00", "01-08T11:00:00", "03-01T00:00:00")
    ]
    assert told == ["just now", "3 minutes ago", "1 hour ago", "2 days ago", "2026-01-05"]
    time = page.locator("time").first
    moment = str(await time.get_attribute("datetime"))
    assert await time.get_attribute("title") == moment[:16].replace("T", " ") + " UTC"
    assert "UTC" not in await time.inner_text()
