"""Grades and luck of games that pay, on the page of a match: in chips, and of deals what each seat was given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import expect

from chromium import PHONE, Visits, demand_fit
from commands import call
from referee.effects import MoveReceived
from referee.state import Phase
from referee_table import Table

pytestmark = pytest.mark.asyncio(loop_scope="session")


def exported(folder: Path, game: str, config: dict[str, Any], *moves: dict[str, Any]) -> str:
    """The file of a match in which these moves are made, hand after hand, the last again and again."""
    table, left = Table(game, config).begin(), list(moves)
    while table.match.standing.phase is Phase.PLAYING:
        for seat in table.match.standing.current_course.awaited_seats:
            table.send(MoveReceived(seat, table.ply, left.pop(0) if len(left) > 1 else left[0]))
    record, page = folder / "m-1.jsonl.gz", folder / "m-1.html"
    record.write_bytes(table.packed())
    done = call("arena", "replay", "export", str(record), "--to", str(page))
    assert (done.code, done.err) == (0, "")
    return page.as_uri()


@pytest.mark.parametrize(
    "size", [pytest.param(None, marks=pytest.mark.nightly, id="desktop"), pytest.param(PHONE, id="phone")]
)
async def test_decisions_of_poker_are_graded_in_chips_and_deals_tell_what_each_seat_was_given(
    visiting: Visits, tmp_path: Path, size: Any
) -> None:
    moves = [{"do": do} for do in ("bet", "fold", "bet", "call")]  # a queen is bet, a king folded
    address = exported(tmp_path, "kuhn", {"hands": 2}, *moves)
    async with visiting(address, *([size] if size else [])) as visit:
        page = await visit.open("")
        await page.get_by_role("tab", name="Grades").click()
        panel = page.get_by_role("tabpanel")
        await panel.get_by_role("combobox").select_option("bob")
        worst = panel.get_by_role("button").first
        await expect(worst).to_contain_text("hand 1: fold")
        await expect(worst).to_contain_text("gave away 3.00 chips")
        await expect(panel).to_contain_text("In chips of the hand, against an opponent who plays the equilibrium")
        await expect(panel).to_contain_text("ann: gave away 0.17 chips with 1 of 2 moves; luck gave it −1.00 chips")
        await worst.click()
        await expect(page.locator(".now-facts")).to_contain_text(
            "gave away 3.00 chips: worth −1.00 chips; call was worth +2.00 chips"
        )
        await page.get_by_role("tab", name="Moves").click()
        row = page.locator("tr[data-at='1']")
        await expect(row.locator("[data-column='luck']")).to_have_text("−1.61 +1.61")
        await demand_fit(page)
