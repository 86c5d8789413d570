"""Compare matches in one process (`bots.play_all`) with matches of the same bots as processes of a tournament.

The program prints matches per second, processor milliseconds per match, and their ratios. It takes a minute on two idle
cores. The start of processes is not measured. On a busy machine, look at the processor time.
`python benchmarks/play.py`
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from toolkit import children_processor_s, matches_per_second, play_tournament

from bots import play_all

GAMES = {"nim": ("random", "perfect"), "risk-duel": ("ga:depth=3", "alphabeta:depth=3")}
"""The two bots that play, by game."""
MATCH_COUNTS = {"nim": 400, "risk-duel": 60}
"""The number of measured matches, by game."""
ROW_FORMAT = "{:<10}{:<30}{:<11}{:>10}{:>8}{:>10}{:>8}"
"""The format of a row of the printed table."""


class MatchSpeed(NamedTuple):
    """The speed of matches: matches per second, and the processor time of one match."""

    a_second: float
    processor_ms: float


def main() -> None:
    print(ROW_FORMAT.format("game", "bots", "", "matches/s", "", "cpu ms", ""))
    for game, bots in GAMES.items():
        connected, called = (
            play_as_processes(game, bots, MATCH_COUNTS[game]),
            play_in_process(game, bots, MATCH_COUNTS[game]),
        )
        faster = f"{called.a_second / connected.a_second:.1f}x"
        cheaper = f"{connected.processor_ms / called.processor_ms:.1f}x"
        rows = ("processes", connected, "", ""), ("play", called, faster, cheaper)
        for how, pace, rate, cost in rows:
            figures = f"{pace.a_second:,.0f}", rate, f"{pace.processor_ms:.1f}", cost
            print(ROW_FORMAT.format(game, " ".join(bots), how, *figures), flush=True)


def play_in_process(game: str, bots: Sequence[str], matches: int) -> MatchSpeed:
    """Measure the speed of matches in one process, from the end of the first match to the end of the last one."""
    playing = play_all(bots, game, range(matches + 1))
    next(playing)
    began, before = time.perf_counter(), time.process_time()
    for _ in playing:
        pass
    return MatchSpeed(matches / (time.perf_counter() - began), 1000 * (time.process_time() - before) / matches)


def play_as_processes(game: str, bots: Sequence[str], matches: int) -> MatchSpeed:
    """Measure the speed of a tournament's matches, from the first start of a match to the last end. The processor time
    excludes that of starting the processes.
    """
    run_tournament(game, bots, 1)  # warm up whatever is compiled or solved once
    alone, _ = run_tournament(game, bots, 1)
    spent, results = run_tournament(game, bots, 1 + matches)
    return MatchSpeed(matches_per_second(results), 1000 * (spent - alone) / matches)


def run_tournament(game: str, bots: Sequence[str], matches: int) -> tuple[float, list[dict[str, str]]]:
    """Run a tournament between two bots. Return the processor seconds of all its processes, and the results."""
    words = [f"{name}={bot}" for name, bot in zip(("one", "other"), bots, strict=True)]
    before = children_processor_s()
    content = play_tournament(*words, "--game", game, "--rounds", str(matches), "--jobs", "1")
    return children_processor_s() - before, content["matches"]


if __name__ == "__main__":
    main()
