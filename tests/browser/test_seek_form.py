"""The form in which a person says what to play: opponents by strength, what stays in sight, what is remembered."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from arena.store.store import Store
from chromium import DESKTOP, PHONE, Visit, Visits, barriers, demand_fit, out_of_reach, sideways
from house import House, open_house, register, start_playing
from players import meet, player
from protocol.games import game_names
from seasons import finish, result

pytestmark = pytest.mark.asyncio(loop_scope="session")
LEVELS = [f"level-{number}" for number in range(1, 11)]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    """An arena with levels and a ladder of nim on which `ann` beats `bob`, who beats `carl`. Two levels have played."""
    data = tmp_path_factory.mktemp("ladder")
    pairs = [(best, worst) for best, worst in (("ann", "bob"), ("bob", "carl"), ("ann", "carl")) for _ in range(12)]
    register(data, "ann", "bob", "carl", *LEVELS)
    with closing(Store.open(data / "arena.db")) as store:
        finish(store, *(result(f"m{number}", pair) for number, pair in enumerate([*pairs, ("level-3", "level-2")])))
    async with open_house(data) as house:
        yield house


@asynccontextmanager
async def seeking(house: House, *names: str, game: str = "nim") -> AsyncIterator[None]:
    """Have bots wait for whoever comes."""
    async with AsyncExitStack() as stack:
        for name in names:
            bot = await stack.enter_async_context(player(house.url, name))
            await bot.seek(game, open=True)
        yield


@asynccontextmanager
async def fair(house: House) -> AsyncIterator[None]:
    """Have a bot wait that plays one preset of the duel alone."""
    async with player(house.url, "fair") as bot:
        await bot.seek("risk-duel", open=True, presets=["europe-fair"])
        yield


async def listed(page: Page) -> list[list[str]]:
    """The opponents as the form lists them, each in lines."""
    rows = page.locator(".opponent")
    return [(await row.inner_text()).split("\n") for row in await rows.all()]


async def test_who_plays_now_is_offered_from_the_weakest_on_with_a_word(visit: Visit, house: House) -> None:
    async with seeking(house, "carl", "zoe", "ann", "bob"):
        page = await visit.open("/play?game=nim&preset=classic")
        await expect(page.locator(".opponent b")).to_have_text(["Anybody", "carl", "bob", "ann", "zoe"])
        words = {row[0]: row[1] for row in await listed(page)}
        assert [words[name] for name in ("carl", "bob", "ann")] == ["beginner", "medium", "expert"]
        assert words["zoe"] == "new"
        assert await barriers(page) == ""


@pytest.mark.parametrize(
    "size", [pytest.param(PHONE, id="phone"), pytest.param(DESKTOP, marks=pytest.mark.nightly, id="desktop")]
)
async def test_the_name_and_the_button_to_play_stay_in_sight(visit: Visit, size: tuple[int, int]) -> None:
    visit.size = size
    page = await visit.open("/play?game=risk-campaign&preset=world-3")
    assert await sideways(page) == 0
    assert await out_of_reach(page) == []
    for way in ("0", "document.body.scrollHeight"):
        await page.evaluate(f"scrollTo(0, {way})")
        for part in (page.get_by_role("button", name="Play", exact=True), page.get_by_label("Your name")):
            await expect(part).to_be_in_viewport(ratio=1)


async def test_games_and_their_kinds_are_offered_in_words(visit: Visit) -> None:
    page = await visit.open("/play")
    await expect(page.get_by_role("link", name="How to play Nim")).to_have_attribute("href", "/rules/nim")
    lesson = page.get_by_role("link", name="Learn it in five moves")
    await expect(lesson).to_be_hidden()
    await page.get_by_role("radio", name="Risk: the campaign").check()
    await expect(lesson).to_have_attribute("href", "/play/tutorial/risk-campaign")
    rules = page.get_by_role("link", name="How to play Risk: the campaign")
    await expect(rules).to_have_attribute("href", "/rules/risk-campaign")
    kinds = await page.get_by_label("Variant").locator("option").all_inner_texts()
    assert kinds[:3] == ["Grid, two players, fair", "Grid, two players", "World, six players"]
    assert kinds[-1] == "Custom settings …"
    await expect(page.get_by_label("Settings as JSON")).to_be_hidden()
    await page.get_by_label("Variant").select_option("Custom settings …")
    await expect(page.get_by_label("Settings as JSON")).to_be_visible()


async def test_a_bot_that_plays_and_seeks_nothing_is_said_to_be_busy(visit: Visit, house: House) -> None:
    async with player(house.url, "busy-one") as one, player(house.url, "busy-two") as two:
        await meet(one, two)
        page = await visit.open("/play?game=nim&preset=classic")
        await expect(page.locator(".opponent", has_text="busy-one")).to_contain_text("busy in a match")


async def test_only_who_plays_what_is_chosen_is_offered(visit: Visit, house: House) -> None:
    async with seeking(house, "bluffer", game="kuhn"), seeking(house, "all", game="risk-duel"), fair(house):
        page = await visit.open("/play?game=risk-duel&preset=south-america")
        names = page.locator(".opponent b")
        await expect(names).to_have_text(["Anybody", "all"])
        await page.get_by_label("Variant").select_option("Europe, fair")
        await expect(names).to_have_text(["Anybody", "all", "fair"])
        await page.get_by_role("radio", name="fair").check()
        await page.get_by_role("radio", name="Kuhn poker").check()
        await expect(page.get_by_label("Variant")).to_have_value("short")
        await expect(names).to_have_text(["Anybody", "bluffer"])
        await expect(page.get_by_role("radio", name="Anybody")).to_be_checked()
        await page.get_by_label("Another opponent, by name").fill("ALL")
        await page.get_by_label("Your name").fill("ann")
        await start_playing(page)
        told = "all does not play Kuhn poker, 10 hands. It plays Risk: the duel. Choose another opponent."
        await expect(page.locator("#wrong-named")).to_have_text(told)


async def test_a_wait_for_three_says_who_sits_and_who_gets_ready(visit: Visit, house: House) -> None:
    visit.size = PHONE
    async with seeking(house, "greedy", game="risk-campaign"), player(house.url, "searcher") as searcher:
        await searcher.send("warming", games=["risk-campaign"])
        page = await visit.open("/play?game=risk-campaign&preset=world-3")
        offered = page.locator(".opponent", has_text="searcher")
        await expect(offered).to_contain_text("getting ready for this game: half a minute or more the first time")
        await page.get_by_label("Your name").fill("dora")
        await start_playing(page)
        why = page.locator("#absent")
        await expect(why).to_contain_text(
            "2 seats of 3 are taken, by you and greedy. searcher is getting ready for this game"
        )
        await demand_fit(page)


async def test_an_address_that_names_an_opponent_alone_leads_to_what_that_one_plays(visit: Visit, house: House) -> None:
    async with seeking(house, "bluffer", game="kuhn"), fair(house):
        for address, game, preset in (
            ("game=risk-duel&opponent=fair", "Risk: the duel", "europe-fair"),
            ("opponent=fair", "Risk: the duel", "europe-fair"),
            ("game=kuhn&opponent=bluffer", "Kuhn poker", "short"),
            ("game=kuhn&preset=classic&opponent=bluffer", "Kuhn poker", "classic"),
        ):
            page = await visit.open(f"/play?{address}")
            await expect(page.get_by_label("Variant")).to_have_value(preset)
            await expect(page.get_by_role("radio", name=game)).to_be_checked()
            chosen = page.locator(".opponent", has=page.locator("input:checked"))
            await expect(chosen).to_contain_text("plays at once")


async def test_bots_of_one_strength_stand_in_the_order_in_which_people_count(visit: Visit, house: House) -> None:
    async with seeking(house, "level-10", "level-3", "level-1", "level-2"):
        page = await visit.open("/play?game=nim&preset=classic")
        await expect(page.locator(".opponent b")).to_have_text(["Anybody", "level-1", "level-2", "level-3", "level-10"])
        assert [row[:2] for row in (await listed(page))[1:]] == [
            ["level-1", "new"],
            ["level-2", "little known"],
            ["level-3", "little known"],
            ["level-10", "new"],
        ]


async def test_a_table_for_which_too_few_are_here_is_said_to_be_and_smaller_ones_are_a_button(
    visit: Visit, house: House
) -> None:
    visit.size = PHONE
    async with seeking(house, "greedy", "random", game="risk-campaign"):
        page = await visit.open("/play?game=risk-campaign&preset=world")
        fewer = page.locator(".fewer")
        await expect(fewer).to_contain_text(
            "You need 5 other players, and only 2 are online: you would have to wait for more"
        )
        await demand_fit(page)
        await fewer.get_by_role("button", name="World, three players").click()
        await expect(fewer).to_be_hidden()
        await expect(page.get_by_label("Variant")).to_have_value("world-3")
        assert "preset=world-3" in page.url
        await page.get_by_label("Variant").select_option("World, six players")
        await page.get_by_label("Your name").fill("ella")
        await start_playing(page)
        why = page.locator("#absent")
        await expect(why).to_contain_text("3 more players are needed. Nobody else online plays this")
        await expect(why).to_contain_text("Enough are online for “World, three players”")


async def test_every_link_of_the_form_leads_somewhere_hidden_or_not(visit: Visit) -> None:
    page = await visit.open("/play")
    links = set[str]()
    for game in game_names():
        await page.locator(f"[name=game][value='{game}']").check()
        await expect(page.locator("#rules")).to_have_attribute("href", f"/rules/{game}")
        links.update(await page.locator("main a[href]").evaluate_all("all => all.map((each) => each.pathname)"))
    assert {link: (await page.request.get(visit.home + link)).status for link in links} == dict.fromkeys(links, 200)


@pytest.mark.parametrize(("registration", "readable"), [("open", 5), ("closed", 4)])
async def test_on_a_phone_opponents_can_be_read_above_the_bar_to_play(
    visiting: Visits, house: House, tmp_path: Path, registration: str, readable: int
) -> None:
    names = [name for name in LEVELS if name not in ("level-2", "level-3")]  # who are new take a line alone
    async with AsyncExitStack() as stack:
        if registration == "closed":
            register(tmp_path, *names)
            house = await stack.enter_async_context(open_house(tmp_path, "--registration", "closed"))
        visit = await stack.enter_async_context(visiting(house.page, PHONE))
        await stack.enter_async_context(seeking(house, *names))
        page = await visit.open("/play")
        rows = page.locator(".opponent")
        await expect(rows.locator("b")).to_have_text(["Anybody", *names])
        if registration == "closed":
            await expect(page.get_by_label("Your token")).to_be_visible()
        bar = await page.locator(".go").bounding_box()
        boxes = [await row.bounding_box() for row in await rows.all()]
        assert bar is not None
        assert len([box for box in boxes if box is not None and box["y"] + box["height"] <= bar["y"]]) >= readable
        assert await sideways(page) == 0
