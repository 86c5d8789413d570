"""The wall: live boards that fill a projector and nothing more, in turn where they are many, and the leaderboards."""

from __future__ import annotations

import asyncio
import re
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from playwright.async_api import Route, expect

from chromium import PHONE, Visit, Visits, barriers, release_timers, resize, sideways
from house import House, HouseProcess, open_house
from players import Map, Player, player
from timeouts import WITHIN

pytestmark = pytest.mark.asyncio(loop_scope="session")

END_DISPLAY_MS = 5000
"""For how long the wall shows the end of a match."""
PROJECTORS = ((1280, 800), (1366, 768), (1920, 1080))
PARTS = ".wall-match, .wall-match :is(.land, .counter, .cell, .player), aside h2, #join"
OUTSIDE = """(parts) => [...document.querySelectorAll(parts)].filter((part) => {
  const { left, top, right, bottom } = part.getBoundingClientRect();
  return left < -1 || top < -1 || right > innerWidth + 1 || bottom > innerHeight + 1;
}).map((part) => part.outerHTML.slice(0, 100))"""
SCROLLS = "document.documentElement.scrollHeight > innerHeight"
GAMES = (
    ("risk-campaign", {"preset": "world"}, 6),
    ("risk-campaign", {"preset": "grid"}, 2),
    ("risk-duel", {"preset": "asia"}, 2),
    ("nim", {"preset": "classic"}, 2),
    ("grundy", {"preset": "large"}, 2),
    ("tictactoe", {"preset": "classic"}, 2),
)


async def match(
    stack: AsyncExitStack, house: House | HouseProcess, game: str, config: Map, seats: int, name: str
) -> list[Player]:
    players = [await stack.enter_async_context(player(house.url, f"{name}-{seat}")) for seat in range(seats)]
    for one in players:
        others = [other.name for other in players if other is not one]
        await one.seek(game, config=config, opponents=others)
    for one in players:
        await one.begin()
    return players


