"""The boards of the games in a browser: what they draw of a state, and how a person chooses a move on them."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any, Literal

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from arena.web.room_files import style_sheets
from arena.web.site import static_version
from chromium import PHONE, Visit, Visits, demand_fit
from protocol.games import load_game
from protocol.games.base import Game

pytestmark = pytest.mark.asyncio(loop_scope="session")

SEATS = [{"bot": "ann"}, {"bot": "bob"}]
MAKE = """async ([game, config, seats]) => {
  const script = document.querySelector("script[type=module]").src;
  const { loadBoards, makeBoard } = await import(script.replace("viewer/main.js", "board/index.js"));
  const said = document.createElement("output");
  await loadBoards(game);
  window.board = makeBoard(game, { config, seats });
  board.onChoose = (move) => (said.textContent = JSON.stringify(move));
  board.onRefuse = (sentence) => (said.textContent = sentence);
  document.querySelector("#viewer").replaceChildren(board.element, board.eventElement, board.controls, said);
}"""


WORLD = """async (map) => {
  const script = document.querySelector("script[type=module]").src;
  const { layOut } = await import(script.replace("viewer/main.js", "games/risk/geometry.js"));
  const { cells, places, links, elsewhere } = layOut(map);
  const [drawing, drawn] = ["svg", "path"].map((tag) => document.createElementNS("http://www.w3.org/2000/svg", tag));
  drawing.append(drawn);
  document.querySelector("#viewer").replaceChildren(drawing);
  const outside = map.territories.filter((_, at) => {
    drawn.setAttribute("d", cells[at]);
    return !drawn.isPointInFill(new DOMPoint(...places[at].slice(0, 2)));
  });
  return { isWorld: elsewhere.length > 0, links: links.length, outside: outside.map(({ name }) => name) };
}"""
ADD_SHEETS = """async (addresses) => {
  const before = document.querySelector("link[href$='/board.css']");
  const links = addresses.map((href) => Object.assign(document.createElement("link"), { rel: "stylesheet", href }));
  const loaded = links.map((link) => new Promise((resume) => link.addEventListener("load", resume)));
  before.after(...links);
  await Promise.all(loaded);
}"""
FOCUS_BEFORE_NEXT_FRAME = """async ([state, view]) => {
  board.show(state, view);
  const buttons = [...document.querySelectorAll(".choices button")];
  buttons[1].focus();
  await new Promise((resume) => requestAnimationFrame(resume));
  return buttons.indexOf(document.activeElement);
}"""
"""Shows a state, focuses the second choice at once, and returns the index of the one that has the focus then."""
ATTACKED = {"owner": [0, 0, 1, -1], "troops": [5, 2, 12, 0], "to_move": 1, "ply": 7}
ATTACKING = {"phase": "attack", "units": 0, "attacks_left": 3, "round": 1, "out": [], "to_move": 0, "ply": 3}
"""What a state of the campaign has beside who owns what, while a person attacks."""
SOUTH_AMERICA = {"map": "south-america"}
ATTACK = {"ply": 6, "seat": 0, "move": {"do": "attack", "from": 0, "to": 1}, "dice": [[6], [3]]}


class Table:
    """A page with one board on it, and below it the last thing that the board said."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.rules: Game[Any, Any]
        self.said = page.locator("#viewer > output")

    async def set(self, game: str, config: dict[str, Any] | None = None, seats: int = 2) -> None:
        self.rules = load_game(game, config)
        await self.page.evaluate(MAKE, [game, self.rules.config, (SEATS * 3)[:seats]])

    async def show(self, state: dict[str, Any], **view: Any) -> None:
        await self.page.evaluate("([state, view]) => window.board.show(state, view)", [state, view])

    async def offer(self, state: dict[str, Any], seat: int = 0, **view: Any) -> None:
        """Show a state in which a person on a seat is to move, with all moves that the rules allow."""
        legal, options = self.rules.legal_moves_for_turn(self.rules.decode_state(state))
        await self.show(state, legal=legal, options=options, seat=seat, **view)

    async def press(self, name: str) -> None:
        await self.page.get_by_role("button", name=name).click()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def shown(visiting: Visits, library: str, kept: dict[str, str]) -> AsyncIterator[tuple[Visit, Table]]:
    """A page of a match with the sheets of all boards: each test of this file has a board of its own on it."""
    async with visiting(library, PHONE, fresh=True) as visit:
        table = Table(await visit.open(f"/matches/{kept['nim']}"))
        await expect(table.page.locator(".viewer")).to_be_visible()
        await table.page.evaluate(ADD_SHEETS, [f"/static/{static_version()}/{sheet}" for sheet in style_sheets()])
        yield visit, table


