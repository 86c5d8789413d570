"""Matches a second of two bots in one process, by `bots.play_all`, beside those of the same bots as processes of a
tournament, and the ratio; under a minute on two cores. What it takes to start is left out.

`python benchmarks/play.py`
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from bots import play_all

GAMES = {"nim": ("random", "perfect"), "risk-duel": ("ga:depth=3", "alphabeta:depth=3")}
MATCHES = {"nim": 400, "risk-duel": 40}
ROW = "{:<12}{:<32}{:>12}{:>12}{:>8}"


def main() -> None:
    print(ROW.format("game", "bots", "processes/s", "play/s", "ratio"))
    for game, bots in GAMES.items():
        connected = as_processes(game, bots, MATCHES[game])
        called = in_process(game, bots, MATCHES[game])
        ratio = f"{called / connected:.1f}x"
        print(ROW.format(game, " ".join(bots), f"{connected:,.0f}", f"{called:,.0f}", ratio), flush=True)


def in_process(game: str, bots: Sequence[str], matches: int) -> float:
    """Matches a second, from the end of the first one on."""
    playing = play_all(bots, game, range(matches + 1))
    next(playing)
    began = time.perf_counter()
    played = sum(1 for _ in playing)
    return played / (time.perf_counter() - began)


def as_processes(game: str, bots: Sequence[str], matches: int) -> float:
    """Matches a second of a tournament, one at a time, from the start of the first to the end of the last."""
    words = [f"{name}={bot}" for name, bot in zip(("one", "other"), bots, strict=True)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "out.json"
        options = ["--rounds", str(matches), "--jobs", "1", "--data", folder, "--json", str(file)]
        command = [sys.executable, "-m", "arena", "tournament", *words, "--game", game, *options]
        subprocess.run(command, check=True, capture_output=True)
        results = json.loads(file.read_text())["matches"]
    began = min(datetime.fromisoformat(result["started"]) for result in results)
    ended = max(datetime.fromisoformat(result["finished"]) for result in results)
    return len(results) / (ended - began).total_seconds()


if __name__ == "__main__":
    main()
