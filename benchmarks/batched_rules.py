"""Compare the batched rules with the reference rules in random playouts, and the frequencies of dice with their odds.

Both sets of rules play with the same dice, and every position, vector, mask, reward and end must be equal.
`python benchmarks/batched_rules.py [--playouts 100000] [--game GAME]… [--seed 1]`
The playouts of each game are split among several configs; 100,000 take some six minutes of one core. The program stops
at the first difference with exit status 1. The exit status is also 1 if the observed dice have a probability below one
in a million.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any

from bots.environments.batched.batch import ThrowCounts
from bots.environments.lockstep import Disagreement, Lockstep
from games.risk.rules.battle import round_odds
from machine.compiled import HAS_NUMBA

NO_LUCK = "none"
"""The name of the value function for games whose luck is not measured."""
CONFIGS_BY_GAME: Mapping[str, Sequence[tuple[Mapping[str, Any], str, float]]] = {
    "nim": (
        ({}, NO_LUCK, 0.5),
        ({"preset": "min-nim"}, NO_LUCK, 0.2),
        ({"preset": "sticks"}, NO_LUCK, 0.2),
        ({"heaps": [6, 5, 4], "take": [2, 3], "misere": True, "start": "p-position"}, NO_LUCK, 0.1),
    ),
    "tictactoe": (({}, NO_LUCK, 1.0),),
    "risk-duel": (
        ({}, "exact" if HAS_NUMBA else "features-1", 0.5),
        ({}, "features-1", 0.2),
        ({"map": "australia", "max_troops": 3, "max_plies": 15, "armies": [3, 2]}, "features-1", 0.2998),
        ({"map": "asia"}, NO_LUCK, 0.0002),
    ),
    "risk-campaign": (
        ({"map": "south-america", "max_rounds": 4}, NO_LUCK, 0.6),
        ({"map": "south-america", "players": 4, "max_rounds": 2, "max_attacks": 20}, NO_LUCK, 0.1),
        ({"map": "australia", "players": 3, "draft": "classic", "turn_order": "snake", "max_rounds": 3}, NO_LUCK, 0.2),
        ({"map": "africa", "battle": "deterministic", "max_rounds": 2}, NO_LUCK, 0.0998),
        ({}, NO_LUCK, 0.0001),
        ({"preset": "world"}, NO_LUCK, 0.0001),
    ),
}
"""The configs of each game. Each config has the value function that measures luck, and its share of the playouts of the
game.
"""
BATCH_SIZE = 64
"""The number of games that the batched rules play at a time."""
MAX_DEVIATION_SIGMAS = 4.9
"""Maximum number of standard deviations by which the frequency of a result of dice may deviate from its odds."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--playouts", type=int, default=100_000)
    options.add_argument("--game", action="append", choices=CONFIGS_BY_GAME, help="only this one, or these")
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    print(f"{'game':<14}{'playouts':>10}{'steps':>12}{'throws':>12}{'largest z':>11}{'cpu s':>8}")
    worst = max(compare_rules(game, given.playouts, given.seed) for game in given.game or CONFIGS_BY_GAME)
    sys.exit(worst > MAX_DEVIATION_SIGMAS)


def compare_rules(game: str, playouts: int, seed: int) -> float:
    """Compare the batched rules with the reference rules in random playouts of a game. Return the largest number of
    standard deviations by which the frequency of a result of dice deviates from its odds.
    """
    began = time.process_time()
    played = steps = 0
    thrown: ThrowCounts = Counter()
    for config, luck, share in CONFIGS_BY_GAME[game]:
        wanted = max(1, round(playouts * share))
        both = Lockstep(game, config, min(BATCH_SIZE, wanted), seed, luck)
        try:
            both.run(wanted)
        except Disagreement as difference:
            sys.exit(f"{game} under {config}, after {both.playouts} playouts: {difference}")
        print(f"  {both.playouts:,} under {json.dumps(config)}, luck {luck}", flush=True)
        played, steps = played + both.playouts, steps + both.steps
        thrown += both.throw_counts
    deviation = max((abs(each) for each in deviations(thrown)), default=0.0)
    spent = time.process_time() - began
    figures = f"{played:>10,}{steps:>12,}{thrown.total():>12,}{deviation:>11.2f}{spent:>8.0f}"
    print(f"{game:<14}{figures}", flush=True)
    return deviation


def deviations(thrown: ThrowCounts) -> list[float]:
    """Return by how many standard deviations the frequency of each result of each throw of dice deviates from its
    odds.
    """
    found = []
    for attacking, defending in {key[:2] for key in thrown}:
        odds = round_odds(attacking, defending)
        throws = sum(thrown[attacking, defending, lost] for _, lost, _ in odds)
        for chance, lost, _ in odds:
            spread = sqrt(throws * chance * (1 - chance))
            found.append((thrown[attacking, defending, lost] - throws * float(chance)) / spread)
    return found


if __name__ == "__main__":
    main()
