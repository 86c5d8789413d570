"""The facts of `arena-bot analyze` about heap games, and a contest of strategies that start in lost positions, to find
which one makes the opponent's win most difficult.

A strategy gives a probability to each position that it may move to, so results are computed, not sampled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import combinations_with_replacement
from math import comb
from typing import Any, NamedTuple

from games.theory.grader import to_message_move
from games.theory.heaps import HeapRule
from games.theory.impartial import (
    Difficulty,
    HeapMove,
    apply_move,
    best_moves,
    count_outcomes,
    grundy,
    hardest_moves,
    moves,
    outcome,
    reachable_positions,
    win_fraction,
    winning_moves,
)
from protocol.errors import UsageFault

Heaps = tuple[int, ...]
Replies = Mapping[Heaps, float]
Strategy = Callable[[Heaps], Replies]

STRATEGY_DESCRIPTIONS: Mapping[str, str] = {
    "hardest": "wins if it can, else leaves the smallest share of winning replies",
    "deeper": "wins if it can, else makes an error before the end most likely",
    "longest": "wins if it can, else takes as few as it can",
    "theory": "wins if it can, else moves at random",
    "half": "moves at random with probability 1/2, else like theory",
    "greedy": "leaves an even number of heaps that allow a move (misère: odd)",
    "random": "any legal move",
}
"""A description of each strategy of `Contest`, by the strategy's name."""


def position_facts(heaps: tuple[int, ...], rule: HeapRule, *, misere: bool = False) -> dict[str, Any]:
    """Return the facts about a position, ready for JSON.

    `grundy` is null in misère. `p_positions` and `n_positions` count the reachable lost and won positions, including
    this one. `difficulty` is the probability that a side which can win, but picks its moves at random, errs before the
    end. `p_positions`, `n_positions` and `difficulty` are null if there are too many positions.
    """
    share = win_fraction(heaps, rule, misere=misere)
    found = reachable_positions(heaps, rule)
    counts = (None, None) if found is None else count_outcomes(found, rule, misere=misere)
    best = best_moves(heaps, rule, misere=misere)
    return {
        "heaps": list(heaps),
        "class": outcome(heaps, rule, misere=misere),
        "value": float(share),
        "fraction": str(share),
        "grundy": None if misere else grundy(heaps, rule),
        "best_moves": [
            {**to_message_move(heaps, move), "heap": i}
            for i, size in enumerate(heaps)
            for move in best
            if move.heap == size
        ],
        "p_positions": counts[0],
        "n_positions": counts[1],
        "difficulty": None if found is None else Difficulty(rule, misere=misere).error_probability(heaps),
    }


class PositionPair(NamedTuple):
    """Two won positions with the same fraction of winning moves, `value`, but with different difficulty."""

    value: float
    easier: Heaps
    easier_difficulty: float
    harder: Heaps
    harder_difficulty: float


MAX_PLIES = 300
"""The maximum number of objects in the heaps of a contest. A game has at most one ply for each object."""
MAX_STARTS = 100_000
"""The maximum number of positions that a contest examines to find the lost positions from which its games start."""


class GameTooLarge(UsageFault):
    """A heap game has too many positions to compute the results of all strategies."""


