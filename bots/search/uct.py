"""Monte Carlo tree search (UCT) by the rules of any game. A compiled search of one game does it a hundred times faster.

The tree is that of the moves alone (open loop): every simulation draws its own chance. If a game hides information,
every simulation first draws the hidden part of the position (determinization). In a round of simultaneous moves, each
seat chooses by its own statistics (decoupled UCT). Playouts are uniformly random.

Sources: Kocsis and Szepesvári, Bandit based Monte-Carlo planning, 2006; Cowling, Powley and Whitehouse, Information set
Monte Carlo tree search, 2012; Tak, Lanctot and Winands, Monte Carlo tree search variants for simultaneous move games,
2014.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from bots.search.base import LimitReached, SearchLimit, SearchResult
from protocol.dice import Dice
from protocol.games import game_class
from protocol.games.base import Game
from protocol.games.simultaneous import SimultaneousGame
from protocol.messages import CHANCE, Event
from referee.result import points_from_ranks

EXPLORATION = 0.7
"""The factor of the exploration term, for values from 0 to 1."""
ROUND_EXPLORATION = 0.2
"""The probability with which a seat chooses a random move in a round. Without it, seats with equal statistics would
always choose alike, and never see other results.
"""
MAX_PLAYOUT_PLIES = 400
"""Maximum number of plies of a playout. A longer one counts as it stands."""


def has_tree_search(name: str) -> bool:
    """Return whether this search plays a game: it hides nothing, or can draw what it hides."""
    rules = game_class(name)
    return not rules.hidden or rules.sample_state is not Game.sample_state


class _Node:
    """A node of the tree. `stats` has the visits and the summed values of each seat's moves."""

    __slots__ = ("children", "stats", "visits")

    def __init__(self) -> None:
        self.visits = 0
        self.stats: dict[tuple[int, Any], list[float]] = {}
        self.children: dict[tuple[tuple[int, Any], ...], _Node] = {}


