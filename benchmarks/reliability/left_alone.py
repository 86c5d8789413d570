"""Run a ladder of eight reference bots that seek the next match of Nim as soon as one is over.

Options that this program does not have are passed to `arena serve`.
Usage: python benchmarks/reliability/left_alone.py [--seconds 240] [--small] [--max-matches-per-hour 600]
Exit status 1 if a pair never met, a bot had less than half the mean number of matches, or `perfect` is not first. With
--small, the run is too short for these checks, and the status is always 0.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rig import TIMEOUT_S, Server, start_bot

from arena.store.result_queries import encounter_counts, leaderboard_of
from arena.store.store import Store

POOL = "nim/classic"
"""The rating pool of the ladder."""
BOTS = ("random", "random-2", "greedy", "greedy-2", "minimax", "alphabeta", "ga", "perfect")
"""The names of the bots on the ladder: reference bots, with a number if there are several of a kind."""


@contextlib.contextmanager
def run_bots(server: Server) -> Iterator[None]:
    bots = [
        start_bot(name.partition("-")[0], server.url, "--name", name, XDG_CONFIG_HOME=str(server.data)) for name in BOTS
    ]
    try:
        yield
    finally:
        for bot in bots:
            bot.terminate()
        for bot in bots:
            bot.wait(TIMEOUT_S)


def print_matches(data: Path, seconds: float) -> bool:
    """Print how many matches each bot and each pair played. Return whether all checks passed."""
    store = Store.open(data / "arena.db")
    board = store.read(leaderboard_of, POOL)
    met = Counter[tuple[str, str]]()
    for bot in BOTS:
        for _, other, count in store.read(encounter_counts, bot):
            met[bot, other] += count
    rated = sum(row.played for row in board) // 2
    store.close()
    played = {bot: sum(met[bot, other] for other in BOTS) for bot in BOTS}
    pairs = [met[pair] for pair in itertools.combinations(BOTS, 2)]
    mean = statistics.mean(played.values())
    matches = sum(pairs)
    size = sum(file.stat().st_size for file in data.glob("arena.db*"))
    print(f"{matches} matches in {seconds:.0f} s, {rated} of them rated, {size / max(1, matches):.0f} bytes a match")
    print(f"pairs: {pairs.count(0)} of {len(pairs)} never met, the others {min(pairs)} to {max(pairs)} times")
    for place, row in enumerate(board, 1):
        share = played[row.bot] / mean
        print(f"{place} {row.bot:10} {row.score:6.1f} {played[row.bot]:6} matches, {share:.2f} of the mean")
    return 0 not in pairs and min(played.values()) >= mean / 2 and bool(board) and board[0].bot == "perfect"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--small", action="store_true", help="a few seconds")
    asked, options = parser.parse_known_args()
    seconds = 5.0 if asked.small else asked.seconds
    with Server(*options) as server:
        with run_bots(server):
            time.sleep(seconds)
        server.stop()
        good = print_matches(server.data, seconds)
    sys.exit(not (good or asked.small))


if __name__ == "__main__":
    main()