async def first_move(players: list[Player]) -> None:
    """Have whoever is the first to move, of a match that has begun, make a move."""
    turns = [asyncio.create_task(one.expect("turn")) for one in players]
    done, waiting = await asyncio.wait(turns, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()
    (turn,) = done
    await players[turns.index(turn)].move(turn.result())


async def test_six_boards_of_all_games_fill_a_projector_and_nothing_sticks_out(
    visiting: Visits, tmp_path: Path
) -> None:
    async with open_house(tmp_path) as house, visiting(house.page) as visit, AsyncExitStack() as stack:
        for number, (game, config, seats) in enumerate(GAMES):
            await match(stack, house, game, config, seats, f"bot{number}")
        page = await visit.open("/wall")
        await expect(page.locator(".wall-match .board")).to_have_count(len(GAMES))
        await expect(page.locator(".wall-match .saying")).to_have_text([re.compile("bot")] * len(GAMES))
        for width, height in PROJECTORS:
            await resize(page, (width, height))
            assert await page.evaluate(OUTSIDE, PARTS) == [], (width, height)
            assert not await page.evaluate(SCROLLS)
            assert await sideways(page) == 0
        assert await barriers(page) == ""
        await resize(page, PHONE)
        assert await sideways(page) == 0


async def test_a_match_comes_on_moves_and_its_end_makes_room(visiting: Visits, tmp_path: Path) -> None:
    async with open_house(tmp_path) as house, visiting(house.page, fresh=True) as visit, AsyncExitStack() as stack:
        await visit.hold_timers(END_DISPLAY_MS)
        page = await visit.open("/wall")
        await expect(page.get_by_role("heading", name="No match right now")).to_be_visible()
        await expect(page.locator("#nothing .address")).to_have_text([f"{house.page}/play", f"{house.page}/connect"])
        assert await barriers(page) == ""
        ann, bob = await match(stack, house, "nim", {"heaps": [1]}, 2, "bot")
        wall = page.locator(".wall-match")
        await expect(wall.get_by_role("heading")).to_have_text("Nim")
        await expect(page.locator("#nothing")).to_be_hidden()
        await expect(page.locator("#join")).to_contain_text(house.page)
        await first_move([ann, bob])
        await expect(wall.locator(".saying")).to_have_text(
            re.compile(r"^bot-[01] won: bot-[01] took the last counter\.$")
        )
        await expect(wall.locator(".player .badge").filter(has_text="1st")).to_be_visible()
        await release_timers(page)
        await expect(wall).to_have_count(0)
        await expect(page.get_by_role("heading", name="No match right now")).to_be_visible()


async def test_while_bots_are_here_and_none_plays_the_wall_says_who_waits(visiting: Visits, tmp_path: Path) -> None:
    async with open_house(tmp_path) as house, visiting(house.page) as visit, AsyncExitStack() as stack:
        for name in ("ann", "bob"):
            await stack.enter_async_context(player(house.url, name))
        page = await visit.open("/wall")
        await expect(page.get_by_role("heading", name="No match right now")).to_be_visible()
        await expect(page.locator("#nothing-told")).to_have_text("ann and bob are online and wait for the next match.")
        await expect(page.get_by_text("No bot and no person is online.")).to_have_count(0)
        assert await barriers(page) == ""
        await resize(page, PHONE)
        assert await sideways(page) == 0


async def test_where_more_play_than_fit_the_others_have_their_turn(visiting: Visits, tmp_path: Path) -> None:
    async with open_house(tmp_path) as house, visiting(house.page, fresh=True) as visit, AsyncExitStack() as stack:
        for number in range(8):
            await match(stack, house, "tictactoe", {}, 2, f"bot{number}")
        page = await visit.context.new_page()
        await page.clock.install()
        await page.goto(f"{house.page}/wall")
        names = page.locator(".wall-match .player b")
        await expect(page.locator(".wall-match")).to_have_count(6)
        shown = set(await names.all_inner_texts())
        left = sorted({f"bot{number}-{seat}" for number in range(8) for seat in range(2)} - shown)
        assert len(left) == 4
        await page.clock.fast_forward(21_000)
        for name in left:
            await expect(names.filter(has_text=name)).to_be_visible()
        await expect(page.locator(".wall-match .saying", has_text="is to move")).to_have_count(6)


async def test_leaderboards_take_turns_and_are_kept_up_to_date(visiting: Visits, tmp_path: Path) -> None:
    async with open_house(tmp_path) as house, AsyncExitStack() as stack, visiting(house.page, fresh=True) as visit:
        ann, bob = [await stack.enter_async_context(player(house.url, name)) for name in ("ann", "bob")]

        async def play(game: str) -> None:
            for one in (ann, bob):
                await one.seek(game)
            async with asyncio.TaskGroup() as playing:
                for one in (ann, bob):
                    playing.create_task(one.play_through())

        played = asyncio.Event()

        async def after_play(route: Route) -> None:
            await played.wait()
            await route.continue_()

        page = await visit.context.new_page()
        await page.clock.install()
        await page.route("**/games/nim/board.js", after_play)  # what is over before the wall can listen counts as well
        await page.goto(f"{house.page}/wall", wait_until="commit")
        board = page.locator("#leaders > section:not([hidden])")
        await expect(board).to_contain_text("No rated matches yet.")
        for game in ("nim", "tictactoe"):
            await play(game)
        played.set()
        async with asyncio.timeout(WITHIN):
            while await page.locator("#leaders li").count() < 4:
                await page.clock.run_for(1000)
        await page.clock.pause_at(await page.evaluate("Date.now()") / 1000 + 1)  # else its time goes on by itself
        titles = []
        for _ in range(3):
            titles.append(await board.get_by_role("heading").inner_text())
            await page.clock.run_for(15_000)
        assert sorted(titles[:2]) == ["Nim, classic", "Tic-tac-toe, classic"]
        assert titles[2] == titles[0]
        await expect(board.locator("li")).to_have_count(2)


async def test_over_a_stored_arena_the_wall_says_how_to_run_one(stored: Visit) -> None:
    page = await stored.open("/wall")
    await expect(page.get_by_role("heading", name="No server is running")).to_be_visible()
    await expect(page.locator("#leaders > section:not([hidden]) li").first).to_be_visible()