class Contest:
    """A contest of strategies in one heap game."""

    def __init__(self, rule: HeapRule, *, misere: bool = False) -> None:
        self._rule = rule
        self._misere = misere
        self._difficulty = Difficulty(rule, misere=misere)
        self.strategies: Mapping[str, Strategy] = {
            name: cache(getattr(self, f"_{name}")) for name in STRATEGY_DESCRIPTIONS
        }

    def lost_positions(self, heaps: Sequence[int]) -> dict[Heaps, int]:
        """Return the lost positions from which a game with `start: p-position` may begin if its config has `heaps`.

        The keys are the positions. Each is lost for the seat to move, allows a move, and has heaps no larger than
        `heaps`. The value of a key is the number of different orders in which the game may have the position's heaps.
        Raise `GameTooLarge` if there are too many positions.
        """
        bounds = sorted(heaps)
        few = comb(bounds[-1] + len(bounds), len(bounds)) <= MAX_STARTS and sum(bounds) <= MAX_PLIES
        if not few or reachable_positions(bounds, self._rule) is None:
            raise GameTooLarge(
                f"heaps {','.join(map(str, heaps))}: too many positions to compare strategies; try smaller ones"
            )
        found = {}
        for position in combinations_with_replacement(range(bounds[-1] + 1), len(bounds)):
            fits = all(size <= bound for size, bound in zip(position, bounds, strict=True))
            if fits and self._is_lost(position) and moves(position, self._rule):
                found[position] = _count_orders(position, tuple(heaps))
        return found

    def win_rate(self, mover: str, replier: str, starts: Mapping[Heaps, int]) -> float:
        """Return the fraction of games that `mover` wins when it moves first. `starts` has the weight of each first
        position.
        """
        players = (self.strategies[mover], self.strategies[replier])
        known: dict[tuple[Heaps, int], float] = {}

        def chance(position: Heaps, seat: int) -> float:
            """Return the probability that `seat`, which is to move in `position`, wins."""
            won = known.get((position, seat))
            if won is None:
                replies = players[seat](position)
                won = sum(p * (1 - chance(following, 1 - seat)) for following, p in replies.items())
                known[position, seat] = won if replies else float(self._misere)
            return known[position, seat]

        weight = sum(starts.values())
        return sum(count * chance(position, 0) for position, count in starts.items()) / weight

    def win_rates(self, starts: Mapping[Heaps, int]) -> dict[str, dict[str, float]]:
        """Return the `win_rate` of every strategy against every strategy, by the one that moves first, then by the
        other.
        """
        return {
            row: {column: self.win_rate(row, column, starts) for column in STRATEGY_DESCRIPTIONS}
            for row in STRATEGY_DESCRIPTIONS
        }

    def find_pair(self, heaps: Sequence[int]) -> PositionPair | None:
        """Return the two smallest positions that have the same value (`win_fraction`) but a different difficulty
        (`Difficulty`); None if there are none. No heap of theirs is above the largest of `heaps`.
        """
        seen: dict[float, list[tuple[float, Heaps]]] = {}
        candidates = combinations_with_replacement(range(max(heaps) + 1), len(heaps))
        for position in sorted(candidates, key=lambda heaps: (sum(heaps), heaps)):
            share = float(win_fraction(position, self._rule, misere=self._misere))
            difficulty = self._difficulty.error_probability(position)
            if not 0 < share < 1 or difficulty is None:
                continue
            for other, known in seen.setdefault(share, []):
                if abs(other - difficulty) > 1e-9:
                    (least, easier), (most, harder) = sorted([(other, known), (difficulty, position)])
                    return PositionPair(share, easier, least, harder, most)
            seen[share].append((difficulty, position))
        return None

    def _is_lost(self, position: Heaps) -> bool:
        return outcome(position, self._rule, misere=self._misere) == "P"

    def _uniform(self, position: Heaps, chosen: Sequence[HeapMove]) -> Replies:
        return {apply_move(position, move): 1 / len(chosen) for move in chosen}

    def _winning(self, position: Heaps) -> Replies:
        return self._uniform(position, winning_moves(position, self._rule, misere=self._misere))

    def _hardest(self, position: Heaps) -> Replies:
        hardest = hardest_moves(position, self._rule, misere=self._misere)
        return self._winning(position) or self._uniform(position, hardest)

    def _deeper(self, position: Heaps) -> Replies:
        return self._winning(position) or self._uniform(position, self._difficulty.hardest_moves(position) or [])

    def _longest(self, position: Heaps) -> Replies:
        every = moves(position, self._rule)
        fewest = min((_count_taken(move) for move in every), default=0)
        return self._winning(position) or self._uniform(
            position, [move for move in every if _count_taken(move) == fewest]
        )

    def _theory(self, position: Heaps) -> Replies:
        return self._winning(position) or self._random(position)

    def _half(self, position: Heaps) -> Replies:
        theory, lot = self._theory(position), self._random(position)
        return {following: (theory.get(following, 0) + p) / 2 for following, p in lot.items()}

    def _greedy(self, position: Heaps) -> Replies:
        def heaps_left(move: HeapMove) -> int:
            return sum(self._rule.count_results(size) > 0 for size in apply_move(position, move))

        good = [move for move in moves(position, self._rule) if heaps_left(move) % 2 == self._misere]
        return self._uniform(position, good) or self._random(position)

    def _random(self, position: Heaps) -> Replies:
        """Return each position to which a random move may lead, with its probability. All moves are equally likely."""
        weights = {apply_move(position, move): position.count(move.heap) for move in moves(position, self._rule)}
        total = sum(weights.values())
        return {following: weight / total for following, weight in weights.items()}


def _count_taken(move: HeapMove) -> int:
    return move.heap - sum(move.parts)


def _count_orders(position: Heaps, bounds: Heaps) -> int:
    """Return in how many different orders a position's heaps can stand if the heap in each place may not exceed the
    bound of that place.
    """

    @cache
    def fit(left: Heaps) -> int:
        bound = bounds[len(left) - 1]
        each = (at for at, size in enumerate(left) if size <= bound and size not in left[:at])
        return sum(fit(left[:at] + left[at + 1 :]) for at in each) if left else 1

    return fit(position)
