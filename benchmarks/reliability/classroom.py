"""Check that a school class of forty people behind one router reaches no limit of the default settings.

Forty bots from one address connect at the same time and play on the ladder. Each plays two of three games, in four
matches at a time. Forty browsers from this address watch all matches, some of them in detail, and load a page twice a
second or more.
Usage: python benchmarks/reliability/classroom.py [--people 40] [--seconds 60] [--small]
Exit status 1 if anything was refused or a connection was lost.
"""

from __future__ import annotations

import asyncio
import http.client
import random
import sys
import time
from collections import Counter
from typing import Any

from rig import Closed, RawConnection, Server, get_status, run_tasks
from toolkit import quantile, read_options

ROUTER_ADDRESS = "127.0.0.9"
"""The address from which the whole school class connects."""
SLOTS = 4
"""The number of matches that each bot plays at a time."""
GAMES = ("nim", "tictactoe", "risk-duel")
"""The games that the school class plays. Each bot plays two of them."""
EARLY_MISSING_PREFIXES = "/bots/", "/api/v1/leaderboard"
"""The beginnings of paths that are answered with 404 until the first match of a bot has ended."""
PAGE_PATHS = ("/", "/matches", "/bots/{bot}", "/matches/{match}", "/api/v1/matches", "/api/v1/leaderboard/nim/classic")
"""The paths of the pages that the browsers load."""


class Lesson:
    """The measurements of a simulated school class: refused requests, ended matches, loaded pages, watched turns."""

    def __init__(self) -> None:
        self.refusals: Counter[str] = Counter()
        self.ends = 0
        self.pages: list[float] = []
        """The seconds that each loaded page took."""
        self.turns = 0
        """The number of turns that were watched."""
        self.finished: list[str] = []


async def play(port: int, name: str, lesson: Lesson) -> None:
    """Play matches as a bot that makes a random legal move after a short pause."""
    raw = await RawConnection.enter(port, name, source=ROUTER_ADDRESS, slots=SLOTS)
    if raw.welcome["type"] == "error":
        lesson.refusals[raw.welcome["message"]] += 1
        return
    games = random.sample(GAMES, 2)
    for number in range(SLOTS):
        raw.send(type="seek", id=f"s{number}", game=games[number % 2])
    again = SLOTS
    while True:
        told = await raw.receive()
        if told["type"] == "start":
            raw.send(type="ready", match=told["match"])
        elif told["type"] == "turn":
            await asyncio.sleep(random.random() * 0.02)
            raw.send(type="move", match=told["match"], ply=told["ply"], move=random.choice(told["legal"]))
        elif told["type"] == "end":
            lesson.ends += 1
            lesson.finished.append(told["match"])
            raw.send(type="seek", id=f"s{again}", game=random.choice(games))
            again += 1
        elif told["type"] in ("error", "rejected"):
            lesson.refusals[told["message"]] += 1


async def watch(port: int, lesson: Lesson) -> None:
    """Watch as a browser does: all matches, and from time to time one of them in detail."""
    raw = await RawConnection.enter(port, source=ROUTER_ADDRESS)
    raw.send(type="watch", match="*")
    watched: set[str] = set()
    while True:
        told = await raw.receive()
        if told["type"] == "start" and told["match"] not in watched and random.random() < 0.05:
            watched.add(told["match"])
            raw.send(type="watch", match=told["match"])
        elif told["type"] == "turn":
            lesson.turns += 1
        elif told["type"] == "error" and not told["message"].startswith("watch: no match"):  # the match had ended
            lesson.refusals[told["message"]] += 1


async def turn_pages(port: int, names: list[str], lesson: Lesson) -> None:
    """Load one page after the other, as the browser of a pupil."""
    while True:
        path = random.choice(PAGE_PATHS)
        if "{match}" in path and not lesson.finished:
            continue
        path = path.format(bot=random.choice(names), match=random.choice(lesson.finished or [""]))
        began = time.perf_counter()
        try:
            status = await asyncio.to_thread(get_status, port, path, ROUTER_ADDRESS, "gzip")
        except (OSError, http.client.HTTPException) as exc:
            lesson.refusals[f"{path}: {exc!r}"] += 1
        else:
            lesson.pages.append(time.perf_counter() - began)
            if status != 200 and not (status == 404 and path.startswith(EARLY_MISSING_PREFIXES)):
                lesson.refusals[f"{path}: {status}"] += 1
        await asyncio.sleep(random.random() * 0.5)


async def hold_lesson(people: int, seconds: float) -> Lesson:
    lesson = Lesson()
    names = [f"pupil-{number}" for number in range(people)]
    with Server("--web-port", "0", "--max-matches-per-hour", "600") as server:
        page = await server.wait_for_page_port()
        work: list[Any] = [play(server.port, name, lesson) for name in names]
        work += [watch(server.port, lesson) for _ in names]
        work += [turn_pages(page, names, lesson) for _ in names]
        async with run_tasks(*work) as tasks:
            done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
            for task in done:
                if isinstance(task.exception(), Closed | OSError):
                    lesson.refusals[f"a connection was lost: {task.exception()!r}"] += 1
                else:
                    task.result()
    return lesson


def main() -> int:
    options = read_options(__doc__, {"seconds": 8.0}, people=40, seconds=60.0)
    lesson = asyncio.run(hold_lesson(options.people, options.seconds))
    p50, longest = (1000 * quantile(lesson.pages, share) for share in (0.5, 1))
    print(f"{options.people} people at one address, {options.seconds:g} s: {lesson.ends // 2} matches,")
    print(f"{lesson.turns} turns watched, {len(lesson.pages)} pages, p50 {p50:.0f} ms, longest {longest:.0f} ms")
    for refusal, times in lesson.refusals.most_common(5):
        print(f"  BROKEN: {times} times {refusal}")
    return 1 if lesson.refusals else 0


if __name__ == "__main__":
    sys.exit(main())
