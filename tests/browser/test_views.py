"""What each seat of a match saw, and spectators, on the page of the match and in its exported file."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from arena.store.store import Store
from chromium import DESKTOP, PHONE, Visit, Visits, demand_fit
from exported_files import exported
from golden import make
from house import House
from library import ANN, BOB, Library
from players import Map, player
from processes import showing

pytestmark = pytest.mark.asyncio(loop_scope="session")

BOTH = ANN._replace(note="I hold it"), BOB._replace(bot=ANN.bot)
EVERYTHING, FIRST, SECOND, SPECTATORS = "everything", "what ann saw", "what bob saw", "what spectators saw"
SIZES = [pytest.param(DESKTOP, marks=pytest.mark.nightly, id="desktop"), pytest.param(PHONE, id="phone")]

FOLLOWED = """() => {
  const { setTimeout } = window;
  let store;
  window.setTimeout = (work) => ((store = work), 0);
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "v", bubbles: true }));
  window.setTimeout = setTimeout;
  location.hash = "#ply=3&view=1";
  store(); // before the event of the change
}"""
"""Changes the view, and then the address at the very moment at which the view is stored in it."""

GRADED = """async ([id, eyes]) => {
  const script = document.querySelector("script[type=module]").src;
  const { MatchDocument } = await import(script.replace("main.js", "document.js"));
  const { Viewer } = await import(script.replace("main.js", "viewer.js"));
  const found = await (await fetch(`/api/v1/matches/${id}`)).json();
  const viewer = new Viewer(document.querySelector("#viewer"), new MatchDocument(found));
  const made = found.plies.map(({ event }) => event).filter(({ seat }) => seat >= 0);
  const grade = { gave_away: 0.5, value: 0, best: made[0].move, best_value: 0.5 };
  viewer.grade({ moves: made.map(({ ply, seat }) => ({ ply, seat, ...grade })) });
  return eyes.map((eye) => {
    viewer.see(eye);
    const graded = found.plies.filter((_, index) => viewer.moves.gradeOf(index + 1));
    return [...new Set(graded.map(({ event }) => event.seat))].sort();
  });
}"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def table(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """The URL of a page with a match of Leduc poker, `leduc-0001`, and one of tic-tac-toe."""
    data = tmp_path_factory.mktemp("table")
    with closing(Store.open(data / "arena.db")) as store:
        library = Library(store)
        library.play("leduc", BOTH, {"preset": "short"})
        library.play("tictactoe", BOTH)
    async with showing(data) as home:
        yield home


@pytest_asyncio.fixture(loop_scope="session")
async def stored(visiting: Visits, table: str) -> AsyncIterator[Visit]:
    async with visiting(table) as visit:
        yield visit


def changed(name: str) -> list[int]:
    """How many choices of each seat noise changed in a golden record."""
    lines = [json.loads(line) for line in make.HERE.joinpath(f"{name}.jsonl").read_bytes().splitlines()]
    rounds = [line["event"] for line in lines if line["type"] == "ply"]
    return [sum(each["moves"][seat]["choose"] != each["result"]["played"][seat] for each in rounds) for seat in (0, 1)]


async def sides(page: Page) -> list[str | None]:
    """How the cards of both seats lie."""
    cards = page.locator(".felt .place .card")
    return [await cards.nth(seat).get_attribute("data-side") for seat in (0, 1)]


@pytest.mark.parametrize("size", SIZES)
async def test_the_page_of_a_match_shows_what_each_saw_of_the_cards(stored: Visit, size: tuple[int, int]) -> None:
    stored.size = size
    page = await stored.open("/matches/leduc-0001#ply=1")
    views = page.get_by_role("combobox", name="Show")
    dealt = page.locator(".moves tr[data-at='1'] .move")
    told = []
    for name in (EVERYTHING, FIRST, SECOND, SPECTATORS):
        await views.select_option(name)
        told.append((await sides(page), (await dealt.inner_text()).count("an unseen card")))
        await page.get_by_role("button", name="on (→)").click()
        assert (await page.locator(".board > p").inner_text()).count(" holds ") == 2 - told[-1][1]
        await page.get_by_role("button", name="back (←)").click()
    assert told == [(["up", "up"], 0), (["up", "down"], 1), (["down", "up"], 1), (["down", "down"], 2)]
    await demand_fit(page)


async def test_a_view_is_kept_in_the_address_and_followed_from_there(stored: Visit) -> None:
    page = await stored.open("/matches/leduc-0001#ply=2")
    views = page.get_by_role("combobox", name="Show")
    await views.select_option(SECOND)
    await page.wait_for_url("**#ply=2&view=1")
    await expect(page.locator(".moves tr[data-at='4'] a")).to_have_attribute("href", "#ply=3&view=1")
    await page.reload()
    await expect(views.locator("option:checked")).to_have_text(SECOND)
    assert await sides(page) == ["down", "up"]
    await page.evaluate("location.hash = '#ply=2&view=spectators'")
    await expect(views.locator("option:checked")).to_have_text(SPECTATORS)
    assert await sides(page) == ["down", "down"]
    await page.evaluate("location.hash = '#ply=3'")
    await expect(views.locator("option:checked")).to_have_text(EVERYTHING)
    await views.select_option(SPECTATORS)
    await page.get_by_role("slider").press("End")
    await page.wait_for_url("**/matches/leduc-0001#view=spectators")
    await views.select_option(EVERYTHING)
    await page.wait_for_url("**/matches/leduc-0001")


async def test_an_address_is_followed_though_another_was_about_to_be_stored(stored: Visit) -> None:
    page = await stored.open("/matches/leduc-0001#ply=2")
    shown = page.get_by_role("combobox", name="Show").locator("option:checked")
    await expect(shown).to_have_text(EVERYTHING)
    await page.evaluate(FOLLOWED)
    await expect(shown).to_have_text(SECOND)
    await expect(page).to_have_url(re.compile("#ply=3&view=1$"))


async def test_views_are_gone_through_by_a_key(stored: Visit) -> None:
    page = await stored.open("/matches/leduc-0001#ply=2")
    chosen = page.get_by_role("combobox", name="Show").locator("option:checked")
    for name in (EVERYTHING, FIRST, SECOND, SPECTATORS, EVERYTHING):
        await expect(chosen).to_have_text(name)
        await page.keyboard.press("v")


async def test_what_others_thought_is_not_in_the_view_of_a_seat(stored: Visit) -> None:
    page = await stored.open("/matches/leduc-0001#ply=1")
    note = page.get_by_text("I hold it").first
    await expect(note).to_be_visible()
    for name in (SECOND, SPECTATORS):
        await page.get_by_role("combobox", name="Show").select_option(name)
        await expect(page.get_by_text("I hold it")).to_have_count(0)


async def test_what_a_move_gave_away_is_told_to_its_seat_and_to_who_sees_everything(stored: Visit) -> None:
    page = await stored.open("/matches/leduc-0001#ply=2")
    await expect(page.get_by_role("combobox", name="Show")).to_be_visible()
    assert await page.evaluate(GRADED, ["leduc-0001", ["all", 0, 1, "spectators"]]) == [[0, 1], [0], [1], []]


async def test_a_watched_match_shows_backs_until_it_is_over_and_each_view_then(visit: Visit, house: House) -> None:
    async with player(house.url, "vera") as vera, player(house.url, "walt") as walt:
        for one in (vera, walt):
            await one.seek("kuhn", config={"hands": 2})
        start = await vera.begin()
        await walt.begin()
        page = await visit.open(f"/matches/{start['match']}#view=0")
        await expect(page.locator(".felt")).to_be_visible()
        assert await sides(page) == ["down", "down"]
        await expect(page.get_by_role("combobox", name="Show")).to_have_count(0)
        for key, address in (("Home", "#ply=start&view=0"), ("End", "#view=0")):
            await page.get_by_role("slider").press(key)
            await page.wait_for_url(f"**{address}")
        assert await sides(page) == ["down", "down"]
        await asyncio.gather(vera.play(check_or_fold), walt.play(check_or_fold))
        views = page.get_by_role("combobox", name="Show")
        await expect(views.locator("option:checked")).to_have_text(
            "what vera saw" if start["seat"] == 0 else "what walt saw"
        )
        await page.get_by_role("slider").press("Home")
        await page.get_by_role("button", name="on (→)").click()
        assert await sides(page) == ["up", "down"]
        await views.select_option(EVERYTHING)
        assert await sides(page) == ["up", "up"]


def check_or_fold(turn: Map) -> Map:
    """Gives up, where it would cost something."""
    dos = [move["do"] for move in turn["legal"]]
    return {"do": "check" if "check" in dos else "fold"}


async def test_where_nothing_is_hidden_there_is_no_switch(stored: Visit) -> None:
    page = await stored.open("/matches/tictactoe-0002#view=0")
    await expect(page.locator(".viewer")).to_be_visible()
    await expect(page.get_by_role("combobox", name="Show")).to_have_count(0)
    await page.keyboard.press("v")
    await page.get_by_role("slider").press("Home")
    await page.wait_for_url("**#ply=start")


@pytest.mark.parametrize("size", SIZES)
async def test_an_exported_file_tells_what_noise_changed_to_those_who_knew(
    visiting: Visits, tmp_path: Path, size: tuple[int, int]
) -> None:
    async with visiting(exported("dilemma-open-end", tmp_path).as_uri(), size) as visit:
        page = await visit.open("")
        flipped = page.locator(".columns-of-marks .flipped")
        seen = [await flipped.count()]
        for name in (FIRST, SECOND, SPECTATORS):
            await page.get_by_role("combobox", name="Show").select_option(name)
            seen.append(await flipped.count())
        ann, bob = changed("dilemma-open-end")
        assert ann + bob > 0
        assert seen == [ann + bob, ann, bob, 0]
        await demand_fit(page)


@pytest.mark.parametrize(
    "name",
    [
        "leduc-resigned",
        *(pytest.param(name, marks=pytest.mark.nightly) for name in ("dilemma-open-end", "dilemma-late", "kuhn-short")),
    ],
)
async def test_what_a_seat_saw_is_verified_by_all_that_happened(visiting: Visits, tmp_path: Path, name: str) -> None:
    async with visiting(exported(name, tmp_path).as_uri()) as visit:
        page = await visit.open("#view=spectators")
        await page.get_by_role("tab", name="Verify").click()
        await page.get_by_role("button", name="Verify in this browser").click()
        await expect(page.get_by_text("✓ Verified")).to_be_visible()


async def test_of_a_round_that_did_not_happen_who_chose_is_told_and_others_are_not(
    visiting: Visits, tmp_path: Path
) -> None:
    async with visiting(exported("dilemma-late", tmp_path).as_uri()) as visit:
        page = await visit.open("")
        await expect(page.get_by_text("bob had chosen scissors")).to_be_visible()


def with_thinking(lines: list[Map]) -> None:
    for line in lines:
        if line["type"] == "sealed":
            line["info"] = {"value": line["ply"] + line["seat"], "note": f"seat {line['seat']} thinks"}
    next(line for line in lines if line["type"] == "sealed" and (line["ply"], line["seat"]) == (1, 0))["given"] = 20


async def test_what_both_thought_of_a_round_is_told_of_each(visiting: Visits, tmp_path: Path) -> None:
    async with visiting(exported("dilemma-prison", tmp_path, with_thinking).as_uri()) as visit:
        page = await visit.open("#ply=1")
        facts = page.locator(".now-facts")
        await expect(facts).to_contain_text("ann saysvalue 1 on its own scaleann notesseat 0 thinks")
        await expect(facts).to_contain_text("bob saysvalue 2 on its own scalebob notesseat 1 thinks")
        await expect(facts.locator("dd", has_text=re.compile(r"^ann: .* s, 20 ms given back; "))).to_have_count(1)
        await expect(facts.get_by_text("given back")).to_have_count(1)
        row = page.locator(".moves tr[data-at='2']")
        assert (await row.locator("td").all_text_contents())[-2:] == ["1, 2", "seat 0 thinks · seat 1 thinks"]
        await page.get_by_role("tab", name="Plots").click()
        for seat in (0, 1):
            await expect(page.locator(f".plot .line.seat-{seat}").first).to_have_attribute(
                "d", re.compile(r"^M1 .*L10 ")
            )