@pytest_asyncio.fixture(loop_scope="session")
async def table(shown: tuple[Visit, Table]) -> AsyncIterator[Table]:
    """The page without a board, the pointer in its corner, of which nothing was complained in this test."""
    visit, table = shown
    await table.page.evaluate("document.querySelector('#viewer').replaceChildren()")
    await table.page.mouse.move(0, 0)
    visit.complaints.clear()
    yield table
    assert visit.complaints == []


@pytest.mark.parametrize(
    ("game", "config", "manner"),
    [
        ("nim", {}, "Press a counter to take it with all counters above it."),
        ("nim", {"preset": "sticks"}, "Press a counter to take it with all counters above it, 1, 2 or 3 in all."),
        ("grundy", {}, "Press a counter to split its heap after it, into two heaps of different sizes."),
        ("tictactoe", {}, "Press a free cell to place your mark."),
        ("risk-duel", {}, ""),
    ],
)
async def test_a_board_says_how_a_move_is_made(table: Table, game: str, config: dict[str, Any], manner: str) -> None:
    await table.set(game, config)
    assert await table.page.evaluate("window.board.instructions") == manner


async def test_nim_has_a_counter_for_each_that_is_left_and_a_ghost_for_each_that_was_taken(table: Table) -> None:
    await table.set("nim")
    before = {"heaps": [3, 5, 7], "to_move": 0, "ply": 0}
    event = {"ply": 0, "seat": 0, "move": {"heap": 2, "take": 4}}
    await table.show({"heaps": [3, 5, 3], "to_move": 1, "ply": 1}, event=event, before=before)
    heaps = table.page.locator(".heap")
    for heap, (left, taken) in enumerate([(3, 0), (5, 0), (3, 4)]):
        await expect(heaps.nth(heap).locator(".counter:not(.ghost)")).to_have_count(left)
        await expect(heaps.nth(heap).locator(".ghost.seat-0")).to_have_count(taken)
    await expect(table.page.get_by_role("button", name="take")).to_have_count(0)


async def test_bonuses_of_continents_are_told_in_the_campaign_and_not_in_the_duel_which_has_none(table: Table) -> None:
    bonuses = table.page.get_by_role("list", name="continents")
    await table.set("risk-campaign", {"map": "south-america", "draft": "classic"})
    await expect(bonuses).to_contain_text("South America +2")
    await table.set("risk-duel", {"map": "south-america"})
    await expect(table.page.locator(".board-risk .map-frame")).to_be_visible()
    await expect(bonuses).to_have_count(0)


async def test_nim_keeps_the_places_of_counters_that_were_taken_before(table: Table) -> None:
    await table.set("nim")
    await table.show({"heaps": [3, 5, 3], "to_move": 1, "ply": 1})
    await expect(table.page.locator(".gone")).to_have_count(4)
    high = await table.page.locator(".board-face").evaluate("(face) => face.clientHeight")
    await table.show({"heaps": [0, 0, 0], "to_move": None, "ply": 9})
    await expect(table.page.locator(".gone")).to_have_count(15)
    assert await table.page.locator(".board-face").evaluate("(face) => face.clientHeight") == high


async def test_pressing_a_counter_of_nim_takes_it_and_those_above(table: Table) -> None:
    await table.set("nim", {"preset": "min-nim"})
    state = {"heaps": [10, 0, 7], "to_move": 0, "ply": 3}
    await table.show(state, legal=[{"heap": 0, "take": 1}], seat=0)
    await table.press("take 4 from heap 3")
    await expect(table.said).to_have_text("That would take 4: a move must take 1, 2 or 3.")
    await table.press("take 3 from heap 3")
    await expect(table.said).to_have_text('{"heap":2,"take":3}')
    await expect(table.page.get_by_role("button", name="take")).to_have_count(0)


