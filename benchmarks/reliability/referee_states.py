"""Test the referee with random sequences of events, and check the invariants of a match.

The program runs the state machine of tests/referee_machine.py. Its events are moves, strikes, seats that leave and
return, clocks that expire, and an arena that is late, paused, killed and restarted, or loses an event. After each event
the match is replayed from its journal.
Usage: python benchmarks/reliability/referee_states.py [--runs 5000] [--steps 50] [--seed 1] [--small]
Exit status 1, with the shortest failing sequence of events, if an invariant breaks.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import hypothesis
from hypothesis.stateful import run_state_machine_as_test

sys.path += [str(Path(__file__).parents[2] / "tests"), str(Path(__file__).parents[1])]

from toolkit import read_options

from protocol.games import register_game
from referee_machine import CountedMachine
from registered_games import TABLE_GAMES


def main() -> None:
    options = read_options(__doc__, {"runs": 60}, runs=5000, steps=50, seed=1)
    for spec in TABLE_GAMES:
        register_game(spec)
    began = time.monotonic()
    settings = hypothesis.settings(
        max_examples=options.runs,
        stateful_step_count=options.steps,
        deadline=None,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    hypothesis.seed(options.seed)(CountedMachine)
    run_state_machine_as_test(CountedMachine, settings=settings)
    seconds = time.monotonic() - began
    done = CountedMachine
    print(f"{done.runs} runs, {done.steps} events, {done.over} matches over, in {seconds:.0f} s: nothing broke")


if __name__ == "__main__":
    main()
