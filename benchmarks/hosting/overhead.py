"""Measure what a match of hosted bots costs, beside the same bots connected by their author, and beside a tournament
in sandboxes.

    python benchmarks/hosting/overhead.py [--languages python-bot,c] [--matches 20] [--limit 300] [--small]

For each language, two bots play nim against each other in three ways: hosted, by one runner on this machine; connected,
each by a process without a sandbox (`arena-bot pipe`, or the library); and by `arena tournament --sandbox bwrap`. The
columns of the table: the milliseconds from a pairing to the first move (median and longest); the seconds of a match
(median); those between the beginnings of two; the processor time of a match, that of server, runner, clients and
programs; the matches that a core plays an hour at that; and the largest memory at a time, by bot, without the server.
A hosted bot has a new process of its program for each match. Otherwise the start of processes is left out.

Needs bubblewrap. Exit status 1 if a match is void or a hosted bot forfeits, or if half of the hosted matches take more
than `--limit` ms to start.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import NamedTuple, Protocol

from hosted_arena import (
    LANGUAGES,
    HostedArena,
    Language,
    find_languages,
    format_table,
    sampled_memory,
    source_of,
    tree_processor_s,
)
from rig import TIMEOUT_S, RawConnection, print_broken
from toolkit import children_processor_s, option, quantile, read_options, tournament_command

from arena.store.result_queries import iter_results
from machine.process_tree import process_tree
from referee.result import Result

GAME = "nim"
"""The game that all bots play: its matches are among the shortest, so what is around them weighs most."""
NAMES = ("one", "two")
"""The names of the bots that play each other."""
TOURNAMENT_RATIO = 20
"""Matches of a tournament for each hosted match: they are short, and the start of the tournament varies."""
WARMUP_MATCHES = 2
"""Number of matches before those that are measured."""
HARMLESS_REASONS = frozenset({"win", "loss", "draw"})
"""The reasons of a seat that played to the end."""


class _Timed(Protocol):
    @property
    def started(self) -> str: ...

    @property
    def finished(self) -> str: ...


class MatchCost(NamedTuple):
    """The cost of a match: its duration and processor time in seconds; and the memory of each bot, in MiB."""

    match_s: float
    interval_s: float
    """The seconds from the beginning of a match to that of the next one."""
    processor_s: float
    memory_mib: float
    starts_s: Sequence[float]
    """The seconds from the pairing of each match to its first move, where a spectator can see that."""


def measure(language: Language, matches: int) -> tuple[dict[str, MatchCost], list[str]]:
    """Return the cost of a match of a language's bots, by way, and a line for each fault of a hosted one."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        place.chmod(0o755)
        command = _build(language, place)
        costs, broken = dict[str, MatchCost](), list[str]()
        with HostedArena("--max-matches-per-hour", "0") as arena:
            arena.add_runner(slots=len(NAMES))
            for name in NAMES:
                arena.hand_in(name, language, GAME)
            arena.wait_until_checked(NAMES)
            costs["hosted"] = _measure_play(arena, matches)
            broken += [f"{language.name}, hosted: {line}" for line in find_broken(arena)]
        with HostedArena("--max-matches-per-hour", "0") as arena, _connected(arena, command, place):
            costs["connected"] = _measure_play(arena, matches)
        costs["tournament"] = _measure_tournament(command, matches)
        return costs, broken


def _build(language: Language, folder: Path) -> tuple[str, ...]:
    """Build a bot in a folder for each of `NAMES`. Return the words of the command of a client that plays by it, with
    `FOLDER` for the folder.
    """
    for name in NAMES:
        place = folder / name
        place.mkdir()
        (place / language.file).write_text(source_of(language))
        if language.build:
            subprocess.run(language.build, cwd=place, check=True, stderr=subprocess.DEVNULL)
    program, *words = language.command
    words = [word if "." not in word[1:] else f"{folder}/NAME/{word}" for word in words]
    if program.startswith("./"):
        program = f"{folder}/NAME/{program[2:]}"
    if words[-1:] == ["Legal"]:
        words = [f"{folder}/NAME" if word == "." else word for word in words]
    if language.name == "python-bot":
        return (program, *words)
    return (sys.executable, "-P", "-m", "bots", "pipe", "--", program, *words)


