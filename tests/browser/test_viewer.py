"""The viewer of a match in a browser: every move there and back, keys, addresses, plots, the check of the dice."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from playwright.async_api import Page, Route, expect

from arena.replay.match_document import make_document
from arena.store.registry import rename_bot
from arena.store.store import Store
from chromium import Visit, Visits, resize
from library import ANN, PERFECT, Library
from own_game_records import onecard
from processes import showing
from record_rows import bytes_of
from referee import record_reader

pytestmark = pytest.mark.asyncio(loop_scope="session")

FORGED = """async ([id, changes]) => {
  const load = (name) => import(document.querySelector("script[type=module]").src.replace("main.js", name));
  const { MatchDocument } = await load("document.js");
  const { Viewer } = await load("viewer.js");
  const found = await (await fetch(`/api/v1/matches/${id}`)).json();
  for (const [at, change] of Object.entries(changes)) Object.assign(found.plies[at], change);
  new Viewer(document.querySelector("#viewer"), new MatchDocument(found));
}"""

LATE = """async (id) => {
  const load = (name) => import(document.querySelector("script[type=module]").src.replace("main.js", name));
  const { LiveDocument } = await load("live.js");
  const { header, plies } = await (await fetch(`/api/v1/matches/${id}`)).json();
  const match = new LiveDocument(header);
  const { state, clock, digest } = plies.at(-1);
  match.turn({ events: plies.map(({ event }) => event), state, clock, digest });
  await match.working;
  return [match.plies.map(({ state }) => state), plies.map(({ state }) => state)];
}"""


CUT = """async ([id, at]) => {
  const load = (name) => import(document.querySelector("script[type=module]").src.replace("main.js", name));
  const { LiveDocument } = await load("live.js");
  const { Viewer } = await load("viewer.js");
  const { header, plies } = await (await fetch(`/api/v1/matches/${id}`)).json();
  const match = new LiveDocument(header);
  const told = (count) => {
    const { state, clock, digest } = plies[count - 1];
    match.turn({ events: plies.slice(0, count).map(({ event }) => event), state, clock, digest });
    return match.working;
  };
  await told(5);
  new Viewer(document.querySelector("#viewer"), match).timeline.go(at);
  match.begin();
  match.rules = new Promise((resolve) => setTimeout(resolve, 350)); // the clocks tick and the address changes before
  await told(2);
}"""


GRADED_LATE = """async (id) => {
  const load = (name) => import(document.querySelector("script[type=module]").src.replace("main.js", name));
  const { MatchDocument } = await load("document.js");
  const { Viewer } = await load("viewer.js");
  const found = await (await fetch(`/api/v1/matches/${id}`)).json();
  found.plies = Array(10).fill(found.plies).flat();
  const viewer = new Viewer(document.querySelector("#viewer"), new MatchDocument(found));
  await new Promise(requestAnimationFrame);
  const { ply, seat } = found.plies.at(-1).event;
  viewer.grade({ moves: [{ ply, seat, gave_away: 0.5, value: 0, best: {}, best_value: 0.5 }] });
  await new Promise(requestAnimationFrame);
}"""


async def opened(page: Page) -> Page:
    await expect(page.locator(".viewer")).to_be_visible()
    return page


async def tab(page: Page, name: str) -> None:
    """Bring a panel of the side into sight."""
    await page.get_by_role("tab", name=name).click()


async def boards(page: Page, button: str, most: int = 1000) -> list[str]:
    """The board at this ply, and at all that the button leads to, or so many of them."""
    await expect(page.locator(".map-frame:not([data-room])")).to_have_count(0)  # a map fits its letters to its size
    seen = [await page.locator(".board").inner_html()]
    while len(seen) <= most and await page.get_by_role("button", name=button).is_enabled():
        await page.get_by_role("button", name=button).click()
        seen.append(await page.locator(".board").inner_html())
    return seen


@pytest.mark.parametrize(
    "game", ["duel", *(pytest.param(game, marks=pytest.mark.nightly) for game in ("nim", "grundy", "tictactoe"))]
)
async def test_a_match_is_the_same_on_the_way_back(stored: Visit, kept: dict[str, str], game: str) -> None:
    page = await opened(await stored.open(f"/matches/{kept[game]}#ply=start"))
    there = await boards(page, "on (→)", 8)
    back = await boards(page, "back (←)")
    assert len(set(there)) > 2
    assert there == back[::-1]


async def test_a_bot_that_was_renamed_is_linked_where_it_is_now(visiting: Visits, tmp_path: Path) -> None:
    with closing(Store.open(tmp_path / "arena.db")) as store:
        match = Library(store).play("nim", [PERFECT, ANN])
        store.write(rename_bot, "ann", "anna")
    async with showing(tmp_path) as home, visiting(home) as visit:
        page = await opened(await visit.open(f"/matches/{match}"))
        await expect(page.locator(".players a", has_text="ann")).to_have_attribute("href", "/bots/anna")


DRAWN_AGAIN = "new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))"
WHOLE_ROW_ON_TOP = """(() => {
  const end = document.querySelector(".moves thead").getBoundingClientRect().bottom;
  const tops = [...document.querySelectorAll(".moves tr[data-at]")].map((row) => row.getBoundingClientRect().top);
  return tops.some((top) => Math.abs(top - end) <= 1.5);
})()"""


async def test_the_list_of_moves_at_the_last_one_begins_with_a_whole_row(stored: Visit) -> None:
    page = await stored.open("/matches/{duel}")
    await expect(page.locator(".moves tr[aria-current]")).to_be_in_viewport(ratio=1)
    for height in (800, 790, 780, 770):
        await resize(page, (1280, height))
        assert await page.evaluate(DRAWN_AGAIN)
        assert await page.evaluate("document.querySelector('.moves').scrollTop") > 0
        assert await page.evaluate(WHOLE_ROW_ON_TOP), height


async def test_keys_step_through_a_match_and_the_address_says_where(stored: Visit, kept: dict[str, str]) -> None:
    page = await opened(await stored.open("/matches/{nim}"))
    end = await page.locator(".timeline-place").inner_text()
    assert page.url.endswith(kept["nim"])
    for key, place in (
        ("Home", "start of"),
        ("ArrowRight", r"move 1 of"),
        ("ArrowRight", "move 2 of"),
        ("ArrowLeft", "move 1 of"),
    ):
        await page.keyboard.press(key)
        await expect(page.locator(".timeline-place")).to_have_text(re.compile(place))
    await expect(page).to_have_url(re.compile("#ply=0$"))
    await expect(page.locator("tr[aria-current]")).to_contain_text("from heap")
    await page.keyboard.press("End")
    await expect(page.locator(".timeline-place")).to_have_text(end)
    await page.evaluate("location.hash = '#ply=1'")
    await expect(page.locator(".timeline-place")).to_have_text(re.compile("move 2 of"))


@pytest.mark.parametrize(
    ("match", "why"),
    [
        ("leave", "ann was disconnected and did not return in time."),
        pytest.param("sleep", "ann ran out of time.", marks=pytest.mark.nightly),
        pytest.param("resign", "ann resigned.", marks=pytest.mark.nightly),
        pytest.param("cheat", "ann made a third illegal move.", marks=pytest.mark.nightly),
        pytest.param("tictactoe", re.compile(r"^\w+ has three in a row\.$"), marks=pytest.mark.nightly),
        pytest.param("duel", re.compile(r"^\w+ holds South America\.$"), marks=pytest.mark.nightly),
        pytest.param(
            "campaign", "The last round was played: blaise holds the most territories.", marks=pytest.mark.nightly
        ),
    ],
)
async def test_the_end_of_a_match_is_told_in_words_of_its_game(
    stored: Visit, kept: dict[str, str], match: str, why: str | re.Pattern[str]
) -> None:
    page = await opened(await stored.open(f"/matches/{kept[match]}"))
    await expect(page.locator(".ending p")).to_have_text(why)
    await expect(page.locator(".board")).to_be_visible()
    await page.keyboard.press("Home")
    await expect(page.locator(".ending")).to_be_hidden()


@pytest.mark.nightly
async def test_a_match_plays_by_itself_to_its_end(stored: Visit) -> None:
    page = await opened(await stored.open("/matches/{nim}#ply=start"))
    end = await page.get_by_role("slider", name="position in the match").get_attribute("max")
    await page.get_by_role("combobox", name=re.compile("moves")).select_option("16")
    await page.keyboard.press("Space")
    await expect(page.locator(".timeline-place")).to_have_text(re.compile(rf"move {end} of {end}$"))
    await expect(page.get_by_role("button", name="play (Space)")).to_be_visible()


@pytest.mark.nightly
async def test_a_match_tells_what_the_bots_thought_and_what_each_move_was_worth(stored: Visit) -> None:
    page = await opened(await stored.open("/matches/{nim}#ply=1"))
    await expect(page.locator(".now")).to_contain_text("any stick will do")
    await expect(page.locator(".now")).to_contain_text(re.compile("the best move|gave away"))
    await tab(page, "Plots")
    await expect(page.get_by_role("img", name="thinking time by move").locator(".bars.seat-0")).to_have_attribute(
        "d", re.compile("M")
    )
    await tab(page, "Moves")
    await page.locator(".moves tr[data-at]", has_text="any stick will do").first.click()
    await expect(page.locator("tr[aria-current]")).to_contain_text("any stick will do")


async def test_a_match_of_dice_tells_what_they_gave_by_the_move_and_in_all(stored: Visit) -> None:
    page = await opened(await stored.open("/matches/{duel}"))
    await tab(page, "Grades")
    given = re.compile(r": gave away \d+\.\d\s% of a point with \d+ of \d+ moves?; luck gave it [+−]\d+\.\d\s%$")
    await expect(page.locator(".by-bot li", has_text=given)).to_have_count(2)
    await expect(page.get_by_text("Luck is measured by the value function exact.")).to_be_visible()
    await tab(page, "Moves")
    await resize(page, (1000, 800))
    lucky = page.locator("td[data-column=luck]", has_text=re.compile(r"^[+−]\d+\.\d\s%$")).first
    await lucky.click()
    await expect(page.locator(".now")).to_contain_text(f"{await lucky.inner_text()} of the point")
    page = await opened(await stored.open("/matches/{nim}"))
    await resize(page, (1000, 800))
    await expect(page.locator(".moves [data-column=luck]").first).to_be_hidden()


@pytest.mark.nightly
async def test_the_clock_beside_a_ply_is_that_of_its_seat(stored: Visit, kept: dict[str, str]) -> None:
    page = await opened(await stored.open("/matches/{nim}#ply=1"))
    await page.evaluate(FORGED, [kept["nim"], {1: {"clock": [59_999, 10_790]}}])
    await expect(page.locator(".players .seat-1 .clock")).to_have_text("10.7 s")
    await expect(page.locator(".now")).to_contain_text("10.7 s on the clock")


async def test_each_seat_has_a_scale_of_its_own_for_what_it_says(stored: Visit, kept: dict[str, str]) -> None:
    page = await opened(await stored.open("/matches/{tictactoe}"))
    values = [562_000, 100, -281_000, -50]
    await page.evaluate(
        FORGED, [kept["tictactoe"], {at: {"info": {"value": value}} for at, value in enumerate(values)}]
    )
    await tab(page, "Plots")
    plot = page.get_by_role("img", name="the bots’ evaluations of their positions")
    await expect(plot.locator(".line.seat-0")).to_have_attribute("d", re.compile("^M1 4.0L3 73.0"))
    await expect(plot.locator(".line.seat-1")).to_have_attribute("d", re.compile("^M2 4.0L4 73.0"))
    caption = page.locator("figcaption", has_text="the bots’ evaluations of their positions")
    await expect(caption).to_contain_text(re.compile("each bot on its own scale: .* ± 562K.* ± 100"))


async def test_a_match_is_shown_though_its_grades_do_not_come(stored: Visit, kept: dict[str, str]) -> None:
    page = await stored.open("/matches")
    await page.route("**/grades", lambda route: route.abort())
    await page.goto(f"{stored.home}/matches/{kept['nim']}")
    await expect(page.get_by_text("The moves could not be graded")).to_be_visible()
    await expect(page.locator(".board")).to_be_visible()
    await stored.expects("/grades")


async def test_of_a_game_without_a_board_the_moves_are_told(stored: Visit, kept: dict[str, str]) -> None:
    async def rename(route: Route) -> None:
        document = await (await route.fetch()).json()
        document["header"] |= {"game": "auction", "config": {}}
        document["plies"][0]["event"] = {"ply": 0, "seat": -1, "moves": [{"bid": 1}, {"bid": 3}], "result": {"lot": 0}}
        await route.fulfill(json=document)

    page = await stored.open("/matches")
    await page.route(f"**/api/v1/matches/{kept['nim']}", rename)
    await page.goto(f"{stored.home}/matches/{kept['nim']}#ply=0")
    await expect(page.locator(".stage")).to_contain_text("This page has no board for Auction.")
    await expect(page.locator(".moves tr[aria-current]")).to_contain_text('{"bid":1}, {"bid":3}')


async def test_a_match_without_states_is_shown_with_why_it_has_none_and_no_move_is_said_to_be_refereed(
    stored: Visit, kept: dict[str, str]
) -> None:
    async def forget(route: Route) -> None:
        document = await (await route.fetch()).json()
        document["header"] |= {"game": "auction", "config": {}}
        document |= {"start": {}, "fault": "this arena does not have the rules of auction"}
        document["plies"] = [line | {"state": None} for line in document["plies"]]
        await route.fulfill(json=document)

    page = await stored.open("/matches")
    await page.route(f"**/api/v1/matches/{kept['nim']}", forget)
    await page.goto(f"{stored.home}/matches/{kept['nim']}#ply=2")
    await expect(page.locator("#viewer .banner")).to_have_text("this arena does not have the rules of auction")
    await expect(page.locator(".moves tr[aria-current]")).to_contain_text("take")
    await tab(page, "Verify")
    await page.get_by_role("button", name="Verify in this browser").click()
    await expect(page.locator(".verdict")).to_contain_text("No move was refereed")


async def test_a_match_of_a_missing_game_is_shown_by_the_states_in_its_record_and_its_check_says_what_it_did_not_do(
    stored: Visit, kept: dict[str, str]
) -> None:
    document = make_document(record_reader.read_record(bytes_of(onecard()), "m-1"))

    page = await stored.open("/matches")
    await page.route(
        f"**/api/v1/matches/{kept['nim']}",
        lambda route: route.fulfill(body=msgspec.json.encode(document), content_type="application/json"),
    )
    await page.goto(f"{stored.home}/matches/{kept['nim']}#ply=start")
    await expect(page.locator("#viewer .banner")).to_contain_text("this arena does not have the rules of onecard")
    await expect(page.locator(".stage")).to_contain_text("this arena does not have the rules of onecard")
    await page.goto(f"{stored.home}/matches/{kept['nim']}#ply=0")
    await expect(page.locator(".any-text")).to_contain_text("is_dealt")
    await expect(page.locator(".moves tr[aria-current]")).to_contain_text("gives outcome 6")
    await tab(page, "Verify")
    await page.get_by_role("button", name="Verify in this browser").click()
    await expect(page.locator(".verdict")).to_contain_text("No move was refereed")
    await expect(page.locator(".verdict")).to_contain_text("1 draw of that seed. Not checked: moves, other dice")


async def test_grades_that_come_late_leave_the_list_of_moves_where_it_was(stored: Visit, kept: dict[str, str]) -> None:
    page = await opened(await stored.open("/matches/{duel}"))
    await page.evaluate(GRADED_LATE, kept["duel"])
    await expect(page.locator(".moves tr[aria-current] .move")).to_be_in_viewport(ratio=0.9)
    await expect(page.locator(".moves tr[aria-current]")).to_contain_text("25.0 %")
    await expect(page.locator(".now")).to_contain_text("gave away 25.0 %: worth 50.0 %")
    await expect(page.locator(".now")).to_contain_text("was worth 75.0 %")


@pytest.mark.parametrize(
    "game", ["duel", *(pytest.param(game, marks=pytest.mark.nightly) for game in ("nim", "campaign"))]
)
async def test_a_true_record_is_verified(stored: Visit, kept: dict[str, str], game: str) -> None:
    page = await opened(await stored.open(f"/matches/{kept[game]}"))
    await tab(page, "Verify")
    await page.get_by_role("button", name="Verify in this browser").click()
    await expect(page.locator(".verdict.good")).to_contain_text("✓ Verified")
    await expect(page.locator(".wrong-ply")).to_have_count(0)
    await expect(page.locator(".now-steps li.good")).not_to_have_count(0)


@pytest.mark.parametrize(
    "change", [{"digest": "0" * 64}, {"event": {"ply": 2, "seat": 0, "move": {"heap": 0, "take": 99}}}]
)
async def test_a_forged_record_is_red_at_the_ply_that_is_wrong(
    stored: Visit, kept: dict[str, str], change: dict[str, Any]
) -> None:
    page = await opened(await stored.open("/matches/{nim}"))
    await page.evaluate(FORGED, [kept["nim"], {2: change}])
    await tab(page, "Verify")
    await page.get_by_role("button", name="Verify in this browser").click()
    await expect(page.locator(".verdict.bad")).to_contain_text("✗ Wrong at move 3")
    await expect(page.locator(".wrong-ply")).to_have_count(1)
    await expect(page.locator(".timeline-place")).to_have_text(re.compile("move 3 of"))
    await expect(page.locator(".now-steps li.bad")).to_have_count(1)


@pytest.mark.parametrize(
    "game",
    [
        "campaign",
        *(pytest.param(game, marks=pytest.mark.nightly) for game in ("nim", "grundy", "tictactoe", "duel", "resign")),
    ],
)
async def test_who_comes_late_to_a_match_sees_the_boards_before(stored: Visit, kept: dict[str, str], game: str) -> None:
    page = await opened(await stored.open(f"/matches/{kept[game]}"))
    known, told = await page.evaluate(LATE, kept[game])
    assert known == told
    assert len(known) > 2


@pytest.mark.parametrize("at", [4, 5], ids=["between", "the-last"])
async def test_who_looks_at_a_ply_that_an_arena_lost_is_led_to_the_last_it_has(
    stored: Visit, kept: dict[str, str], at: int
) -> None:
    page = await opened(await stored.open("/matches/{duel}"))
    await page.evaluate(CUT, [kept["duel"], at])
    await expect(page.locator(".timeline-place")).to_have_text("move 2 of 2")
    await expect(page.locator(".board")).to_be_visible()
