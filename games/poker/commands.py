"""The command `arena-bot solve` for a hand of poker."""

from __future__ import annotations

import json
import time
from pathlib import Path

from bots.commands.output import exit_on_interrupt
from bots.commands.solve import SolveOptions
from machine.output_file import text_to_stderr, why_not_writable
from machine.terminal import say
from protocol.errors import UsageFault, os_errors_as

_PROGRESS_INTERVAL_S = 5.0
"""Seconds between two lines that report the progress of solving."""
MAX_ROUNDS = 1_000_000
"""The maximum number of iterations of CFR+, the algorithm that solves poker."""
_ROUND_BATCH_SIZE = 100
"""The number of iterations of CFR+ between two checks whether to print a progress line."""


def solve_hand(options: SolveOptions) -> None:
    """Solve a hand by CFR+; print its value and the strategy's exploitability. Raise `UsageFault` for a bad option."""
    with text_to_stderr(options.write):
        assert options.rounds is not None, "it has a default"
        _solve_hand(options.game, options.rounds, options.write, as_json=options.as_json)


def _solve_hand(game: str, rounds: int, file: Path | None, *, as_json: bool) -> None:
    from games.poker.strategies import single_hand, write_table
    from machine.exact.hand_solving import Solver, exploitability, strategy_value

    if not 1 <= rounds <= MAX_ROUNDS:
        raise UsageFault(f"--rounds is {rounds}: it must be 1 to {MAX_ROUNDS:,}")
    if file is not None and (refusal := why_not_writable(file)) is not None:
        raise UsageFault(f"--write {file} can't be written: {refusal}")
    rules, start = single_hand(game)
    solver, began, told = Solver(rules, start), time.monotonic(), time.monotonic()
    with exit_on_interrupt(lambda: "stopped; nothing is written"):
        for done in range(0, rounds, _ROUND_BATCH_SIZE):
            solver.run(min(_ROUND_BATCH_SIZE, rounds - done))
            if (now := time.monotonic()) - told >= _PROGRESS_INTERVAL_S:
                told = now
                say(f"arena-bot: {done + _ROUND_BATCH_SIZE:,} of {rounds:,} rounds", err=True)
    strategy = solver.strategy()
    facts: dict[str, float | int] = {
        "rounds": rounds,
        "value": float(strategy_value(rules, start, strategy)),
        "exploitability": float(exploitability(rules, start, strategy)),
    }
    if file is not None:
        with os_errors_as(UsageFault, f"{file} can't be written"):
            write_table(file, rules, strategy, facts)
    told_facts = {"game": game, "decisions": len(strategy), **facts, "seconds": round(time.monotonic() - began, 3)}
    if as_json:
        say(json.dumps({**told_facts, "file": None if file is None else str(file)}))
        return
    rows = [
        ("solved", f"{rules.title}, {len(strategy)} information sets"),
        ("value", f"{facts['value']:+.6f} chips a hand, for the first mover"),
        ("exploitability", f"{facts['exploitability']:.2g} chips a hand"),
        ("spent", f"{rounds:,} rounds, {told_facts['seconds']:.0f} s"),
        *([] if file is None else [("file", str(file))]),
    ]
    for name, words in rows:
        say(f"{name:<14}  {words}")
