"""The pages of one node of an arena, in a browser, where the play is on another one."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import expect

from chromium import Visits
from house import sit_down
from nodes import two_nodes
from players import answer, meet, player

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.nightly
async def test_what_is_played_on_another_node_is_watched_and_played_as_if_it_were_here(
    visiting: Visits, tmp_path: Path
) -> None:
    async with (
        two_nodes(tmp_path, "--web-port", "0", "--allow-origin", "*") as nodes,
        player(nodes.nim.url, "ann", follow=True) as ann,
        player(nodes.nim.url, "bob") as bob,
        player(nodes.nim.url, "cid") as cid,
        visiting(await nodes.other.page()) as visit,
    ):
        start = await meet(ann, bob)
        page = await visit.open("/matches")
        await page.locator(f"a[href='/matches/{start['match']}']").first.click()
        await expect(page.locator(".board .counter")).to_have_count(15)
        await answer(await ann.expect("turn"), ann, bob)
        await expect(page.locator(".board .counter.ghost").first).to_be_visible()

        await cid.seek("nim", open=True, rated=False)
        page = await sit_down(visit, "eve", "game=nim&preset=classic&opponent=cid")
        await cid.begin()
        await expect(page.locator(".player", has_text="cid")).to_be_visible()
        await expect(page.locator(".board .counter")).to_have_count(15)