async def test_nim_is_played_by_keyboard_alone(table: Table) -> None:
    await table.set("nim")
    await table.show({"heaps": [3, 5, 7], "to_move": 0, "ply": 0}, legal=[{"heap": 0, "take": 1}], seat=0)
    await expect(table.page.locator("[tabindex='0'].counter")).to_have_count(1)
    await table.page.locator("[tabindex='0'].counter").focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowDown"):
        await table.page.keyboard.press(key)
    name = await table.page.evaluate("document.activeElement.getAttribute('aria-label')")
    await table.page.keyboard.press("Enter")
    _, take, _, _, heap, *_ = name.replace(",", "").split()
    assert heap == "2"
    await expect(table.said).to_have_text(f'{{"heap":1,"take":{take}}}')


async def test_grundy_splits_a_heap_after_the_counter_that_is_pressed(table: Table) -> None:
    await table.set("grundy")
    await table.show({"heaps": [1, 6], "to_move": 0, "ply": 1}, legal=[{"heap": 1, "split": 1}], seat=0)
    await expect(table.page.locator(".counter")).to_have_count(7)
    await table.press("split heap 2 into 3 and 3")
    await expect(table.said).to_have_text("That would make two heaps of 3: the sizes must differ.")
    await table.press("split heap 2 into 4 and 2")
    await expect(table.said).to_have_text('{"heap":1,"split":2}')


async def test_tictactoe_draws_both_marks_and_three_in_a_row(table: Table) -> None:
    await table.set("tictactoe")
    await table.show({"cells": [1, 2, 0, 0, 1, 2, 0, 0, 0], "to_move": 0, "ply": 4}, legal=[{"cell": 8}], seat=0)
    await expect(table.page.locator(".mark:not(.free, [d=''])")).to_have_count(4)
    await expect(table.page.locator(".three")).to_have_attribute("d", "")
    await table.press("top, bob (seat 2)")
    await expect(table.said).to_have_text("That cell is taken by bob (seat 2): choose a free one.")
    await table.press("bottom right, free")
    await expect(table.said).to_have_text('{"cell":8}')
    await table.show({"cells": [1, 2, 0, 0, 1, 2, 0, 0, 1], "to_move": None, "ply": 5})
    await expect(table.page.locator(".three.seat-0")).to_have_attribute("d", "M50 50L250 250")


async def test_the_duel_shows_who_owns_what_and_the_attack(table: Table) -> None:
    await table.set("risk-duel")
    before = {"owner": [0, 1, 1, -1], "troops": [5, 3, 12, 0], "to_move": 0, "ply": 6}
    state = {"owner": [0, 0, 1, -1], "troops": [5, 1, 12, 0], "to_move": 1, "ply": 7}
    await table.show(state, event=ATTACK | {"result": {"taken": True}}, before=before)
    for seat, owned in (("seat-0", 2), ("seat-1", 1), ("seat-none", 1)):
        await expect(table.page.locator(f".land.{seat}")).to_have_count(owned)
    assert await table.page.locator(".army .count").all_text_contents() == ["5", "1", "12", ""]
    await expect(table.page.locator(".arrow.seat-0.taken")).to_have_count(1)
    await expect(table.page.locator(".board-told")).to_contain_text("ann: Venezuela → Peru: taken (dice 6 : 3)")
    await expect(table.page.get_by_role("img", name="seat 1 rolled 6")).to_be_visible()
    await expect(table.page.get_by_role("img", name="seat 2 rolled 3")).to_be_visible()


async def test_in_the_duel_a_person_invades_reinforces_and_attacks(table: Table) -> None:
    await table.set("risk-duel")

    async def show(owner: list[int], troops: list[int]) -> None:
        await table.offer({"owner": owner, "troops": troops, "to_move": 0, "ply": 8})

    await show([0, 1, -1, 1], [3, 3, 0, 3])
    await table.press("Peru is bob's (seat 2)")
    await expect(table.said).to_contain_text("invade a free territory, as long as there is one")
    await table.press("Brazil is nobody's")
    await expect(table.said).to_have_text('{"do":"invade","to":2}')
    await show([0, 1, 0, 1], [3, 5, 3, 3])
    await table.press("Argentina is bob's")
    await expect(table.said).to_contain_text("first choose a neighbour of yours")
    await table.press("Venezuela is yours")
    await table.press("Argentina is bob's")
    await expect(table.said).to_have_text("Venezuela has no border with Argentina.")
    await table.press("Peru is bob's")
    await expect(table.said).to_have_text("Venezuela has 3, Peru 5: an attacker needs at least as many troops.")
    await table.press("Reinforce Venezuela")
    await expect(table.said).to_have_text('{"do":"reinforce","at":0}')
    await show([0, 1, 0, 1], [3, 5, 3, 3])
    await table.press("Brazil is yours")
    await table.press("Argentina is bob's (seat 2) with 3, attack · 42 %")
    await expect(table.said).to_have_text('{"do":"attack","from":2,"to":3}')


