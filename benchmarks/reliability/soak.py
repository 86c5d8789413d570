"""Run a ladder for an hour, and measure whether the memory, objects, open files and tasks of the server grow.

Bots play rated nim and tic-tac-toe endlessly. Some resign, drop their connection during a match, watch, or never come
back, and new names register all the time. The growth is the slope of a straight line through the measurements of the
second half of the run.
Usage: python benchmarks/reliability/soak.py [--seconds 3600] [--bots 24] [--newcomers 1] [--small]
Exit status 1 if a growth exceeds its limit by more than twice the error of the slope. The limits are one task and one
file per hour, half an object per newcomer, and 1 KiB of memory per newcomer plus half a KiB per match.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import math
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from rig import CONNECTION_ERRORS, TIMEOUT_S, RawConnection, process_descriptors, read_finished_matches
from toolkit import memory_mib, option, read_options

from arena.commands.listening import bind_ports
from arena.commands.serve import serve
from arena.commands.settings import ServerSettings
from arena.processes.server_process import ServerProcess
from arena.store.registry import all_bots
from arena.store.store import Store
from machine import event_loop

MOVE_DELAY_S = 0.01
"""Seconds that each bot takes per move."""
MAX_NEWCOMERS = 20
"""Maximum number of newcomers that play at a time. Without this limit, newcomers would pile up on a slow machine, which
would look like growth of the server.
"""
GAMES = (("nim", "classic"), ("nim", "min-nim"), ("tictactoe", "classic"))
"""The games and presets that the bots play."""
MEASURE_NAMES = ("MiB of memory", "open files", "tasks", "objects")
"""The names of the measured quantities, with units."""
MAX_OBJECTS_PER_NEWCOMER = 0.5
"""Maximum growth of the number of Python objects per newcomer. A leak of names would keep at least one object per
newcomer. The number does not include objects that the garbage collector does not track.
"""
MAX_KIB_PER_NEWCOMER = 1.0
"""Maximum growth of memory per newcomer, in KiB. This limit also detects objects that the garbage collector does not
track.

Bounded caches of names grow less than this until they are full: 2,000 names with their addresses, 1,000 names that came
to a match, and 10,000 names with the pace of their matches.
"""
MAX_KIB_PER_MATCH = 0.5
"""Maximum growth of memory per match, in KiB. It is not 0, because each connection to the database caches up to 16 MiB
of its file, and a match adds some 2 KiB to the file.
"""


class ServerSample(NamedTuple):
    """A measurement `at` seconds after the server's start. `held` has the quantities of `MEASURE_NAMES`, in order."""

    at: float
    held: tuple[float, ...]


async def _serve(data: Path, every: float) -> None:

    async def tell() -> None:
        while True:
            await asyncio.sleep(every)
            gc.collect()
            print(len(asyncio.all_tasks()), len(gc.get_objects()), flush=True)

    telling = asyncio.create_task(tell())
    settings = ServerSettings(port=0, web=False, clock="30+0.1", data=str(data), registrations_per_hour=1_000_000)
    with bind_ports(settings) as ports:
        await serve(settings, data, ports)
    telling.cancel()


class Regular:
    """A bot on the ladder that occasionally resigns or drops its connection."""

    def __init__(self, port: int, name: str, rng: random.Random) -> None:
        self._port, self._name, self._chance = port, name, rng
        self.matches = 0

    async def live(self, *, matches: float = math.inf) -> None:
        """Play, and reconnect whenever the connection ends, until the bot has finished `matches` matches."""
        while self.matches < matches:
            try:
                await self._visit(matches)
            except CONNECTION_ERRORS:
                await asyncio.sleep(0.1)

    async def _visit(self, max_matches: float) -> None:
        raw = await RawConnection.enter(self._port, self._name, slots=2, source=f"127.0.0.{self._chance.randint(2, 9)}")
        try:
            game, preset = self._chance.choice(GAMES)
            for number in range(1 if max_matches < math.inf else 2):
                raw.send(type="seek", id=f"s{number}", game=game, config={"preset": preset})
            while self.matches < max_matches:
                told = await raw.receive("start", "turn", "end", "error")
                if self._chance.random() < 0.001:
                    return
                await self._answer(raw, told, game, preset)
        finally:
            raw.close()

    async def _answer(self, raw: RawConnection, told: dict[str, Any], game: str, preset: str) -> None:
        match = told.get("match")
        if told["type"] == "start":
            raw.send(type="ready", match=match)
        elif told["type"] == "turn" and told.get("legal"):
            await asyncio.sleep(MOVE_DELAY_S)
            if self._chance.random() < 0.005:
                raw.send(type="resign", match=match)
            else:
                move = self._chance.choice(told["legal"])
                raw.send(type="move", match=match, ply=told["ply"], move=move)
        elif told["type"] == "end":
            self.matches += 1
            raw.send(type="seek", id=f"again-{self.matches}", game=game, config={"preset": preset})
        elif told["type"] == "error":
            await asyncio.sleep(0.5)
            raw.send(type="seek", id=f"once-more-{self.matches}", game=game, config={"preset": preset})


