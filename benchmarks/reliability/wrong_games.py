"""Measure how long an honest pair of bots waits for its turns in nim while others play a game whose rules are wrong.

At the third move of each match, the rules sleep, compute for ever, allocate too much memory, or end their process. They
run in the server, and then in a process of their own (`--isolate-games`).
Usage: python benchmarks/reliability/wrong_games.py [--seconds 10] [--kinds sleep,compute,allocate,exit] [--small]
Exit status 1 if the pair lost its connection or had a request refused, if the wrong game is not closed in the server,
or, unless the run is small, if the pair waited longer for a turn than `MAX_HOLD_UP_S` or `MAX_ISOLATED_HOLD_UP_S`.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from ledger import Ledger, RandomPlayer
from rig import HonestPair, Server, print_broken, run_tasks
from toolkit import read_options

FAULTS = {
    "sleep": "time.sleep(60)",
    "compute": "[None for _ in iter(int, 1)]",
    "allocate": "bytes(64 << 30)",
    "exit": "os._exit(1)",
}
"""The wrong rules: what a move does, by the name of the kind."""
ISOLATED_KINDS = ("exit",)
"""The kinds that would end a server, so they are measured in a process of their own only."""
MAX_HOLD_UP_S = 2.0
"""Maximum seconds that wrong rules in the server may hold up a turn. The limit for a call is 1 s; the rest is for other
processes.
"""
MAX_ISOLATED_HOLD_UP_S = 0.5
"""Maximum seconds that wrong rules in a process of their own may hold up a turn."""
PLAYERS = 4
"""The number of bots that play the wrong game, each with several matches at a time."""
RULES = """
import os, time
from typing import NamedTuple
from protocol.games.turn_game import TurnGame


class Count(NamedTuple):
    number: int
    seat: int


class Wrong(TurnGame[Count, int]):
    name = "wrong"
    title = "Wrong"

    def start(self):
        return Count(0, 0)

    def turn(self, state):
        return None if state.number == 9 else state.seat

    def moves(self, state):
        return [1]

    def play(self, state, move):
        if state.number == 2 and os.path.exists({mark!r}):
            {fault}
        return Count(state.number + 1, 1 - state.seat)

    def winner(self, state):
        return 0

    def draw(self, state):
        return str(state.number)
"""
"""The file of the wrong game. It is right until the file `mark` is there: the server tries it before it starts."""


async def measure(kind: str, seconds: float, *, isolated: bool, timed: bool) -> list[str]:
    """Print how long the pair waits alone and beside the wrong game. Return what is broken."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "wrong.py"
        mark = Path(folder) / "mark"
        file.write_text(RULES.replace("{fault}", FAULTS[kind]).replace("{mark!r}", repr(str(mark))))
        options = ("--game", str(file), *(("--isolate-games",) if isolated else ()))
        with Server(*options) as server:
            async with HonestPair(server.port) as pair:
                alone = await pair.measure(seconds / 2)
                mark.touch()
                players = [RandomPlayer(Ledger(), server.port, number, "wrong") for number in range(PLAYERS)]
                async with run_tasks(*(player.run() for player in players)):
                    beside = await pair.measure(seconds)
            is_closed = any("wrong is closed" in line for line in server.log)
    where = f"{kind}, isolated" if isolated else kind
    print(
        f"{where:18} alone  {alone}\n{'':18} beside {beside}{', the game was closed' if is_closed else ''}", flush=True
    )
    max_hold_up_s = MAX_ISOLATED_HOLD_UP_S if isolated else MAX_HOLD_UP_S
    broken = [f"{where}: {drop}" for drop in beside.drops]
    if timed and beside.quantile(1) > max_hold_up_s:
        broken.append(
            f"{where}: a turn of nim waited {beside.quantile(1):.1f} s, at most {max_hold_up_s} s are allowed"
        )
    if not isolated and not is_closed:
        broken.append(f"{where}: the game was not closed")
    return broken


async def measure_all(options: argparse.Namespace) -> list[str]:
    broken = []
    for kind in options.kinds:
        for isolated in (False, True):
            if isolated or kind not in ISOLATED_KINDS:
                broken += await measure(kind, options.seconds, isolated=isolated, timed=not options.small)
    return broken


def main() -> None:
    options = read_options(__doc__, {"seconds": 4.0, "kinds": ["sleep"]}, seconds=10.0, kinds=list(FAULTS))
    sys.exit(print_broken(asyncio.run(measure_all(options)), "wrong rules held up nothing else"))


if __name__ == "__main__":
    main()
