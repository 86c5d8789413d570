"""Estimates of move values by Monte Carlo tree search, for games that are not solved.

It is the entry point of the group `bot_arena.appraisers`.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from statistics import fmean, stdev
from typing import Any

from bots.search.base import Limit
from bots.search.kernels import WITH_UCT, uct_for
from protocol.errors import UsageFault
from protocol.games.base import Game
from referee.in_process import Appraisal, Appraiser, NoEstimate

BATCHES = 8
"""The number of batches of a move's simulations. Each has its own seed; their spread gives the standard error."""
LEAST, MOST = 80, 10**7
"""The fewest and the most simulations for a move."""


class UctAppraiser(Appraiser):
    """Compares the move played with the one that a Monte Carlo tree search would play. Both are valued by the same
    number of simulations of what follows, with the same seeds.
    """

    def __init__(self, game: Game[Any, Any], sims: int, seed: str) -> None:
        if not self.knows(game.name):
            raise NoEstimate(f"{game.name} is not solved, and has no estimates: {', '.join(WITH_UCT)} have")
        if not LEAST <= sims <= MOST:
            raise UsageFault(f"--sims is {sims}: it is {LEAST} to {MOST}")
        self.told = f"uct, {sims:,} simulations a move"
        self._game = game
        self._sims = sims
        self._seed = seed
        self._search = uct_for(game)
        self._search.warm_up()

    @classmethod
    def knows(cls, game: str) -> bool:
        """Return whether the game has a Monte Carlo tree search."""
        return game in WITH_UCT

    def judge(self, state: Any, move: Any, ply: int) -> Appraisal:
        """Return the estimate of a legal move in a state at that ply."""
        below = random.Random(f"{self._seed}/{ply}").randrange
        best = self._search.search(state, below=below, limit=Limit(nodes=self._sims)).move
        seeds = [f"{self._seed}/{ply}/{batch}" for batch in range(BATCHES)]
        worths = [self._worth(state, best, seed) for seed in seeds]
        if best == move:
            value = fmean(worths)
            return Appraisal(value, best, value, 0.0)
        played = [self._worth(state, move, seed) for seed in seeds]
        error = stdev(one - other for one, other in zip(worths, played, strict=True)) / math.sqrt(BATCHES)
        return Appraisal(fmean(played), best, fmean(worths), error)

    def _worth(self, state: Any, move: Any, seed: str) -> float:
        """Return a move's mean result over one batch, which is divided among the outcomes by their probabilities."""
        seat, sims = self._game.to_move(state), self._sims // BATCHES
        below = random.Random(seed).randrange
        wins, done, likely = 0.0, 0, 0.0
        for chance, after in self._game.outcomes(state, move):
            likely += float(chance)
            count = round(likely * sims) - done
            if count > 0:
                done += count
                wins += count * self._share(after, seat, count, below)
        return 2 * wins / done - 1

    def _share(self, position: Any, seat: int | None, sims: int, below: Callable[[int], int]) -> float:
        """Return a seat's estimated winning probability from a position on, or its share of first place at the end."""
        assert seat is not None
        if self._game.to_move(position) is not None:
            return self._search.worth(position, seat, sims, below)
        ranks = self._game.ranks(position)
        return 1 / ranks.count(1) if ranks[seat] == 1 else 0.0
