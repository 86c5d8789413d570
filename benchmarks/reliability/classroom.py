"""A class of forty behind one router, with the settings as they are: does anybody meet a bound?

Forty bots of one address come at once and play the ladder, two of three games each, in four matches at a time; as many
browsers of the same address watch every match and some from close by, and turn the pages twice a second and more often.
Usage: python benchmarks/reliability/classroom.py [--people 40] [--seconds 60] [--small]
Exit status 1 if anybody was refused anything or lost a connection.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import random
import sys
import time
from collections import Counter
from typing import Any

from rig import Closed, Raw, Server, get, small_or_asked

ROUTER = "127.0.0.9"
SLOTS = 4
GAMES = ("nim", "tictactoe", "risk-duel")
EARLY = "/bots/", "/api/v1/leaderboard"
"""Who has not finished a match has no page, and nobody is on a leaderboard before."""
PATHS = ("/", "/matches", "/bots/{bot}", "/matches/{match}", "/api/v1/matches", "/api/v1/leaderboard/nim/classic")


class Lesson:
    """What everybody of a class met."""

    def __init__(self) -> None:
        self.refusals: Counter[str] = Counter()
        self.ends = 0
        self.pages: list[float] = []
        """Seconds for each."""
        self.turns = 0
        """That were watched."""
        self.finished: list[str] = []


async def play(port: int, name: str, lesson: Lesson) -> None:
    """A bot that plays the first legal move after a moment's thought."""
    raw = await Raw.enter(port, name, source=ROUTER, slots=SLOTS)
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
    """A browser's connection: all matches from afar, and now and then one from close by."""
    raw = await Raw.enter(port, source=ROUTER)
    raw.send(type="watch", match="*")
    watched: set[str] = set()
    while True:
        told = await raw.receive()
        if told["type"] == "start" and told["match"] not in watched and random.random() < 0.05:
            watched.add(told["match"])
            raw.send(type="watch", match=told["match"])
        elif told["type"] == "turn":
            lesson.turns += 1
        elif told["type"] == "error" and not told["message"].startswith("watch: no match"):  # it was over by then
            lesson.refusals[told["message"]] += 1


async def turn_pages(port: int, names: list[str], lesson: Lesson) -> None:
    """One page after the other."""
    while True:
        path = random.choice(PATHS)
        if "{match}" in path and not lesson.finished:
            continue
        path = path.format(bot=random.choice(names), match=random.choice(lesson.finished or [""]))
        began = time.perf_counter()
        try:
            status = await asyncio.to_thread(get, port, path, ROUTER, "gzip")
        except (OSError, http.client.HTTPException) as exc:
            lesson.refusals[f"{path}: {exc!r}"] += 1
        else:
            lesson.pages.append(time.perf_counter() - began)
            if status != 200 and not (status == 404 and path.startswith(EARLY)):
                lesson.refusals[f"{path}: {status}"] += 1
        await asyncio.sleep(random.random() * 0.5)


async def hold_lesson(people: int, seconds: float) -> Lesson:
    """Have it go on for so long."""
    lesson = Lesson()
    names = [f"pupil-{number}" for number in range(people)]
    with Server("--web-port", "0", "--max-matches-per-hour", "600") as server:
        page = await server.page_port()
        work: list[Any] = [play(server.port, name, lesson) for name in names]
        work += [watch(server.port, lesson) for _ in names]
        work += [turn_pages(page, names, lesson) for _ in names]
        tasks = [asyncio.create_task(one) for one in work]
        done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            if isinstance(task.exception(), Closed | OSError):
                lesson.refusals[f"a connection was lost: {task.exception()!r}"] += 1
            elif task.exception() is not None:
                raise task.exception() or AssertionError
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return lesson


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = small_or_asked(parser, seconds=8.0)
    lesson = asyncio.run(hold_lesson(options.people, options.seconds))
    pages = sorted(lesson.pages)
    p50, longest = pages[len(pages) // 2] * 1000, pages[-1] * 1000
    print(f"{options.people} people at one address, {options.seconds:g} s: {lesson.ends // 2} matches,")
    print(f"{lesson.turns} turns watched, {len(pages)} pages, p50 {p50:.0f} ms, longest {longest:.0f} ms")
    for refusal, times in lesson.refusals.most_common(5):
        print(f"  BROKEN: {times} times {refusal}")
    return 1 if lesson.refusals else 0


if __name__ == "__main__":
    sys.exit(main())