async def test_in_the_campaign_a_person_places_attacks_and_ends_the_turn(table: Table) -> None:
    await table.set("risk-campaign", SOUTH_AMERICA)
    state = ATTACKING | {"owner": [0, 1, 0, 1], "troops": [4, 1, 1, 1]}
    await table.offer(state | {"phase": "draft", "units": 2})
    await table.press("Peru is bob's")
    await expect(table.said).to_contain_text("you can place units only on your own territories")
    await table.press("Venezuela is yours")
    await table.press("Undo")
    await table.press("Brazil is yours")
    await expect(table.page.get_by_role("button", name="Place them")).to_be_disabled()
    await table.press("Brazil is yours")
    await expect(table.page.locator(".plus").nth(2)).to_have_text("+2")
    await table.press("Place them")
    await expect(table.said).to_have_text('{"do":"draft","units":[[2,2]]}')
    await table.offer(state)
    await table.press("Brazil is yours")
    await expect(table.said).to_have_text("Brazil can't attack: 1 unit has to stay behind.")
    await table.press("Venezuela is yours")
    await table.press("Peru is bob's")
    await table.page.get_by_role("spinbutton").fill("2")
    await table.press("Attack Peru · 75 %")
    await expect(table.said).to_have_text('{"do":"attack","from":0,"to":1,"units":2}')
    await table.offer(state)
    await table.press("End the turn")
    await expect(table.said).to_have_text('{"do":"end"}')


async def test_every_attack_from_a_chosen_territory_is_a_button_with_its_chance(table: Table) -> None:
    await table.set("risk-duel")
    await table.offer({"owner": [0, 1, 0, 1], "troops": [3, 5, 5, 3], "to_move": 0, "ply": 8})
    attacks = table.page.get_by_role("button", name="Attack ", exact=False).filter(has_text="Attack")
    await expect(attacks).to_have_count(0)
    await table.press("Brazil is yours")
    await expect(attacks).to_have_text(["Attack Peru · 42 %, else lose 5", "Attack Argentina · 42 %, else lose 3"])
    await attacks.last.click()
    await expect(table.said).to_have_text('{"do":"attack","from":2,"to":3}')


@pytest.mark.parametrize("seat", [0, 1])
async def test_what_a_person_may_choose_is_outlined_alike_for_all_seats_and_the_last_move_steps_back(
    table: Table, seat: int
) -> None:
    await table.set("risk-duel")
    state = {"owner": [0, 1, 0, 1], "troops": [5, 5, 5, 3], "to_move": seat, "ply": 8}
    await table.offer(state, seat, event={**ATTACK, "seat": 1 - seat}, before={**state, "troops": [5, 6, 5, 3]})
    page = table.page
    ink = await page.evaluate("getComputedStyle(document.body).color")
    await expect(page.locator(".rim.offered")).to_have_count(2)
    await expect(page.locator(".rim.offered").first).to_have_css("stroke", ink)
    ground = "at => getComputedStyle(document.querySelector(`[data-territory='${at}'] .ground`)).fill"
    assert await page.evaluate(ground, 1) == await page.evaluate(ground, 3), "what the last move changed has a shade"
    await expect(page.locator(".attack")).to_have_css("opacity", "0.3")
    await table.press("Peru is yours" if seat else "Venezuela is yours")
    await expect(page.locator(".attack")).to_be_hidden()


async def test_the_chance_of_an_attack_follows_the_units_that_are_sent(table: Table) -> None:
    await table.set("risk-campaign", SOUTH_AMERICA)
    await table.offer(ATTACKING | {"owner": [0, 1, 0, 1], "troops": [1, 3, 9, 30]})
    await table.press("Brazil is yours")
    await expect(table.page.get_by_role("button", name="Attack Argentina · under 1 %")).to_be_visible()
    await table.page.get_by_role("button", name="Attack Peru · 95 %").press("Enter")
    strike = table.page.locator("button:focus")
    await expect(strike).to_have_text("Attack Peru · 95 %")
    for units, label in (("3", "Attack Peru · 47 %"), ("1", "Attack Peru · 3 %"), ("9", "Attack")):
        await table.page.get_by_role("spinbutton").fill(units)
        await expect(table.page.get_by_role("button", name=label, exact=True)).to_be_visible()
    await table.page.get_by_role("spinbutton").fill("8")
    await table.press("Attack Peru · 95 %")
    await expect(table.said).to_have_text('{"do":"attack","from":2,"to":1,"units":8}')


