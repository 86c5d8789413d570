"""Tables in a browser whose rows are sorted by the headings."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from chromium import Visit

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_table_is_sorted_by_the_heading_that_is_pressed(stored: Visit) -> None:
    page = await stored.open("/bots/ann#opponents")
    table = page.get_by_role("table", name="Results against each opponent")
    names, played = table.locator("tbody th"), table.locator("tbody td:nth-child(2)")
    await played.last.evaluate("cell => (cell.textContent = '1\\u202f000')")
    assert await names.count() > 1
    numbers = sorted([int(text.replace("\u202f", "")) for text in await played.all_inner_texts()])
    for order, sign in ((numbers[::-1], "↓"), (numbers, "↑")):
        await table.get_by_role("button", name="Matches").click()
        assert [int(text.replace("\u202f", "")) for text in await played.all_inner_texts()] == order
        await expect(table.locator("th[aria-sort]")).to_have_text(f"Matches {sign}")
    await table.get_by_role("button", name="Opponent").click()
    bots = await names.all_inner_texts()
    assert bots == sorted(bots, key=str.casefold)
    await expect(table.locator("th[aria-sort]")).to_have_text("Opponent ↑")
    await expect(table.locator("thead")).not_to_contain_text("Matches ↑")
