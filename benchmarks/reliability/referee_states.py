"""Test the referee with random sequences of events, and check the invariants of a match.

The program plays the scripts of tests/referee_scripts.py. Their events are moves, strikes, seats that leave and return,
clocks that expire, and an arena that is late, paused, killed and restarted. After each event the match is replayed from
its journal.
Usage: python benchmarks/reliability/referee_states.py [--runs 5000] [--steps 50] [--seed 1] [--small]
Exit status 1, with the shortest failing sequence of events, if an invariant breaks.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import hypothesis
from hypothesis import strategies

sys.path += [str(Path(__file__).parents[2] / "tests"), str(Path(__file__).parents[1])]

from toolkit import read_options

from protocol.games import register_game
from referee_scripts import GAMES, READY, GameConfig, Script, check_end, check_event, finished, rehearsed, scripts
from registered_games import TABLE_GAMES


def main() -> None:
    options = read_options(__doc__, {"runs": 60}, runs=5000, steps=50, seed=1)
    for spec in TABLE_GAMES:
        register_game(spec)
    began = time.monotonic()
    events: list[int] = []

    @hypothesis.seed(options.seed)
    @hypothesis.settings(
        max_examples=options.runs,
        deadline=None,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(
        strategies.sampled_from(GAMES), READY, scripts(options.steps), strategies.sampled_from((0.0, 3.0))
    )
    def run(game: GameConfig, ready: list[int], script: Script, away: float) -> None:
        table = finished(rehearsed(game, ready, script, check=check_event, away=away))
        check_event(table)
        check_end(table)
        events.append(table.received)

    run()
    seconds = time.monotonic() - began
    print(f"{len(events)} matches, {sum(events)} events, in {seconds:.0f} s: nothing broke")


if __name__ == "__main__":
    main()