@pytest.mark.parametrize(
    ("name", "over_the_sea"),
    [
        ("world", 25),
        ("north-america", 3),
        ("south-america", 0),
        ("europe", 6),
        ("africa", 2),
        ("asia", 2),
        ("australia", 4),
    ],
)
async def test_the_maps_of_the_world_have_its_coasts_and_lines_over_the_sea_alone(
    table: Table, name: str, over_the_sea: int
) -> None:
    world = load_game("risk-campaign", {"map": name, "players": 2}).config["map"]
    told = await table.page.evaluate(WORLD, world)
    assert told == {"isWorld": True, "links": over_the_sea, "outside": []}


async def test_a_map_in_which_lands_that_touch_have_no_border_has_cells_of_its_own(table: Table) -> None:
    world = load_game("risk-campaign", {"map": "world", "players": 2}).config["map"]
    panama = [8, 9]
    assert [world["territories"][at]["name"] for at in panama] == ["Central America", "Venezuela"]
    told = await table.page.evaluate(
        WORLD, world | {"borders": [border for border in world["borders"] if list(border) != panama]}
    )
    assert not told["isWorld"]


async def test_what_a_chosen_territory_does_not_reach_is_dimmed(table: Table) -> None:
    await table.set("risk-campaign", SOUTH_AMERICA)
    await table.offer(ATTACKING | {"owner": [0, 1, 0, 1], "troops": [4, 1, 1, 1]})
    await expect(table.page.locator(".land.dimmed")).to_have_count(0)
    await table.press("Venezuela is yours")
    dimmed = await table.page.locator(".land.dimmed").evaluate_all(
        "lands => lands.map((land) => land.dataset.territory)"
    )
    assert dimmed == ["2", "3"]


@pytest.mark.parametrize(("motion", "longest"), [("no-preference", 250), ("reduce", 0)])
async def test_armies_and_dice_move_for_a_quarter_of_a_second_and_not_for_who_wants_less_motion(
    table: Table, motion: Literal["no-preference", "reduce"], longest: int
) -> None:
    await table.page.emulate_media(reduced_motion=motion)
    await table.set("risk-duel")
    before = {"owner": [0, 1, 1, -1], "troops": [6, 1, 12, 0], "to_move": 0, "ply": 6}
    await table.show(before)
    lasting = await table.page.evaluate(
        """([state, view]) => {
          window.board.show(state, view);
          const effects = document.getAnimations().map(({ effect }) => effect);
          return effects.map((effect) => [effect.getTiming().duration, effect.target.classList[0]]);
        }""",
        [ATTACKED, {"event": ATTACK | {"result": {"taken": True}}, "before": before}],
    )
    assert max((duration for duration, _ in lasting), default=0) == longest
    assert ({"die", "army", "marching"} <= {name for _, name in lasting}) is bool(longest)


async def test_a_phone_names_the_territory_that_is_pressed(table: Table) -> None:
    await table.set("risk-campaign", {"preset": "world"}, seats=6)
    await table.show(ATTACKING | {"owner": [at % 6 for at in range(42)], "troops": [1] * 42})
    await expect(table.page.locator(".tag")).to_have_text("")
    await table.page.locator("[data-territory='32'] .reach").click()
    await expect(table.page.locator(".tag")).to_have_text("Japan")
    await expect(table.page.locator(".tag")).to_be_visible()


async def test_after_an_attack_the_keyboard_is_where_it_was(table: Table) -> None:
    await table.set("risk-campaign", SOUTH_AMERICA)
    await table.offer(ATTACKING | {"owner": [1, 0, 1, 1], "troops": [1, 4, 1, 1]})
    for name in ("Peru is yours", "Brazil is bob's", "Attack Brazil"):
        await table.page.get_by_role("button", name=name).press("Enter")
    await expect(table.said).to_contain_text('"to":2')
    await table.offer(ATTACKING | {"owner": [1, 0, 0, 1], "troops": [1, 1, 3, 1], "attacks_left": 2, "ply": 4})
    await expect(table.page.get_by_role("button", name="Brazil is yours")).to_be_focused()


