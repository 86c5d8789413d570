"""Measure how wide the ranges of ranks in the tournament of a school class are, for several numbers of rounds.

In each round, every pair of thirty simulated bots meets in both seat orders. Strengths are evenly spaced: the best bot
scores 0.85 on average, the last 0.15. Each line has the rounds, the matches, the mean number of ranks in a range, the
mean number of bots that may be first, and the number of ranges, over all seeds, that missed the bot's true rank.
Usage: python benchmarks/rank_ranges.py [--rounds 1,3,10,30] [--bots 30] [--seeds 5]
"""

from __future__ import annotations

import itertools
from random import Random
from statistics import fmean

from toolkit import read_options

from arena.ratings.rank_ranges import RankRange, ScoredMatch, rank_ranges

SCORE_SPREAD = 0.7
"""The difference between the mean score of the best bot and that of the last bot."""


def play_tournament(bots: int, rounds: int, seed: int) -> list[RankRange]:
    """Simulate a tournament. Return the range of ranks of each bot, the strongest bot first."""
    chance, matches = Random(seed), []
    for number in range(rounds):
        for one, other in itertools.combinations(range(bots), 2):
            edge = SCORE_SPREAD * (other - one) / (bots - 1)
            for seats, likely in (((one, other), 0.5 + edge), ((other, one), 0.5 - edge)):
                won = float(chance.random() < likely)
                matches.append(ScoredMatch((str(seats[0]), str(seats[1])), (won, 1 - won), (number, one, other)))
    found = rank_ranges([str(bot) for bot in range(bots)], matches)
    return [found[str(bot)] for bot in range(bots)]


def main() -> None:
    asked = read_options(__doc__, rounds=[1, 3, 10, 30], bots=30, seeds=5)
    print("rounds  matches  ranks in a range  may be first  missed")
    for rounds in asked.rounds:
        seasons = [play_tournament(asked.bots, rounds, seed) for seed in range(asked.seeds)]
        width = fmean(one.worst - one.best + 1 for ranges in seasons for one in ranges)
        first = fmean(sum(one.best == 1 for one in ranges) for ranges in seasons)
        missed = sum(not one.best <= rank <= one.worst for ranges in seasons for rank, one in enumerate(ranges, 1))
        matches = asked.bots * (asked.bots - 1) * rounds
        print(f"{rounds:6}  {matches:7,}  {width:16.1f}  {first:12.1f}  {missed:6}", flush=True)


if __name__ == "__main__":
    main()
