"""What strangers try by way of a browser: names that are markup, pages of other origins, other names for this host."""

from __future__ import annotations

import asyncio
import http.client
import json
from contextlib import closing
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from playwright.async_api import Page, expect

from arena.store.store import Store
from arena.store.tournament_state import open_tournament
from bots.reference.random_bot import RandomBot
from chromium import Visit, Visits
from house import House, page_elsewhere
from library import ANN, Entrant, Library
from players import answer, meet, player
from processes import showing
from seasons import finish, result

pytestmark = pytest.mark.asyncio(loop_scope="session")
EVIL = "x-evil"
NAME = f'"><{EVIL}>'
"""A name that is an element as text, and as an attribute; it has no `/`, so that it can stand in an address."""
MARKUP = f"</title></script>{NAME}"

TOURNAMENT = {
    "bots": [f"{NAME}=random", "bob=random", "cid=random"],
    "game": "nim",
    "config": {"heaps": [3, 5, 7]},
    "settings": {},
    "format": "round-robin",
    "rounds": 1,
    "paired": False,
    "clock": "60+0.5",
}
FOREIGN = """<!doctype html><title>foreign</title><iframe src="{page}/play"></iframe><script>
const socket = new Promise((done) => {{
  const ws = new WebSocket("{url}", ["arena.v1.json"]);
  ws.onopen = () => done("open");
  ws.onerror = () => done("refused");
}});
const read = (address) => fetch("{page}" + address).then(() => "read", () => "refused");
window.tried = Promise.all([socket, read("/play"), read("/connect")]);
</script>"""


async def harmless(page: Page, address: str) -> None:
    """Nothing of the markup became markup, on a page where it is shown."""
    answer = await page.goto(address)
    assert answer is not None
    assert answer.ok, address
    assert await page.locator(EVIL).count() == 0, address


@pytest.mark.ci
async def test_a_stored_name_version_or_note_that_is_markup_is_harmless(visiting: Visits, tmp_path: Path) -> None:
    with closing(Store.open(tmp_path / "arena.db")) as store:
        library = Library(store)
        tournament, _ = store.write(open_tournament, json.dumps(TOURNAMENT), None)
        finish(store, result("m-hostile", (NAME, "bob"), version=MARKUP, reason=MARKUP, tournament=tournament, place=0))
        match = library.play("nim", [Entrant("mallory", RandomBot, MARKUP, note=MARKUP), ANN])
    async with showing(tmp_path) as home, visiting(home) as visit:
        page = await visit.open()
        await expect(page.get_by_text(NAME).first).to_be_visible()
        for address in (
            "/",
            "/leaderboard/nim",
            f"/leaderboard/nim?search={quote(MARKUP)}",
            "/tournaments",
            f"/tournaments/{tournament}",
            f"/bots/{quote(NAME)}",
            "/matches",
            f"/matches?bot={quote(NAME)}",
            f"/matches?tournament={quote(MARKUP)}",
        ):
            await harmless(page, home + address)
        await harmless(page, f"{home}/matches/{match}")
        await expect(page.locator(".viewer")).to_be_visible()
        await expect(page.locator(".viewer").get_by_text(MARKUP).first).to_be_visible()
        assert await page.locator(EVIL).count() == 0
        await harmless(page, f"{home}/")
        await expect(page.locator("#stage .board")).to_be_visible()
        assert await page.locator(EVIL).count() == 0


@pytest.mark.ci
async def test_a_version_and_a_note_that_are_markup_are_harmless_over_the_wire(visit: Visit, house: House) -> None:
    async with (
        player(house.url, "mallory", follow=True, version=MARKUP) as mallory,
        player(house.url, "alice") as alice,
    ):
        start = await meet(mallory, alice)
        page = await visit.open(f"/matches/{start['match']}")
        for _ in range(3):
            await answer(await mallory.expect("turn"), mallory, alice, info={"note": MARKUP, "value": 1.0})
        await expect(page.locator(".viewer")).to_be_visible()
        assert await page.locator(EVIL).count() == 0
        await harmless(page, house.page + "/")
        await harmless(page, house.page + "/play")
        await expect(page.get_by_text("mallory").first).to_be_attached()
        assert await page.locator(EVIL).count() == 0


async def test_a_page_from_another_origin_neither_reads_nor_plays_nor_shows_ours(
    visiting: Visits, house: House
) -> None:
    async with visiting(house.page, fresh=True) as visit:
        page = await visit.new_tab()
        with page_elsewhere(FOREIGN.format(url=house.url, page=house.page)) as foreign:
            await page.goto(foreign)
            assert await page.evaluate("window.tried") == ["refused", "refused", "refused"]
            assert await page.frame_locator("iframe").locator("main").count() == 0
        visit.forgives("")


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80"])
async def test_another_name_for_this_host_gets_no_page(house: House, host: str) -> None:
    place = urlsplit(house.page)

    def ask() -> tuple[int, bytes]:
        with closing(http.client.HTTPConnection(place.hostname or "", place.port)) as asked:
            asked.request("GET", "/", headers={"Host": host})
            answer = asked.getresponse()
            return answer.status, answer.read()

    status, body = await asyncio.to_thread(ask)
    assert status == 421
    assert b"<html" not in body