@pytest.mark.parametrize(("taken", "defender"), [(False, "seat-1"), (True, "seat-none")])
async def test_the_dice_of_the_defender_are_never_in_the_attackers_colour(
    table: Table, taken: bool, defender: str
) -> None:
    await table.set("risk-duel")
    state = {"owner": [0, 0 if taken else 1, 1, -1], "troops": [5, 1, 12, 0], "to_move": 1, "ply": 7}
    await table.show(
        state, event=ATTACK | {"result": {"taken": taken}}
    )  # as after a reload: what was before is unknown
    await expect(table.page.locator(".dice").nth(0).locator(".die.seat-0")).to_have_count(1)
    await expect(table.page.locator(".dice").nth(1).locator(f".die.{defender}")).to_have_count(1)


async def test_a_phone_shows_all_dice_of_a_long_battle_and_what_is_counted(table: Table) -> None:
    await table.set("risk-campaign", SOUTH_AMERICA)
    before = ATTACKING | {"owner": [0, 1, 0, 1], "troops": [9, 8, 1, 1]}
    move = {"do": "attack", "from": 0, "to": 1, "units": 8}
    event = {"ply": 3, "seat": 0, "move": move, "dice": [[6, 5, 4], [3, 2]] * 8, "result": {"taken": True}}
    await table.show(before | {"owner": [0, 0, 0, 1], "troops": [1, 8, 1, 1], "ply": 4}, event=event, before=before)
    for die in await table.page.locator(".die").all():
        await expect(die).to_be_in_viewport(ratio=1)
    assert await table.page.evaluate("window.board.strength(0).words") == "3 territories, 10 troops"


MATRIX = {
    "payoffs": [[[1, 2], [3, 4], [5, 6]], [[7, 8], [9, 10], [11, 12]]],
    "choices": [["up", "down"], ["a", "b", "c"]],
}


@pytest.mark.parametrize(
    ("seat", "rows", "own", "theirs"),
    [
        (0, ["up", "down"], ["1", "3", "5", "7", "9", "11"], ["2", "4", "6", "8", "10", "12"]),
        (1, ["a", "b", "c"], ["2", "8", "4", "10", "6", "12"], ["1", "7", "3", "9", "5", "11"]),
    ],
)
async def test_the_rows_of_a_matrix_are_a_persons_own_choices_on_either_seat(
    table: Table, seat: int, rows: list[str], own: list[str], theirs: list[str]
) -> None:
    await table.set("dilemma", MATRIX)
    state = {"payoffs": [9, 10], "last": [1, 1], "to_move": [0, 1], "ply": 1}
    await table.show(state, seat=seat, legal=[{"choose": choice} for choice in range(len(rows))])
    await expect(table.page.locator(".matrix tbody th")).to_have_text(rows)
    await expect(table.page.locator(".payoff.own")).to_have_text(own)
    await expect(table.page.locator(".payoff.theirs")).to_have_text(theirs)
    await expect(table.page.locator("td[data-last] .payoff")).to_have_text(["10", "9"] if seat else ["9", "10"])
    await table.page.locator(".choices button").last.focus()
    await table.page.keyboard.press("ArrowRight")
    await table.page.keyboard.press(rows[1][0])
    await expect(table.said).to_have_text('{"choose":1}')
    await expect(table.page.locator("[data-chosen] th")).to_have_text(rows[1])


async def test_choices_that_come_up_leave_the_focus_where_a_person_puts_it_before_the_next_frame(table: Table) -> None:
    await table.set("dilemma", MATRIX)
    state = {"payoffs": [0, 0], "last": None, "to_move": [0, 1], "ply": 0}
    legal = [{"choose": 0}, {"choose": 1}]
    focused = await table.page.evaluate(FOCUS_BEFORE_NEXT_FRAME, [state, {"seat": 0, "legal": legal}])
    assert focused == 1


