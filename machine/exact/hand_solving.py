"""Solving small two-player games with hidden cards by CFR+, and computing the exact exploitability of a strategy.

CFR+: Tammelin, Solving Large Imperfect Information Games Using CFR+ (2014). A strategy maps a seat and its knowledge
(`Game.information_set`) to the probability of each legal move, in the order of the rules.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from machine.compiled import floats, ints, zeros
from protocol.errors import UsageFault
from protocol.games.base import Game
from protocol.messages import CHANCE

Knowledge = tuple[int, Hashable]
"""The type of a key of a strategy: a seat and what it knows (its information set)."""
Number = float | Fraction
Strategy = Mapping[Knowledge, Sequence[Number]]


class _Node:
    """A node of the game tree: the seat to act, its children, and the value for seat 0 at the end."""

    __slots__ = ("chances", "children", "key", "seat", "value")

    def __init__(self, rules: Game[Any, Any], state: Any) -> None:
        seat = rules.to_move(state)
        self.seat = seat
        self.key: Knowledge | None = None
        self.value = 0
        self.chances: list[Fraction] = []
        self.children: list[_Node] = []
        if seat is None:
            returns = rules.returns(state)
            assert returns is not None
            self.value = returns[0]
        elif seat == CHANCE:
            for chance, after in rules.chance_outcomes(state):
                self.chances.append(chance)
                self.children.append(_Node(rules, after))
        else:
            self.key = seat, rules.information_set(state, seat)
            for move in rules.legal_moves(state):
                outcomes = rules.outcomes(state, move)
                if len(outcomes) > 1:
                    raise UsageFault(f"{rules.name} can't be solved by CFR+: dice are part of a move, not an event")
                self.children.append(_Node(rules, outcomes[0][1]))


class Solver:
    """A solver by CFR+ of the game that begins at a given state. It can be run for some iterations at a time."""

    def __init__(self, rules: Game[Any, Any], state: Any) -> None:
        nodes = [_Node(rules, state)]
        first: list[int] = []
        chance: list[Number] = [1.0]
        for node in nodes:  # `nodes` grows meanwhile
            first.append(len(nodes))
            nodes += node.children
            chance += node.chances or [0.0] * len(node.children)
        sets: dict[Knowledge, tuple[int, int]] = {}
        acts = 0
        for node in nodes:
            if node.key is not None and node.key not in sets:
                sets[node.key] = acts, len(node.children)
                acts += len(node.children)
        self._sets = sets
        self._tree = (
            ints(CHANCE if node.seat is None else node.seat for node in nodes),
            ints(first),
            ints(len(node.children) for node in nodes),
            ints(0 if node.key is None else sets[node.key][0] for node in nodes),
            floats(map(float, chance)),
            floats(float(node.value) for node in nodes),
        )
        self._by_set = (
            ints(seat for seat, _ in sets),
            ints(start for start, _ in sets.values()),
            ints(count for _, count in sets.values()),
        )
        self._now = floats(1 / count for _, count in sets.values() for _ in range(count))
        self._regret, self._mean = zeros(acts, float), zeros(acts, float)
        self._scratch = tuple(zeros(len(nodes), float) for _ in range(3))
        self._rounds = 0

    def run(self, rounds: int) -> None:
        """Run `rounds` more iterations of CFR+."""
        from machine.exact.hand_iteration import run_rounds  # compiling takes a third of a second

        begin = self._rounds + 1
        self._rounds += rounds
        run_rounds(begin, begin + rounds, self._tree, self._by_set, self._now, self._regret, self._mean, self._scratch)

    def strategy(self) -> dict[Knowledge, tuple[float, ...]]:
        """Return the mean of the strategies of all iterations so far, in which later iterations weigh more."""
        found = {}
        for key, (start, count) in self._sets.items():
            sums = [float(each) for each in self._mean[start : start + count]]
            total = sum(sums)
            found[key] = tuple(each / total for each in sums) if total else (1 / count,) * count
        return found


def strategy_value(rules: Game[Any, Any], state: Any, strategy: Strategy) -> Number:
    """Return seat 0's average winnings if both seats play a strategy; exact if its probabilities are fractions."""

    def walk(node: _Node) -> Number:
        if node.seat is None:
            return node.value
        chances = node.chances if node.key is None else strategy[node.key]
        return sum(chance * walk(after) for chance, after in zip(chances, node.children, strict=True) if chance)

    return walk(_Node(rules, state))


def best_response(rules: Game[Any, Any], state: Any, strategy: Strategy, seat: int) -> Number:
    """Return the average winnings of a seat that plays the best response to the other seat's strategy."""
    root = _Node(rules, state)
    reached: dict[Knowledge, list[tuple[_Node, Number]]] = {}

    def gather(node: _Node, others: Number) -> None:
        if node.key is not None and node.seat == seat:
            reached.setdefault(node.key, []).append((node, others))
            chances: Sequence[Number] = [1] * len(node.children)
        else:
            chances = node.chances if node.key is None else strategy[node.key]
        for chance, after in zip(chances, node.children, strict=True):
            gather(after, others * chance)

    best: dict[Knowledge, int] = {}

    def walk(node: _Node) -> Number:
        if node.seat is None:
            return node.value if seat == 0 else -node.value
        if node.key is not None and node.seat == seat:
            return walk(node.children[choose(node.key)])
        chances = node.chances if node.key is None else strategy[node.key]
        return sum(chance * walk(after) for chance, after in zip(chances, node.children, strict=True) if chance)

    def choose(key: Knowledge) -> int:
        if key not in best:
            nodes = reached[key]
            moves = range(len(nodes[0][0].children))
            gains = [sum(others * walk(node.children[at]) for node, others in nodes if others) for at in moves]
            best[key] = gains.index(max(gains))
        return best[key]

    gather(root, 1)
    return walk(root)


def exploitability(rules: Game[Any, Any], state: Any, strategy: Strategy) -> Number:
    """Return the exploitability of a strategy: what the best response to it wins, as the average over both seats. It is
    0 in equilibrium.
    """
    return (best_response(rules, state, strategy, 0) + best_response(rules, state, strategy, 1)) / 2
