"""Estimates of move values by Monte Carlo tree search, for games that are not solved.

The package registers its class as an entry point of the group `bot_arena.appraisers`.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from statistics import fmean, stdev
from typing import Any

from bots.search.base import SearchLimit, list_outcomes
from bots.search.kernels import TreeSearch, uct_for, uct_games
from bots.search.uct import RulesTreeSearch, has_tree_search
from protocol.errors import UsageFault
from protocol.games import game_class
from protocol.games.base import Game
from protocol.games.simultaneous import SimultaneousGame
from referee.in_process import CannotEstimate, MoveEvaluation, MoveEvaluator

BATCH_COUNT = 8
"""The number of batches into which a move's simulations are divided. Each batch has its own seed; the spread of their
means gives the standard error."""
MIN_SIMULATIONS, MAX_SIMULATIONS = 80, 10**7
"""`MIN_SIMULATIONS` and `MAX_SIMULATIONS` limit the number of simulations for one move."""


class UctMoveEvaluator(MoveEvaluator):
    """Compares a move played with the move that a Monte Carlo tree search would play. Both are valued by the same
    number of simulations from the position after the move, with the same seeds. In a game that hides something, both
    are judged by what the seat could see.
    """

    def __init__(self, game: Game[Any, Any], sims: int, seed: str) -> None:
        if not self.supports(game.name):
            raise CannotEstimate(
                f"{game.name} is not solved, and has no estimates, because seats move at once in it, or because what "
                "it hides can't be drawn at random"
            )
        if not MIN_SIMULATIONS <= sims <= MAX_SIMULATIONS:
            raise UsageFault(f"--sims is {sims}: it must be {MIN_SIMULATIONS} to {MAX_SIMULATIONS}")
        self.description = f"uct, {sims:,} simulations a move"
        self._game = game
        self._sims = sims
        self._seed = seed
        self._search = uct_for(game)
        self._search.warm_up()

    @classmethod
    def supports(cls, game: str) -> bool:
        """Return whether the game has a Monte Carlo tree search, and seats move one at a time."""
        return game in uct_games() or (has_tree_search(game) and not issubclass(game_class(game), SimultaneousGame))

    def evaluate_move(self, state: Any, move: Any, ply: int) -> MoveEvaluation:
        """Return the estimate of a legal move in a state, which is at ply `ply`."""
        below = random.Random(f"{self._seed}/{ply}").randrange
        best = self._search.search(state, below=below, limit=SearchLimit(nodes=self._sims)).move
        seeds = [f"{self._seed}/{ply}/{batch}" for batch in range(BATCH_COUNT)]
        worths = [self._mean_result(state, best, seed) for seed in seeds]
        if best == move:
            value = fmean(worths)
            return MoveEvaluation(value, best, value, 0.0)
        played = [self._mean_result(state, move, seed) for seed in seeds]
        error = stdev(one - other for one, other in zip(worths, played, strict=True)) / math.sqrt(BATCH_COUNT)
        return MoveEvaluation(fmean(played), best, fmean(worths), error)

    def _mean_result(self, state: Any, move: Any, seed: str) -> float:
        """Return a move's mean result in one batch, or its mean payoff in games with payoffs. The search of one game
        divides the simulations among the outcomes of the move by probability.
        """
        seat, sims = self._game.to_move(state), self._sims // BATCH_COUNT
        below = random.Random(seed).randrange
        if isinstance(self._search, RulesTreeSearch):
            value = self._search.estimate_move(state, move, sims, below)
            return value if self._game.payoff_unit else 2 * value - 1
        wins, done, likely = 0.0, 0, 0.0
        for chance, after in list_outcomes(self._game, state, move):
            likely += float(chance)
            count = round(likely * sims) - done
            if count > 0:
                done += count
                wins += count * self._winning_probability(self._search, after, seat, count, below)
        return 2 * wins / done - 1

    def _winning_probability(
        self, search: TreeSearch, position: Any, seat: int | None, sims: int, below: Callable[[int], int]
    ) -> float:
        """Return a seat's estimated winning probability in a position; in a finished game, its share of a win."""
        assert seat is not None
        if self._game.to_move(position) is not None:
            return search.estimate_wins(position, seat, sims, below)
        ranks = self._game.ranks(position)
        return 1 / ranks.count(1) if ranks[seat] == 1 else 0.0
