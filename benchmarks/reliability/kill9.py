"""Kill servers at random instants, in random calls that change a file, and while they create their database.

Then everything that was sent to the bots is compared with the store. The check fails if a match, its end or a move is
lost or stored differently, if a match is rated twice or hangs, if ratings do not follow from the matches, or if a
folder is unusable.

    python benchmarks/reliability/kill9.py [--kills 200] [--worlds 2] [--creations 80] [--games nim kuhn] [--small]
    python benchmarks/reliability/kill9.py --files docs/examples/games/connect4.py docs/examples/games/pig.py

`--files` has the bots play the games of files instead, which `arena game add` stores before a server starts.
`--kills 1000` takes some half an hour on two processors. Needs gcc.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from ledger import Ledger, RandomPlayer, compile_library, finish_matches
from rig import Server, print_broken, run_arena, run_tasks
from toolkit import option, read_options

from arena.store.integrity_check import check_database
from arena.store.registry import find_registered_bot
from arena.store.store import Store
from machine.game_discovery import add_game_file

GAMES: dict[str, tuple[str, dict[str, Any]]] = {
    "nim": ("nim", {}),
    "tictactoe": ("tictactoe", {}),
    "dilemma": ("dilemma", {"rounds": 20}),
    "noise": ("dilemma", {"rounds": 20, "noise": "0.05"}),
    "kuhn": ("kuhn", {"preset": "short"}),
    "leduc": ("leduc", {"preset": "short"}),
}
"""The games that bots play, each with its config, by a name for the command line."""
MAX_CALL_NUMBER = 600
"""A server is killed in its N-th call that changes a file, for a random N below this number. A server makes some
hundreds of such calls per second.
"""


class World:
    """A server with its data folder and players, and the number of each kind of kill.

    There are two players for each of `games`, which are pairs of a name and a config. `files` have games to store.
    """

    def __init__(
        self,
        number: int,
        seed: int,
        library: Path,
        games: Sequence[tuple[str, dict[str, Any]]],
        files: Sequence[Path],
    ) -> None:
        self.server = Server("--clock", "5+0.2", environment={"LD_PRELOAD": str(library)})
        self.ledger = Ledger()
        self.kills: Counter[str] = Counter()
        self.players: list[RandomPlayer] = []
        self._games = [game for game in games for _ in range(2)]
        """The game of each player, with its config."""
        self._files = files
        self._number = number
        self._random = random.Random(f"{seed}/{number}")

    async def run(self, kills: int) -> list[str]:
        """Kill the server `kills` times, finish all matches, and return the errors found."""
        self._set_environment(None)
        for file in self._files:
            run_arena("game", "add", str(file), "--data", str(self.server.data)).check_returncode()
        await asyncio.to_thread(self.server.start)
        self.players = [
            RandomPlayer(self.ledger, self.server.port, 100 * self._number + at, *game)
            for at, game in enumerate(self._games)
        ]
        try:
            async with run_tasks(*(player.run() for player in self.players)):
                while self.kills.total() < kills:
                    await self._kill_server()
                self._set_environment(None)
                await asyncio.to_thread(self.server.start)
                with contextlib.suppress(TimeoutError):
                    await finish_matches(self.players, self.server)
        finally:
            self.server.stop()
        hanging = [*self.server.running_matches(), *(match for player in self.players for match in player.seats)]
        found = self.ledger.find_errors(self.server.data / "arena.db")
        found["matches that hang"] += len(hanging)
        return [f"{count} x {what}" for what, count in (+found).items()]

    async def _kill_server(self) -> None:
        how = self._random.choice(["at an instant", "at an instant", "in a call", "in a call, by half", "at the start"])
        alive = self.server.process.poll() is None
        if how == "at an instant":
            if not alive:
                self._set_environment(None)
                await asyncio.to_thread(self.server.start)
            await asyncio.sleep(self._random.uniform(0, 1.2))
            self.server.kill()
        else:
            if alive:
                self.server.kill()
                self.kills["at an instant"] += 1
            self._set_environment(self._random.randrange(1, MAX_CALL_NUMBER), torn=how == "in a call, by half")
            starting = asyncio.create_task(asyncio.to_thread(self.server.start))
            if how == "at the start":
                await asyncio.sleep(self._random.uniform(0.3, 1.5))
                self.server.kill()
            with contextlib.suppress(RuntimeError):  # it ended before it listened
                await starting
            with contextlib.suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(self.server.process.wait, 3)
            self.server.kill()
        self.kills[how] += 1

    def _set_environment(self, die_at: int | None, *, torn: bool = False) -> None:
        environment = self.server.environment
        environment["STORAGE_FOLDER"] = str(self.server.data)
        for name, value in (("STORAGE_DIE_AT", die_at), ("STORAGE_TORN", torn or None)):
            environment.pop(name, None)
            if value is not None:
                environment[name] = str(value)


def kill_creations(count: int, library: Path, rng: random.Random) -> tuple[int, list[str]]:
    """Kill programs while they create a database. Return the number of kills and a text for each unusable database."""
    refused = []
    killed = 0
    for at in rng.sample(range(1, 81), count):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "data" / "arena.db"
            environment = {"LD_PRELOAD": str(library), "STORAGE_FOLDER": folder, "STORAGE_DIE_AT": str(at)}
            command = [sys.executable, "-m", "arena", "bot", "add", "eve", "--data", str(file.parent)]
            done = subprocess.run(command, env=os.environ | environment, capture_output=True, check=False)
            killed += done.returncode == -9
            try:
                with closing(Store.open(file)) as store:
                    if list(store.iterate(check_database)) or (
                        store.read(find_registered_bot, "eve") is None and done.returncode == 0
                    ):
                        refused.append(f"call {at}: what was made is not sound")
            except Exception as exc:
                refused.append(f"call {at}: {exc}")
    return killed, refused


async def measure(arguments: argparse.Namespace, library: Path) -> list[str]:
    files = [Path(file) for file in arguments.files]
    brought: list[tuple[str, dict[str, Any]]] = [(name, {}) for file in files for name in add_game_file(file)]
    games = brought or [GAMES[name] for name in arguments.games]
    worlds = [World(number, arguments.seed, library, games, files) for number in range(arguments.worlds)]
    share = -(-arguments.kills // arguments.worlds)
    began = time.perf_counter()
    found = await asyncio.gather(*(world.run(share) for world in worlds))
    kills: Counter[str] = sum((world.kills for world in worlds), Counter())
    print(
        f"{kills.total()} kills in {time.perf_counter() - began:.0f} s:",
        ", ".join(f"{n} {how}" for how, n in kills.items()),
    )
    for what, count in (
        ("matches begun", sum(len(world.ledger.starts) for world in worlds)),
        ("turns told", sum(len(world.ledger.turns) for world in worlds)),
        ("ends told", sum(len(ends) for world in worlds for ends in world.ledger.ends.values())),
    ):
        print(f"{count:8} {what}")
    return [line for lines in found for line in lines]


def main() -> None:
    arguments = read_options(
        __doc__,
        {"kills": 4, "worlds": 1, "creations": 2},
        kills=200,
        worlds=2,
        creations=80,
        games=option(["nim", "tictactoe", "noise", "kuhn"], nargs="+", choices=GAMES),
        files=option([], nargs="+", metavar="FILE"),
        seed=1,
    )
    with tempfile.TemporaryDirectory() as folder:
        library = compile_library(Path(folder))
        killed, refused = kill_creations(arguments.creations, library, random.Random(arguments.seed))
        print(f"{killed} kills while the database was made, {len(refused)} folders refused or unsound afterwards")
        broken = refused + asyncio.run(measure(arguments, library))
    sys.exit(print_broken(broken, "nothing lost, nothing doubled, nothing hangs"))


if __name__ == "__main__":
    main()
