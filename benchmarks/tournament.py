"""Measure matches per second of tournaments that are run in different ways, each as a ratio to a tournament with one
worker.

    python benchmarks/tournament.py [--quick 400] [--slow 24] [--against CHECKOUT]

`slow` is Nim between custom bots that are busy for 50 ms per move; `quick` is Nim between reference bots. A rate is
measured from the first start to the last end of a match, without starting and stopping processes. `--against` also
measures another checkout, with this Python.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from toolkit import matches_per_second, option, play_tournament, read_options

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
    given = read_options(
        __doc__,
        quick=option(400, "matches of reference bots"),
        slow=option(24, "matches of busy bots"),
        against=option(None, "another checkout", type=Path),
    )
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
    words = (*bots, "--game", "nim", "--rounds", str(matches), *way, "--seed", "1")
    return matches_per_second(play_tournament(*words, checkout=checkout)["matches"])


if __name__ == "__main__":
    main()
