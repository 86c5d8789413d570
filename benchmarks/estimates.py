"""Compare estimated losses per move with exact losses on a solved map, for `uct` with increasing numbers of
simulations.

python benchmarks/estimates.py
"""

from __future__ import annotations

import math
import time
from statistics import correlation, fmean

from bots import play_all
from bots.analysis.estimator import UctMoveEvaluator
from machine.exact.graders import grader_of
from referee.replay import iter_moves, replay

CONFIG = {"map": "south-america"}
"""The config of bounded Risk, on a map with a table of exact values."""
MATCHES = 12
"""The number of matches of each pair of bots."""
PAIRS = (("random", "greedy"), ("depth2=alphabeta:depth=2", "uct=uct:sims=200"))
"""The pairs of bots whose moves are graded."""


def main() -> None:
    print(f"{'sims':>6}  {'bots':<16}  exact a move     estimated        correlation  noise    ms a move")
    for sims in (500, 2000, 20_000):
        for pair in PAIRS:
            _print_line(sims, pair)


def _print_line(sims: int, pair: tuple[str, str]) -> None:
    exact: list[list[float]] = [[], []]
    estimated: list[list[float]] = [[], []]
    errors, seconds = [], 0.0
    for played in play_all(pair, "risk-duel", range(MATCHES), config=CONFIG):
        lines = replay(played.record)
        _, begun = next(lines)
        judge, evaluator = grader_of(begun.game), UctMoveEvaluator(begun.game, sims, played.seed)
        for move in iter_moves(begun, lines):
            verdict, began = judge(move.before, move.move), time.perf_counter()
            found = evaluator.evaluate_move(move.before, move.move, move.event.ply)
            seconds += time.perf_counter() - began
            exact[move.event.seat].append(verdict.best_value - verdict.value)
            estimated[move.event.seat].append(found.best_value - found.value)
            if found.standard_error:
                errors.append(found.standard_error**2)
    names = " ".join(word.partition("=")[0] for word in pair)
    means = "  ".join(" ".join(f"{fmean(seat):7.4f}" for seat in given) for given in (exact, estimated))
    both = correlation(exact[0] + exact[1], estimated[0] + estimated[1])
    noise, count = 1.96 * math.sqrt(fmean(errors)), sum(map(len, exact))
    print(f"{sims:>6}  {names:<16}  {means}  {both:11.2f}  {noise:.4f}  {1000 * seconds / count:9.1f}")


if __name__ == "__main__":
    main()
