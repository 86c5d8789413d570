"""Equilibria of small games of two with hidden cards, by CFR+, and how much a strategy can be exploited, exactly.

CFR+: Tammelin, Solving Large Imperfect Information Games Using CFR+ (2014). A strategy is, by seat and what the seat
knows (`Game.information`), the probability of each legal move in the order of the rules.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from protocol.games.base import Game
from protocol.messages import CHANCE

Knowledge = tuple[int, Hashable]
"""A seat, and what it knows."""
Strategy = Mapping[Knowledge, Sequence[float]]


class _Node:
    """A state: who acts there, what each act leads to, what it is worth to seat 0 where it is the end."""

    __slots__ = ("after", "chances", "key", "seat", "value")

    def __init__(self, rules: Game[Any, Any], state: Any) -> None:
        seat = rules.to_move(state)
        self.seat = seat
        self.key: Knowledge | None = None
        self.value = 0.0
        self.chances: list[float] = []
        self.after: list[_Node] = []
        if seat is None:
            returns = rules.returns(state)
            assert returns is not None
            self.value = float(returns[0])
        elif seat == CHANCE:
            for chance, after in rules.chance_outcomes(state):
                self.chances.append(float(chance))
                self.after.append(_Node(rules, after))
        else:
            self.key = seat, rules.information(state, seat)
            for move in rules.legal_moves(state):
                for _chance, after in rules.outcomes(state, move):
                    self.after.append(_Node(rules, after))


class Solver:
    """CFR+ from a state on, a round of it at a time."""

    def __init__(self, rules: Game[Any, Any], state: Any) -> None:
        self._root = _Node(rules, state)
        self._regrets: dict[Knowledge, list[float]] = {}
        self._sums: dict[Knowledge, list[float]] = {}
        self._now: dict[Knowledge, list[float]] = {}
        self._rounds = 0
        self._prepare(self._root)

    def _prepare(self, node: _Node) -> None:
        if node.key is not None and node.key not in self._regrets:
            count = len(node.after)
            self._regrets[node.key], self._sums[node.key] = [0.0] * count, [0.0] * count
            self._now[node.key] = [1 / count] * count
        for after in node.after:
            self._prepare(after)

    def run(self, rounds: int) -> None:
        """So many rounds more."""
        for _ in range(rounds):
            self._rounds += 1
            for seat in (0, 1):
                self._walk(self._root, seat, 1.0, 1.0)
                self._update(seat)

    def strategy(self) -> dict[Knowledge, tuple[float, ...]]:
        """The mean strategy so far, later rounds counting more."""
        found = {}
        for key, sums in self._sums.items():
            total = sum(sums)
            found[key] = tuple(each / total for each in sums) if total else (1 / len(sums),) * len(sums)
        return found

    def _walk(self, node: _Node, seat: int, own: float, others: float) -> float:
        """The value to a seat; `own` and `others` are how likely they get here."""
        if node.seat is None:
            return node.value if seat == 0 else -node.value
        if node.key is None:
            return sum(
                chance * self._walk(after, seat, own, others * chance)
                for chance, after in zip(node.chances, node.after, strict=True)
            )
        now = self._now[node.key]
        if node.seat != seat:
            return sum(
                chance * self._walk(after, seat, own, others * chance)
                for chance, after in zip(now, node.after, strict=True)
                if chance > 0 or others > 0
            )
        values = [self._walk(after, seat, own * chance, others) for chance, after in zip(now, node.after, strict=True)]
        value = sum(chance * each for chance, each in zip(now, values, strict=True))
        regrets, sums = self._regrets[node.key], self._sums[node.key]
        for at, each in enumerate(values):
            regrets[at] += others * (each - value)
            sums[at] += self._rounds * own * now[at]
        return value

    def _update(self, seat: int) -> None:
        for key, regrets in self._regrets.items():
            if key[0] == seat:
                positive = self._regrets[key] = [each if each > 0 else 0.0 for each in regrets]
                total = sum(positive)
                count = len(positive)
                self._now[key] = [each / total for each in positive] if total else [1 / count] * count


def value(rules: Game[Any, Any], state: Any, strategy: Strategy) -> float:
    """What seat 0 wins on average where both seats play by a strategy."""

    def walk(node: _Node) -> float:
        if node.seat is None:
            return node.value
        chances = node.chances if node.key is None else strategy[node.key]
        return sum(chance * walk(after) for chance, after in zip(chances, node.after, strict=True) if chance)

    return walk(_Node(rules, state))


def best_response(rules: Game[Any, Any], state: Any, strategy: Strategy, seat: int) -> float:
    """What a seat wins on average that plays best against the other's strategy."""
    root = _Node(rules, state)
    reached: dict[Knowledge, list[tuple[_Node, float]]] = {}

    def gather(node: _Node, others: float) -> None:
        if node.key is not None and node.seat == seat:
            reached.setdefault(node.key, []).append((node, others))
            chances: Sequence[float] = [1.0] * len(node.after)
        else:
            chances = node.chances if node.key is None else strategy[node.key]
        for chance, after in zip(chances, node.after, strict=False):
            gather(after, others * chance)

    best: dict[Knowledge, int] = {}

    def walk(node: _Node) -> float:
        if node.seat is None:
            return node.value if seat == 0 else -node.value
        if node.key is not None and node.seat == seat:
            return walk(node.after[choose(node.key)])
        chances = node.chances if node.key is None else strategy[node.key]
        return sum(chance * walk(after) for chance, after in zip(chances, node.after, strict=True) if chance)

    def choose(key: Knowledge) -> int:
        if key not in best:
            nodes = reached[key]
            moves = range(len(nodes[0][0].after))
            gains = [sum(others * walk(node.after[at]) for node, others in nodes if others) for at in moves]
            best[key] = gains.index(max(gains))
        return best[key]

    gather(root, 1.0)
    return walk(root)


def exploitability(rules: Game[Any, Any], state: Any, strategy: Strategy) -> float:
    """What a best response wins against the strategy beyond its value, the mean of both seats; 0 in equilibrium."""
    return (best_response(rules, state, strategy, 0) + best_response(rules, state, strategy, 1)) / 2
