"""A match in one file, opened from disk: it plays, verifies itself, and finds where it was forged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import expect

from chromium import PHONE, Visits, barriers, demand_fit
from exported_files import exported
from golden import make

pytestmark = pytest.mark.asyncio(loop_scope="session")

WITHOUT_CRYPTO = "delete Crypto.prototype.subtle"
"""As it is on a page that came over plain HTTP from another machine."""


@pytest.mark.parametrize(
    "name",
    ["campaign-drop-out", *(pytest.param(name, marks=pytest.mark.nightly) for name in ("duel-africa", "nim-dealt"))],
)
@pytest.mark.parametrize(
    "script",
    [pytest.param("", marks=pytest.mark.nightly, id="web-crypto"), pytest.param(WITHOUT_CRYPTO, id="plain-http")],
)
async def test_a_match_in_one_file_plays_and_verifies_itself_from_disk(
    visiting: Visits, tmp_path: Path, name: str, script: str
) -> None:
    async with visiting(exported(name, tmp_path).as_uri(), PHONE) as visit:
        await visit.context.add_init_script(script)
        page = await visit.open("")
        slider = page.get_by_role("slider")
        last = int(await slider.get_attribute("max") or 0)
        assert last == len(make.HERE.joinpath(f"{name}.jsonl").read_bytes().splitlines()) - 2
        await slider.press("Home")
        await expect(slider).to_have_value("0")
        await slider.press("End")
        await expect(slider).to_have_value(str(last))
        await page.get_by_role("tab", name="Verify").click()
        await page.get_by_role("button", name="Verify in this browser").click()
        await expect(page.get_by_text("✓ Verified")).to_be_visible()
        await demand_fit(page)


def other_die(lines: list[Any]) -> None:
    lines[7]["event"]["dice"][0][0] = 5


async def test_a_forged_die_turns_its_ply_red_and_no_other(visiting: Visits, tmp_path: Path) -> None:
    async with visiting(exported("duel-south-america", tmp_path, other_die).as_uri()) as visit:
        page = await visit.open("")
        await expect(page.locator(".banner")).to_contain_text(
            "ply 6: dice should be [[6], [3]], the record says [[5], [3]]"
        )
        await page.get_by_role("tab", name="Verify").click()
        await page.get_by_role("button", name="Verify in this browser").click()
        verdict = page.get_by_text("✗ Wrong at move 7: The dice are [[6],[3]], the record says [[5],[3]]")
        await expect(verdict).to_be_visible()
        assert await barriers(page) == ""
