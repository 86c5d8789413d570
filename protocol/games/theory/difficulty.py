"""How hard a position is to win, beyond the next move. Every reachable position is walked: for small games only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import factorial, prod
from typing import NamedTuple

from protocol.games.theory.heaps import HeapRule
from protocol.games.theory.impartial import Move, after, moves, outcome

MOST_POSITIONS = 20_000
_MOST_MOVES_A_POSITION = 20
"""On average: what bounds the time of a walk that is given up."""
Heaps = tuple[int, ...]


class Counts(NamedTuple):
    """How many positions of each class can be reached, the first one included."""

    p_positions: int
    n_positions: int


def reachable(heaps: Iterable[int], rule: HeapRule, most: int = MOST_POSITIONS) -> set[Heaps] | None:
    """Every position (sorted heaps) that play can reach, the first included; None where there are more than `most`,
    or where they have so many moves that looking at all would take seconds.
    """
    first = tuple(sorted(heaps))
    if prod(map(rule.min_reachable_heaps, first)) > most * factorial(len(first)):
        return None
    seen = {first}
    waiting = [first]
    patience = most * _MOST_MOVES_A_POSITION
    while waiting:
        position = waiting.pop()
        patience -= sum(map(rule.options, set(position)))
        if len(seen) > most or patience < 0:
            return None
        for move in moves(position, rule):
            following = after(position, move)
            if following not in seen:
                seen.add(following)
                waiting.append(following)
    return seen if len(seen) <= most else None


def count(positions: Iterable[Heaps], rule: HeapRule, *, misere: bool = False) -> Counts:
    """How many of the positions are lost for the mover, and how many won."""
    classes = [outcome(position, rule, misere=misere) for position in positions]
    return Counts(classes.count("P"), classes.count("N"))


class Difficulty:
    """The chance that a uniformly random opponent errs somewhere before the end.

    The opponent can win and picks among the distinct resulting positions; the loser answers every right choice with
    the move after which an error is likeliest. From a P-position the chance is that after the loser's best move.
    One move deep it is 1 − value; it goes on where that stops. Walks are remembered.
    """

    def __init__(self, rule: HeapRule, *, misere: bool = False, most: int = MOST_POSITIONS) -> None:
        self._rule = rule
        self._misere = misere
        self._most = most
        self._flawless: dict[Heaps, float] = {}

    def error(self, heaps: Sequence[int]) -> float | None:
        """That chance, 0 to 1; None where too many positions can be reached."""
        first = tuple(sorted(heaps))
        if first not in self._flawless:
            found = reachable(first, self._rule, self._most)
            if found is None:
                return None
            for position in sorted(found - self._flawless.keys(), key=lambda heaps: (sum(heaps), -len(heaps))):
                self._flawless[position] = self._judge(position)
        return 1 - self._flawless[first]

    def _judge(self, position: Heaps) -> float:
        """The chance that the opponent makes no error from here on."""
        followers = {after(position, move) for move in moves(position, self._rule)}
        if not followers:
            return 1.0
        if outcome(position, self._rule, misere=self._misere) == "P":
            return min(self._flawless[following] for following in followers)
        right = (f for f in followers if outcome(f, self._rule, misere=self._misere) == "P")
        return sum(self._flawless[following] for following in right) / len(followers)

    def hardest_moves(self, heaps: Sequence[int]) -> list[Move] | None:
        """The moves from a P-position after which an error is likeliest; None where that cannot be told."""
        if self.error(heaps) is None:
            return None
        kept = [(self._flawless[after(heaps, move)], move) for move in moves(heaps, self._rule)]
        least = min((chance for chance, _ in kept), default=0.0)
        return [move for chance, move in kept if chance <= least]