async def test_a_choice_that_chance_changed_is_marked_as_soon_as_it_is_told(table: Table) -> None:
    await table.set("dilemma", {"noise": "0.1", "choices": [["cooperate", "defect"]] * 2})
    rounds = [
        {"ply": 0, "seat": -1, "moves": [{"choose": 0}, None], "result": {"payoffs": [0, 5], "played": [0, 1]}},
        {"ply": 1, "seat": -1, "moves": [{"choose": 0}, None], "result": {"payoffs": [1, 1], "played": [1, 1]}},
    ]
    state = {"payoffs": [1, 6], "last": [1, 1], "to_move": [0, 1], "ply": 2}
    await table.show(state, past=rounds, event=rounds[1], seat=0)
    await expect(table.page.locator(".mark-of-seat.seat-0")).to_have_text(["D", "C"])  # the latest first
    await expect(table.page.locator(".mark-of-seat.seat-1")).to_have_text(["D", "D"])
    await expect(table.page.locator(".flipped")).to_have_count(1)
    await expect(table.page.locator(".board-told")).to_have_text(
        re.compile(r"defect, defect \(chosen: cooperate, \?\) · 1 and 1$")
    )


async def test_a_hand_that_ended_lies_open_until_the_next_is_dealt(table: Table) -> None:
    await table.set("kuhn", {"hands": 2})
    hand = [
        {"ply": 0, "seat": -1, "move": {"cards": [2, None]}},
        {"ply": 1, "seat": 0, "move": {"do": "bet"}},
        {"ply": 2, "seat": 1, "move": {"do": "call"}, "result": {"won": 0, "chips": 2, "cards": [2, 1]}},
    ]
    state = {"hand": 1, "chips": [2, -2], "cards": None, "public": None, "bets": [""], "paid": [1, 1], "to_move": -1}
    await table.show(state | {"ply": 3}, past=hand, event=hand[2], seat=0)
    names = [await card.get_attribute("aria-label") for card in await table.page.locator(".place .card").all()]
    assert names == ["you: the king of spades", "bob: the queen of spades"]
    await expect(table.page.locator(".place[data-won]")).to_contain_text("win 2")
    await expect(table.page.locator(".pot")).to_have_text("pot 4")
    assert await table.page.evaluate("window.board.statusText()") == "Hand 1 of 2 is over"
    await expect(table.page.locator(".hand-before")).to_have_text("Hand 1: you win 2 chips, K♠ against Q♠")
    dealt = {"ply": 3, "seat": -1, "move": {"cards": [0, None]}}
    await table.show(state | {"cards": [0, None], "to_move": 1, "ply": 4}, past=[*hand, dealt], event=dealt, seat=0)
    names = [await card.get_attribute("aria-label") for card in await table.page.locator(".place .card").all()]
    assert names == ["you: the jack of spades", "bob: an unseen card"]
    await expect(table.page.locator(".hand-before")).to_have_text("Hand 1: you win 2 chips, K♠ against Q♠")
    await expect(table.page.locator(".totals b")).to_have_text(["+2", "−2"])
    last = [
        {"ply": 4, "seat": 1, "move": {"do": "bet"}},
        {"ply": 5, "seat": 0, "move": {"do": "fold"}, "result": {"won": 1, "chips": 1}},
    ]
    over = state | {"hand": 2, "chips": [1, -1], "to_move": None, "ply": 6}
    await table.show(over, past=[*hand, dealt, *last], event=last[1], seat=0)
    await expect(table.page.locator(".deal")).to_have_text("Hand 2 of 2")
    await expect(table.page.locator(".hand-before")).to_have_text("Hand 2: bob wins 1 chip: you fold")


async def test_a_board_that_can_be_played_on_keeps_nobody_out(table: Table) -> None:
    await table.set("risk-campaign", {"preset": "world"}, seats=6)
    await table.offer(ATTACKING | {"owner": [territory % 6 for territory in range(42)], "troops": [60] * 42})
    await table.press("Alaska is yours")
    await demand_fit(table.page)


GESTURE = """async (moves) => {
  const box = document.querySelector("svg.map").getBoundingClientRect();
  for (const [kind, pointerId, x, y] of moves) {
    const at = { clientX: box.left + x * box.width, clientY: box.top + y * box.height, bubbles: true };
    const part = document.elementFromPoint(at.clientX, at.clientY) ?? document.body;
    part.dispatchEvent(new PointerEvent(kind, { ...at, pointerId, pointerType: "touch" }));
    if (kind === "pointerup") part.dispatchEvent(new MouseEvent("click", at));
  }
}"""
"""Moves fingers over the map: what happens, which finger, and where, as parts of the map's width and height."""


