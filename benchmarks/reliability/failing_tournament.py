"""Kill and resume a tournament with failing bots, and compare the results with those of an undisturbed tournament.

One bot dies at its start, one dies in every match, one exits with status 3, one never says hello, and one always
resigns. The program fails if the results, the table or the ratings of both tournaments differ, if a stored match is
played again, or if a failing bot is not reported.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from rig import print_broken
from toolkit import play_tournament, read_options, tournament_command

from arena.store.result_queries import iter_results, leaderboard_of
from arena.store.store import Store
from arena.store.tournament_state import pending_of_tournament

BOT_TEMPLATE = """
from bots import Bot, GiveUp, run

class Mine(Bot):
    def choose(self, turn):
        {choose}

run(Mine("mine"))
"""
"""The program of a bot, without the body of its method `choose`."""
FAILING_BOTS = {
    "unborn": "raise RuntimeError('no brain found')",
    "midway": BOT_TEMPLATE.format(choose="import os; print('midway died', flush=True); os._exit(1)"),
    "leaver": "raise SystemExit(3)",
    "silent": "import signal; signal.pause()",
    "quitter": BOT_TEMPLATE.format(choose="raise GiveUp('enough')"),
}
"""The programs of the failing bots, by name."""
POOL = "nim/classic"
"""The rating pool of the tournaments."""


def main() -> None:
    given = read_options(
        __doc__,
        {"bots": 8, "kills": 2, "connect_timeout": 8.0},
        bots=30,
        kills=3,
        jobs=2,
        connect_timeout=20.0,
        seed=1,
    )
    with tempfile.TemporaryDirectory(prefix="failing-") as folder:
        here = Path(folder)
        words = _make_words(here, given)
        began = time.monotonic()
        whole = play_tournament(*words, data=here / "whole")
        seconds = time.monotonic() - began
        again = _play_and_kill(words, here / "cut", given, seconds)
        content = play_tournament(*words, data=here / "cut")
        wrong = list(_find_differences(whole, content, here, again))
    failures = {bot: next(iter(why)) for bot, why in whole["failures"].items()}
    kept = ", ".join(str(len(one)) for one in again)
    print(f"{len(whole['matches'])} matches of {given.bots} bots, {seconds:.0f} s; stored when it was killed: {kept}")
    print("\n".join(f"{bot}: {why}" for bot, why in failures.items()))
    if missing := FAILING_BOTS.keys() - failures.keys() - {"quitter"}:
        wrong.append(f"not named: {', '.join(sorted(missing))}")
    raise SystemExit(print_broken(wrong, "the same results, table and ratings; nothing stored was played again"))


def _make_words(folder: Path, given: argparse.Namespace) -> list[str]:
    words = [
        f"r{number:02d}={('random', 'greedy', 'perfect')[number % 3]}"
        for number in range(given.bots - len(FAILING_BOTS))
    ]
    for name, code in FAILING_BOTS.items():
        file = folder / f"{name}.py"
        file.write_text(code)
        words.append(f"{name}={sys.executable} {file}")
    words += ["--game", "nim", "--seed", str(given.seed), "--jobs", str(given.jobs)]
    return [*words, "--connect-timeout", str(given.connect_timeout)]


def _play_and_kill(words: list[str], data: Path, given: argparse.Namespace, seconds: float) -> list[dict[str, str]]:
    """Kill a tournament repeatedly. Return, for each kill, the matches stored before it and when they ended."""
    chance = random.Random(given.seed)
    stored = []
    for _ in range(given.kills):
        command = [*tournament_command(*words), "--data", str(data)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0.1, 0.6) * seconds)
        process.kill()
        process.wait()
        stored.append(_read_stored(data))
    return stored


def _read_stored(data: Path) -> dict[str, str]:
    with closing(Store.open(data / "arena.db")) as store:
        found = {one.match: one.finished for one in list(store.iterate(iter_results))}
        for folder in (data / "tournaments").glob("*"):
            found |= {
                one.closed.result.match: one.closed.result.finished
                for one in store.read(pending_of_tournament, folder.name)
            }
    return found


def _find_differences(
    whole: dict[str, Any], content: dict[str, Any], folder: Path, again: list[dict[str, str]]
) -> Iterator[str]:
    for name in ("table", "failures"):
        if whole[name] != content[name]:
            yield f"the {name} is another one"
    ended = {match["match"]: match["finished"] for match in content["matches"]}
    for number, stored in enumerate(again, 1):
        anew = [match for match, finished in stored.items() if ended[match] != finished]
        if anew:
            yield f"of those stored at kill {number} {len(anew)} were played again"
    if _outcomes_by_match(whole) != _outcomes_by_match(content):
        yield "matches went otherwise"
    if _read_ratings(folder / "whole") != _read_ratings(folder / "cut"):
        yield "the ratings are other ones"


def _outcomes_by_match(content: dict[str, Any]) -> dict[str, tuple[Any, ...]]:
    return {
        match["match"]: (match["digest"], [(seat["rank"], seat["reason"]) for seat in match["seats"]])
        for match in content["matches"]
    }


def _read_ratings(data: Path) -> list[tuple[str, float, float]]:
    with closing(Store.open(data / "arena.db")) as store:
        return [(row.bot, row.mu, row.sigma) for row in store.read(leaderboard_of, POOL)]


if __name__ == "__main__":
    main()
