"""The form in which a person says what to play: opponents by strength, what stays in sight, what is remembered."""

from __future__ import annotations

from contextlib import AsyncExitStack, closing
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from arena.store.registry import add_bots
from arena.store.store import Store
from arena.store.tokens import hash_token
from chromium import DESKTOP, PHONE, Visits, barriers, out_of_reach, sideways
from house import House, open_house, start_playing
from players import meet, player, token_of
from protocol.games import game_names
from seasons import finish, result

pytestmark = pytest.mark.asyncio(loop_scope="session")


def ladder(data: Path) -> None:
    """A ladder of nim on which `ann` beats `bob`, who beats `carl`."""
    with closing(Store.open(data / "arena.db")) as store:
        pairs = [(best, worst) for best, worst in (("ann", "bob"), ("bob", "carl"), ("ann", "carl")) for _ in range(12)]
        finish(store, *(result(f"m{number}", pair) for number, pair in enumerate(pairs)))
        store.write(add_bots, {name: hash_token(token_of(name)) for name in ("ann", "bob", "carl")})


async def listed(page: Page) -> list[list[str]]:
    """The opponents as the form lists them, each in lines."""
    rows = page.locator(".opponent")
    return [(await row.inner_text()).split("\n") for row in await rows.all()]


async def test_who_plays_now_is_offered_from_the_weakest_on_with_a_word(visiting: Visits, tmp_path: Path) -> None:
    ladder(tmp_path)
    async with open_house(tmp_path) as house, visiting(house.page) as visit, AsyncExitStack() as stack:
        for name in ("carl", "zoe", "ann", "bob"):
            bot = await stack.enter_async_context(player(house.url, name))
            await bot.seek("nim", open=True)
        page = await visit.open("/play?game=nim&preset=classic")
        await expect(page.locator(".opponent")).to_have_count(5)
        words = {row[0]: row[1] for row in await listed(page)}
        assert list(words) == ["Anybody", "carl", "bob", "ann", "zoe"]
        assert [words[name] for name in ("carl", "bob", "ann")] == ["beginner", "medium", "expert"]
        assert words["zoe"] == "new"
        assert await barriers(page) == ""


@pytest.mark.parametrize(
    "size", [pytest.param(PHONE, id="phone"), pytest.param(DESKTOP, marks=pytest.mark.nightly, id="desktop")]
)
async def test_the_name_and_the_button_to_play_stay_in_sight(
    reading: Visits, house: House, size: tuple[int, int]
) -> None:
    async with reading(house.page, size) as visit:
        page = await visit.open("/play?game=risk-campaign&preset=world-3")
        assert await sideways(page) == 0
        assert await out_of_reach(page) == []
        for way in ("0", "document.body.scrollHeight"):
            await page.evaluate(f"scrollTo(0, {way})")
            for part in (page.get_by_role("button", name="Play", exact=True), page.get_by_label("Your name")):
                await expect(part).to_be_in_viewport(ratio=1)


async def test_games_and_their_kinds_are_offered_in_words(reading: Visits, house: House) -> None:
    async with reading(house.page) as visit:
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


async def test_a_bot_that_plays_and_seeks_nothing_is_said_to_be_busy(visiting: Visits, house: House) -> None:
    async with (
        visiting(house.page) as visit,
        player(house.url, "busy-one") as one,
        player(house.url, "busy-two") as two,
    ):
        await meet(one, two)
        page = await visit.open("/play?game=nim&preset=classic")
        await expect(page.locator(".opponent", has_text="busy-one")).to_contain_text("busy in a match")


async def test_only_who_plays_what_is_chosen_is_offered(visiting: Visits, tmp_path: Path) -> None:
    async with open_house(tmp_path) as house, visiting(house.page) as visit, AsyncExitStack() as stack:
        bots = {name: await stack.enter_async_context(player(house.url, name)) for name in ("bluffer", "fair", "all")}
        await bots["bluffer"].seek("kuhn", open=True)
        await bots["fair"].seek("risk-duel", open=True, presets=["europe-fair"])
        await bots["all"].seek("risk-duel", open=True)
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


async def test_a_wait_for_three_says_who_sits_and_who_gets_ready(visiting: Visits, tmp_path: Path) -> None:
    async with (
        open_house(tmp_path) as house,
        visiting(house.page, PHONE) as visit,
        player(house.url, "greedy") as greedy,
        player(house.url, "searcher") as searcher,
    ):
        await greedy.seek("risk-campaign", open=True)
        await searcher.send("warming", games=["risk-campaign"])
        page = await visit.open("/play?game=risk-campaign&preset=world-3")
        offered = page.locator(".opponent", has_text="searcher")
        await expect(offered).to_contain_text("getting ready for this game: half a minute or more the first time")
        await page.get_by_label("Your name").fill("ann")
        await start_playing(page)
        why = page.locator("#absent")
        await expect(why).to_contain_text(
            "2 seats of 3 are taken, by you and greedy. searcher is getting ready for this game"
        )
        assert await barriers(page) == ""
        assert await sideways(page) == 0