async def _watch(port: int) -> None:
    """Watch every match from its start, as a spectator. Reconnect every twenty seconds."""
    while True:
        raw = await RawConnection.enter(port)
        raw.send(type="watch", match="*")
        followed = set()
        try:
            async with asyncio.timeout(20):
                while True:
                    told = await raw.receive()
                    if told["type"] == "start" and told["match"] not in followed:
                        followed.add(told["match"])
                        raw.send(type="watch", match=told["match"])
        except CONNECTION_ERRORS:
            raw.close()


async def _play(port: int, bots: int, newcomers: float) -> None:
    """Run all players: the regular bots, a spectator, and newcomers that play one match each. `newcomers` new bots
    start per second, unless too many are still playing.
    """
    regulars = [Regular(port, f"regular-{number}", random.Random(number)) for number in range(bots)]
    playing = {asyncio.create_task(regular.live()) for regular in regulars} | {asyncio.create_task(_watch(port))}
    number = 0
    while True:
        await asyncio.sleep(1 / newcomers)
        if len(playing) >= bots + 1 + MAX_NEWCOMERS:
            continue
        number += 1
        newcomer = asyncio.create_task(Regular(port, f"once-{number}", random.Random(-number)).live(matches=1))
        playing.add(newcomer)
        newcomer.add_done_callback(playing.discard)


def slope(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the slope of the least-squares line through some points, and the standard error of the slope."""
    count = len(points)
    x_mean, y_mean = (sum(column) / count for column in zip(*points, strict=True))
    spread = sum((x - x_mean) ** 2 for x, _ in points)
    rise = sum((x - x_mean) * (y - y_mean) for x, y in points) / spread
    rest = sum((y - y_mean - rise * (x - x_mean)) ** 2 for x, y in points)
    return rise, math.sqrt(rest / max(1, count - 2) / spread)


def main() -> None:
    options = read_options(
        __doc__,
        {"seconds": 5.0},
        seconds=3600.0,
        bots=24,
        newcomers=option(1.0, "a second"),
        serve=option(None, argparse.SUPPRESS, type=Path),
    )
    every = options.seconds / 120
    if options.serve:
        logging.basicConfig(level=logging.INFO, format="%(message)s")
        logging.getLogger("websockets").setLevel(logging.CRITICAL)
        event_loop.run(_serve(options.serve, every))
        return
    samples, matches, names = _measure(options.seconds, options.bots, options.newcomers)
    print(f"{options.seconds:g} s, {options.bots} regulars and {names} newcomers, {matches} matches")
    per_hour = names / options.seconds * 3600
    limits = (
        (MAX_KIB_PER_NEWCOMER * per_hour + MAX_KIB_PER_MATCH * matches / options.seconds * 3600) / 1024,
        1.0,
        1.0,
        MAX_OBJECTS_PER_NEWCOMER * per_hour,
    )
    grows = False
    half = samples[len(samples) // 2 :]
    for number, what in enumerate(MEASURE_NAMES):
        rise, error = slope([(sample.at / 3600, sample.held[number]) for sample in half])
        first, last = samples[0].held[number], samples[-1].held[number]
        is_growing = rise > limits[number] + 2 * error
        print(
            f"{what:14} {first:10.1f} at first, {last:10.1f} at last, {rise:10.2f} ± {error:.2f} an hour, "
            f"{'MORE THAN' if is_growing else 'limit'} {limits[number]:.1f}"
        )
        grows |= is_growing
    raise SystemExit(grows and not options.small)  # in seconds there is no slope to speak of


def _measure(seconds: float, bots: int, newcomers: float) -> tuple[list[ServerSample], int, int]:
    """Measure the server repeatedly. Return the measurements, and how many matches and newcomers its store has."""
    samples: list[ServerSample] = []
    with tempfile.TemporaryDirectory() as data:

        def start_program(_: Sequence[str], *, stdout: int, **streams: Any) -> subprocess.Popen[bytes]:
            command = [sys.executable, __file__, "--seconds", str(seconds), "--serve", data]
            return subprocess.Popen(command, stdout=subprocess.PIPE, **streams)

        server = ServerProcess("serve", start_program=start_program)
        server.start()
        server.wait_until_ready(TIMEOUT_S)
        players = subprocess.Popen(
            [sys.executable, "-c", _PLAYERS_CODE, str(server.port), str(bots), str(newcomers)],
            cwd=Path(__file__).parent,
        )
        start, pid = time.monotonic(), server.process.pid
        assert server.process.stdout is not None
        for line in server.process.stdout:
            held = (memory_mib(pid), process_descriptors(pid), *map(float, line.split()))
            samples.append(ServerSample(time.monotonic() - start, held))
            if samples[-1].at >= seconds:
                break
        players.kill()
        players.wait()
        server.stop()
        with closing(Store.open(Path(data) / "arena.db")) as store:
            names = sum(bot.name.startswith("once-") for bot in store.read(all_bots))
        return samples, len(read_finished_matches(Path(data))), names


_PLAYERS_CODE = "import asyncio, sys, soak; asyncio.run(soak._play(*map(int, sys.argv[1:3]), float(sys.argv[3])))"
"""The program of the process that runs all players."""


if __name__ == "__main__":
    main()
