"""Measure matches per second of tournaments that are run in different ways, each as a ratio to a tournament with one
worker.

    python benchmarks/tournament.py [--quick 400] [--slow 24] [--against CHECKOUT]

`slow` is Nim between custom bots that are busy for 50 ms per move; `quick` is Nim between reference bots. A rate is
measured from the first start to the last end of a match, without starting and stopping processes. `--against` also
measures another checkout, with this Python.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from datetime import datetime
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
"""The folder of the repository."""
BUSY_BOT_CODE = """
import time
from bots import Bot, run

class Busy(Bot):
    def choose(self, turn):
        until = time.perf_counter() + 0.05
        while time.perf_counter() < until:
            pass
        return turn.random.choice(turn.legal)

run(Busy("busy"))
"""
"""The program of the custom bot, which computes for 50 ms per move."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", type=int, default=400, help="matches of reference bots")
    options.add_argument("--slow", type=int, default=24, help="matches of busy bots")
    options.add_argument("--against", type=Path, help="another checkout")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        busy = Path(folder, "busy.py")
        busy.write_text(BUSY_BOT_CODE)
        slow = [f"{name}={sys.executable} {busy}" for name in ("one", "two")]
        for what, bots, matches in (("slow", slow, given.slow), ("quick", ["random", "perfect"], given.quick)):
            ways = [("--jobs", "1"), ("--jobs", "2"), ("--jobs", "1", "--in-process"), ("--jobs", "2", "--in-process")]
            rates = {" ".join(way): _measure_rate(REPOSITORY, bots, matches, way) for way in ways}
            if given.against is not None:
                rates |= {
                    f"{' '.join(way)} of {given.against}": _measure_rate(given.against, bots, matches, way)
                    for way in ways[:2]
                }
            for way, rate in rates.items():
                print(f"{what:6} {way:40} {rate:8.1f} matches/s {rate / rates['--jobs 1']:6.2f}")


def _measure_rate(checkout: Path, bots: list[str], matches: int, way: tuple[str, ...]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "out.json")
        command = [sys.executable, "-m", "arena", "tournament", *bots, "--game", "nim", "--rounds", str(matches), *way]
        command += ["--seed", "1", "--data", folder, "--json", str(file)]
        environ = {**os.environ, "PYTHONPATH": str(checkout)}
        subprocess.run(
            command, check=True, cwd=checkout, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        played = json.loads(file.read_text())["matches"]
    began = min(datetime.fromisoformat(match["started"]) for match in played)
    ended = max(datetime.fromisoformat(match["finished"]) for match in played)
    return len(played) / (ended - began).total_seconds()


if __name__ == "__main__":
    main()