async def draft_on_the_world(table: Table) -> list[str]:
    """A turn to place three units, of who owns every third territory; the names of all."""
    config = {"preset": "world-3"}
    await table.set("risk-campaign", config, seats=3)
    names = [place["name"] for place in load_game("risk-campaign", config).config["map"]["territories"]]
    owner = [at % 3 for at in range(len(names))]
    mine = [at for at, seat in enumerate(owner) if seat == 0]
    draft = {"do": "draft", "units": 3, "territories": mine}
    state = {"owner": owner, "troops": [1] * len(names), "phase": "draft", "units": 3, "attacks_left": 3, "round": 1}
    legal = [{"do": "draft", "units": [[mine[0], 3]]}]
    await table.show({**state, "out": [], "to_move": 0, "ply": 1}, legal=legal, options=draft, seat=0)
    return [names[at] for at in mine]


async def view_of(page: Page) -> list[float]:
    """What is seen of the map, in its units: left, top, width and height."""
    return [float(number) for number in (await page.locator("svg.map").get_attribute("viewBox") or "").split()]


async def test_a_map_is_looked_at_more_closely_by_buttons_and_small_land_can_be_pressed_then(table: Table) -> None:
    page = table.page
    mine = await draft_on_the_world(table)
    whole = await view_of(page)
    closer = page.get_by_role("button", name="Zoom in")
    await expect(page.get_by_role("button", name="Whole map")).to_be_hidden()
    before = await page.get_by_role("button", name=mine[0]).bounding_box()
    for _ in range(4):
        await closer.click()
    await expect(closer).to_be_disabled()
    assert await view_of(page) == [
        pytest.approx(at, abs=0.1) for at in (whole[2] * 5 / 12, whole[3] * 5 / 12, whole[2] / 6, whole[3] / 6)
    ]
    await demand_fit(page)
    first = page.get_by_role("button", name=mine[0])
    await first.focus()  # is out of sight
    after = await first.bounding_box()
    assert before is not None
    assert after is not None
    assert min(after["width"] / before["width"], after["height"] / before["height"]) > 5
    await page.keyboard.press("Enter")
    await expect(page.locator(".army .plus", has_text="+1")).to_have_count(1)
    await page.get_by_role("button", name="Zoom out").click()
    await page.get_by_role("button", name="Whole map").click()
    assert await view_of(page) == pytest.approx(whole, abs=0.01)


async def test_two_fingers_look_more_closely_where_they_are_and_one_moves_the_map_without_a_press(
    table: Table,
) -> None:
    page = table.page
    await draft_on_the_world(table)
    whole = await view_of(page)
    drag = [["pointerdown", 1, 0.5, 0.5], ["pointermove", 1, 0.2, 0.5], ["pointerup", 1, 0.2, 0.5]]
    await page.evaluate(GESTURE, [*drag[:-1], ["pointercancel", 1, 0.2, 0.5]])
    assert await view_of(page) == whole  # there is nothing to be moved
    pinch = [
        ["pointerdown", 1, 0.4, 0.5],
        ["pointerdown", 2, 0.6, 0.5],
        ["pointermove", 1, 0.3, 0.5],
        ["pointermove", 2, 0.7, 0.5],
        ["pointerup", 2, 0.7, 0.5],
        ["pointerup", 1, 0.3, 0.5],
    ]
    await page.evaluate(GESTURE, pinch)
    seen = await view_of(page)
    assert seen[2] == pytest.approx(whole[2] / 2, rel=0.02)
    await page.evaluate(GESTURE, drag)
    moved = await view_of(page)
    assert moved[0] > seen[0]
    assert moved[1:] == seen[1:]
    await expect(table.said).to_have_text("")
    await expect(page.locator(".army .plus:not(:empty)")).to_have_count(0)
    await page.evaluate(GESTURE, [["pointerdown", 1, 0.5, 0.5], ["pointermove", 1, 9, 9], ["pointerup", 1, 0.5, 0.5]])
    left, top, width, height = await view_of(page)
    assert 0 <= left <= whole[2] - width
    assert 0 <= top <= whole[3] - height


async def test_a_wheel_scrolls_the_page_and_with_ctrl_looks_at_the_map_more_closely(table: Table) -> None:
    page = table.page
    await draft_on_the_world(table)
    whole = await view_of(page)
    await page.locator("svg.map").hover(position={"x": 100, "y": 100})
    await page.mouse.wheel(0, 1)
    assert await view_of(page) == whole
    await page.keyboard.down("Control")
    await page.mouse.wheel(0, -100)
    await page.keyboard.up("Control")
    await expect(page.locator("svg.map[data-zoomed]")).to_be_visible()