async def test_an_address_that_names_an_opponent_alone_leads_to_what_that_one_plays(
    visiting: Visits, tmp_path: Path
) -> None:
    async with (
        open_house(tmp_path) as house,
        visiting(house.page) as visit,
        player(house.url, "fair") as fair,
        player(house.url, "bluffer") as bluffer,
    ):
        await fair.seek("risk-duel", open=True, presets=["europe-fair"])
        await bluffer.seek("kuhn", open=True)
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


async def test_bots_of_one_strength_stand_in_the_order_in_which_people_count(visiting: Visits, tmp_path: Path) -> None:
    names = ["level-1", "level-2", "level-3", "level-10"]
    with closing(Store.open(tmp_path / "arena.db")) as store:
        finish(store, result("m1", ("level-3", "level-2")))
        store.write(add_bots, {name: hash_token(token_of(name)) for name in names})
    async with open_house(tmp_path) as house, visiting(house.page) as visit, AsyncExitStack() as stack:
        for name in ("level-10", "level-3", "level-1", "level-2"):
            bot = await stack.enter_async_context(player(house.url, name))
            await bot.seek("nim", open=True)
        page = await visit.open("/play?game=nim&preset=classic")
        await expect(page.locator(".opponent")).to_have_count(5)
        assert [row[:2] for row in (await listed(page))[1:]] == [
            ["level-1", "new"],
            ["level-2", "little known"],
            ["level-3", "little known"],
            ["level-10", "new"],
        ]


async def test_a_table_for_which_too_few_are_here_is_said_to_be_and_smaller_ones_are_a_button(
    visiting: Visits, tmp_path: Path
) -> None:
    async with open_house(tmp_path) as house, visiting(house.page, PHONE) as visit, AsyncExitStack() as stack:
        for name in ("greedy", "random"):
            bot = await stack.enter_async_context(player(house.url, name))
            await bot.seek("risk-campaign", open=True)
        page = await visit.open("/play?game=risk-campaign&preset=world")
        fewer = page.locator(".fewer")
        await expect(fewer).to_contain_text(
            "You need 5 other players, and only 2 are online: you would have to wait for more"
        )
        assert await barriers(page) == ""
        assert await sideways(page) == 0
        await fewer.get_by_role("button", name="World, three players").click()
        await expect(fewer).to_be_hidden()
        await expect(page.get_by_label("Variant")).to_have_value("world-3")
        assert "preset=world-3" in page.url
        await page.get_by_label("Variant").select_option("World, six players")
        await page.get_by_label("Your name").fill("ann")
        await start_playing(page)
        why = page.locator("#absent")
        await expect(why).to_contain_text("3 more players are needed. Nobody else online plays this")
        await expect(why).to_contain_text("Enough are online for “World, three players”")


@pytest.mark.parametrize("game", game_names())
async def test_every_link_of_the_form_leads_somewhere_hidden_or_not(reading: Visits, house: House, game: str) -> None:
    async with reading(house.page) as visit:
        page = await visit.open(f"/play?game={game}")
        await expect(page.locator("#rules")).to_have_attribute("href", f"/rules/{game}")
        links = await page.locator("main a[href]").evaluate_all("all => all.map((each) => each.pathname)")
        answers = {link: (await page.request.get(f"{house.page}{link}")).status for link in set(links)}
        assert set(answers.values()) == {200}, answers


@pytest.mark.parametrize(("registration", "readable"), [("open", 5), ("closed", 4)])
async def test_on_a_phone_opponents_can_be_read_above_the_bar_to_play(
    visiting: Visits, tmp_path: Path, registration: str, readable: int
) -> None:
    async with (
        open_house(tmp_path, "--registration", registration) as house,
        visiting(house.page, PHONE) as visit,
        AsyncExitStack() as stack,
    ):
        names = [f"level-{number}" for number in range(1, 9)]
        with closing(Store.open(tmp_path / "arena.db")) as store:
            store.write(add_bots, {name: hash_token(token_of(name)) for name in names})
        for name in names:
            bot = await stack.enter_async_context(player(house.url, name))
            await bot.seek("nim", open=True)
        page = await visit.open("/play")
        rows = page.locator(".opponent")
        await expect(rows).to_have_count(9)
        if registration == "closed":
            await expect(page.get_by_label("Your token")).to_be_visible()
        bar = await page.locator(".go").bounding_box()
        boxes = [await row.bounding_box() for row in await rows.all()]
        assert bar is not None
        assert len([box for box in boxes if box is not None and box["y"] + box["height"] <= bar["y"]]) >= readable
        assert await sideways(page) == 0