def _named(command: Sequence[str], name: str) -> list[str]:
    return [word.replace("/NAME", f"/{name}") for word in command]


@contextmanager
def _connected(arena: HostedArena, command: Sequence[str], folder: Path) -> Iterator[None]:
    """Connect a bot for each of `NAMES` by a process."""
    running = []
    for name in NAMES:
        environment = os.environ | {
            "ARENA_URL": arena.server.url,
            "ARENA_BOT": name,
            "ARENA_GAME": GAME,
            "ARENA_TOKEN": f"the secret token of {name}",
            "PYTHONPATH": str(Path(__file__).parents[2]),
        }
        running.append(
            subprocess.Popen(
                _named(command, name),
                env=environment,
                cwd=folder,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )
    arena.others = [process.pid for process in running]
    try:
        yield
    finally:
        arena.others = []
        for process in running:
            process.send_signal(signal.SIGINT)
        for process in running:
            process.wait(TIMEOUT_S)


def _measure_play(arena: HostedArena, matches: int) -> MatchCost:
    """Wait for `WARMUP_MATCHES` matches, and measure the next ones."""
    _wait_for_results(arena, WARMUP_MATCHES)
    before, used = len(_results(arena)), tree_processor_s(arena.processes())
    with sampled_memory(arena.client_processes) as samples:
        starts_s = asyncio.run(_watch_starts(arena.server.port, matches))
    used = tree_processor_s(arena.processes()) - used
    _wait_for_results(arena, before + matches)
    played = _results(arena)[before:]
    return _cost(played, used / len(played), max(samples) / len(NAMES), starts_s)


def _cost(played: Sequence[_Timed], processor_s: float, memory_mib: float, starts_s: Sequence[float] = ()) -> MatchCost:
    started = [datetime.fromisoformat(one.started) for one in played]
    finished = [datetime.fromisoformat(one.finished) for one in played]
    lengths = [(end - begin).total_seconds() for begin, end in zip(started, finished, strict=True)]
    total_s = (max(finished) - min(started)).total_seconds()
    return MatchCost(median(lengths), total_s / len(played), processor_s, memory_mib, starts_s)


def _results(arena: HostedArena) -> list[Result]:
    with arena.server.open_store() as store:
        return [*store.iterate(iter_results)]


def _wait_for_results(arena: HostedArena, count: int) -> None:
    deadline = time.monotonic() + TIMEOUT_S + 5 * count
    while len(_results(arena)) < count:
        if time.monotonic() > deadline:
            raise TimeoutError(f"fewer than {count} matches: {''.join(arena.server.log[-5:])}")
        time.sleep(0.2)


def find_broken(arena: HostedArena) -> list[str]:
    """Return a line for each match that is void, or in which a hosted bot forfeits."""
    return [
        f"{result.match} is void" if result.reason == "void" else f"{seat.bot} in {result.match}: {seat.reason}"
        for result in _results(arena)
        for seat in result.seats
        if seat.bot in NAMES and (result.reason == "void" or seat.reason not in HARMLESS_REASONS)
    ]


async def _watch_starts(port: int, matches: int) -> list[float]:
    """Watch all matches, as a spectator, until this many have begun and ended. Return the seconds from the pairing of
    each, when `start` comes, to its first move.
    """
    raw = await RawConnection.enter(port)
    raw.send(type="watch", match="*")
    began, took = dict[str, float](), dict[str, float]()
    ended = set[str]()
    while len(ended) < matches:
        async with asyncio.timeout(TIMEOUT_S):
            told = await raw.receive("start", "turn", "end")
        match = told["match"]
        if told["type"] == "start" and match not in began:
            began[match] = time.perf_counter()
            raw.send(type="watch", match=match)
        elif match in began and match not in took and told["type"] != "start" and told["ply"]:
            took[match] = time.perf_counter() - began[match]
        if told["type"] == "end" and match in began:
            ended.add(match)
    raw.close()
    return [took[match] for match in ended if match in took]


def _measure_tournament(command: Sequence[str], matches: int) -> MatchCost:
    """Measure a tournament in sandboxes. What a tournament of one match costs is left out of the processor time."""
    first = _play_tournament(command, 1)[1]
    played, used, memory_mib = _play_tournament(command, TOURNAMENT_RATIO * matches)
    return _cost(played, max(0.0, used - first) / (len(played) - 1), memory_mib / len(NAMES))


class _Played(NamedTuple):
    started: str
    finished: str


def _play_tournament(command: Sequence[str], matches: int) -> tuple[list[_Played], float, float]:
    """Return the matches of a tournament, its processor time in seconds, and its largest memory in MiB."""
    with tempfile.TemporaryDirectory() as folder:
        bots = [f"{name}={' '.join(_named(command, name))}" for name in NAMES]
        words = ("--game", GAME, "--rounds", str(matches), "--sandbox", "bwrap", "--jobs", "1", "--seed", "1")
        more = ("--data", f"{folder}/data", "--json", f"{folder}/out.json")
        before = children_processor_s()
        with open(f"{folder}/errors", "w+") as errors:
            process = subprocess.Popen(
                [*tournament_command(*bots, *words, *more)], stdout=subprocess.DEVNULL, stderr=errors
            )
            with sampled_memory(lambda: process_tree(process.pid)) as samples:
                process.wait()
            if process.returncode:
                errors.seek(0)
                raise RuntimeError(errors.read().strip())
        found = json.loads(Path(folder, "out.json").read_text())["matches"]
    played = [_Played(one["started"], one["finished"]) for one in found]
    return played, children_processor_s() - before, max(samples, default=0.0)


def format_row(title: str, cost: MatchCost) -> list[str]:
    """Return the cells of a row of the table."""
    half, most = (1000 * quantile(cost.starts_s, share) for share in (0.5, 1.0))
    return [
        title,
        f"{half:.0f}" if cost.starts_s else "",
        f"{most:.0f}" if cost.starts_s else "",
        f"{cost.match_s:.2f}",
        f"{cost.interval_s:.2f}",
        f"{cost.processor_s:.3f}",
        _format_rounded(3600 / cost.processor_s) if cost.processor_s else "",
        f"{cost.memory_mib:.0f}",
    ]


def _format_rounded(value: float) -> str:
    return f"{float(f'{value:.2g}'):,.0f}"


HEAD = ("", "p50 ms", "longest", "match s", "every s", "core s", "an hour", "MiB")
"""The heads of the columns of the table."""


def main() -> None:
    options = read_options(
        __doc__,
        {"languages": ["python-bot", "c"], "matches": 4, "limit": 60_000.0},
        languages=[language.name for language in LANGUAGES],
        matches=option(20, "in each way"),
        limit=option(300.0, "ms from a pairing to the first move, of half of the hosted matches"),
    )
    if shutil.which("bwrap") is None:
        raise SystemExit("this needs bubblewrap: apt-get install bubblewrap")
    rows, broken = list[Sequence[str]]([HEAD]), list[str]()
    for language in find_languages(options.languages):
        costs, faults = measure(language, options.matches)
        rows += [format_row(f"{language.name} {way}", cost) for way, cost in costs.items()]
        broken += faults
        half = 1000 * quantile(costs["hosted"].starts_s, 0.5)
        if half > options.limit:
            broken.append(f"{language.name}: half of the hosted matches start after more than {options.limit:g} ms")
    print(f"{options.matches} matches of {GAME} in each way:")
    print(format_table(rows, (24, 7, 8, 8, 8, 7, 8, 5)))
    raise SystemExit(print_broken(broken, "no match is void, and no hosted bot forfeits"))


if __name__ == "__main__":
    main()