class RulesTreeSearch:
    """UCT for one game under one config. It keeps no tree between two searches."""

    nodes_per_ms: ClassVar[int] = 1

    def __init__(self, rules: Game[Any, Any]) -> None:
        self._rules = rules
        self._low, self._high = 0.0, 1.0
        """The least and the highest value of a simulation so far, in a game with payoffs; else 0 and 1."""

    def warm_up(self) -> None:
        """Do nothing, because there is nothing to compile."""

    def search(
        self,
        position: Any,
        *,
        seat: int | None = None,
        events: Sequence[Event] = (),
        below: Callable[[int], int],
        limit: SearchLimit,
    ) -> SearchResult[Any]:
        """Return the most visited move of a seat within `limit`, and the mean value of its simulations, from 0 to 1.

        The seat is that whose turn it is, if it is not given. `below(n)` returns a random number from 0 to n − 1. The
        result has no `leaves` if nothing was simulated.
        """
        rules, rng = self._rules, random.Random(below(2**32))
        if seat is None:
            seat = rules.to_move(position)
        assert seat is not None
        root = _Node()
        moves = self._legal_moves(position, seat)
        try:
            while len(moves) > 1:
                limit.count_simulation()
                self._simulate(rules.sample_state(position, seat, rng.randrange), root, rng)
        except LimitReached:
            pass
        best = max(moves, key=lambda move: root.stats.get((seat, move), (0.0, 0.0))[0])
        visits, total = root.stats.get((seat, best), (0.0, 0.0))
        value = self._scale(total / visits) if visits else 0.0
        return SearchResult(value, best, (best,), root.visits, root.visits, max_ply=0, depth=0, complete=False)

    def estimate_move(self, position: Any, move: Any, sims: int, below: Callable[[int], int]) -> float:
        """Return the mean value, for the seat to move, of `sims` simulations that begin with a legal move: its payoff;
        without payoffs, its result from 0 to 1. Each simulation draws what the seat can't see, and the outcome of the
        move.
        """
        rules, rng, root, total = self._rules, random.Random(below(2**32)), _Node(), 0.0
        seat = rules.to_move(position)
        assert seat is not None
        for _ in range(sims):
            state = rules.sample_state(position, seat, rng.randrange)
            total += self._simulate(self._play(state, {seat: move}, rng), root, rng)[seat]
        return total / sims

    def _simulate(self, state: Any, node: _Node, rng: random.Random) -> Sequence[float]:
        """Play one game from a state, first in the tree, which grows by one node, then at random. Return the values of
        all seats.
        """
        path = []
        state = self._play_chance(state, rng)
        is_new = False
        while not is_new and (movers := self._movers(state)):
            chosen = {
                seat: self._select(node, seat, self._legal_moves(state, seat), rng, is_alone=len(movers) == 1)
                for seat in movers
            }
            path.append((node, chosen))
            key = tuple(chosen.items())
            is_new = key not in node.children
            node = node.children.setdefault(key, _Node())
            state = self._play_chance(self._play(state, chosen, rng), rng)
        values = self._playout(state, rng)
        for visited, chosen in path:
            visited.visits += 1
            for mover in chosen.items():
                stats = visited.stats.setdefault(mover, [0.0, 0.0])
                stats[0] += 1
                stats[1] += values[mover[0]]
        return values

    def _select(self, node: _Node, seat: int, moves: Sequence[Any], rng: random.Random, *, is_alone: bool) -> Any:
        """Return a move without visits if there is one, else that with the highest upper confidence bound. A seat that
        does not choose alone sometimes chooses at random.
        """
        if not is_alone and rng.random() < ROUND_EXPLORATION:
            return moves[rng.randrange(len(moves))]
        unvisited = [move for move in moves if (seat, move) not in node.stats]
        if unvisited:
            return unvisited[rng.randrange(len(unvisited))]
        log = math.log(node.visits)

        def upper_bound(move: Any) -> float:
            visits, total = node.stats[seat, move]
            return self._scale(total / visits) + EXPLORATION * math.sqrt(log / visits)

        return max(moves, key=upper_bound)

    def _playout(self, state: Any, rng: random.Random) -> Sequence[float]:
        """Play at random to the end, and return the value of every seat."""
        for _ in range(MAX_PLAYOUT_PLIES):
            movers = self._movers(state)
            if not movers:
                break
            chosen = {}
            for seat in movers:
                moves = self._legal_moves(state, seat)
                chosen[seat] = moves[rng.randrange(len(moves))]
            state = self._play_chance(self._play(state, chosen, rng), rng)
        paid = self._rules.returns(state)
        if paid is None:
            return points_from_ranks(self._rules.ranks(state))
        self._low, self._high = min(self._low, *paid), max(self._high, *paid)
        return paid

    def _scale(self, value: float) -> float:
        """Return a value on a scale from 0 to 1."""
        return (value - self._low) / (self._high - self._low)

    def _movers(self, state: Any) -> tuple[int, ...]:
        """Return the seats that choose a move, in a state without a chance event; none once the game is over."""
        rules = self._rules
        if isinstance(rules, SimultaneousGame):
            return rules.movers(state)
        seat = rules.to_move(state)
        return () if seat is None else (seat,)

    def _legal_moves(self, state: Any, seat: int) -> Sequence[Any]:
        rules = self._rules
        return rules.legal_moves_of(state, seat) if isinstance(rules, SimultaneousGame) else rules.legal_moves(state)

    def _play(self, state: Any, chosen: Mapping[int, Any], rng: random.Random) -> Any:
        """Return the state after the moves of all seats that choose. Chance in them is drawn."""
        rules = self._rules
        if isinstance(rules, SimultaneousGame):
            return rules.resolve_round(state, chosen, _random_dice(rules, state, rng))[0]
        (move,) = chosen.values()
        if rules.outcome_cost(state, move) == 1:
            outcomes = rules.outcomes(state, move)
            if len(outcomes) == 1:
                return outcomes[0][1]
        return rules.apply(state, move, _random_dice(rules, state, rng))[0]

    def _play_chance(self, state: Any, rng: random.Random) -> Any:
        """Return the state after all chance events that come before the next move."""
        rules = self._rules
        while rules.to_move(state) == CHANCE:
            state = rules.apply_chance(state, _random_dice(rules, state, rng))[0]
        return state


def _random_dice(rules: Game[Any, Any], state: Any, rng: random.Random) -> Dice:
    return Dice(rng.randbytes(16), rules.ply(state))
