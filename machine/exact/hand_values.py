"""Equilibrium values of poker hands and decisions, in chips, and the grader that uses them.

A decision is judged by the knowledge of its seat. It averages over the cards that the opponent may hold, by Bayes' rule
and the opponent's equilibrium strategy, which the opponent keeps to. The seat itself then plays the best response.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

from machine.exact.graders import Judge, Verdict
from machine.exact.hand_solving import Knowledge, Number, Strategy
from machine.exact.hand_strategies import equilibrium_of, hand_of, knowledge
from protocol.games.base import NO_DICE
from protocol.games.poker import Poker, Table
from protocol.messages import CHANCE

ALIKE = 0.003
"""Chips by which values of equally good moves may differ: the accuracy of the tables."""

NEVER = 0.001
"""Up to this probability the opponent counts as never making a move: such small ones are residues of solving."""

Belief = Sequence[tuple[Number, Table]]
"""Possible states for a seat that does not see all cards, each with its probability."""
MoveValues = Mapping[str, Number]


def judge_of(game: Poker) -> Judge:
    """Return the grader for the moves of a match, in chips of the hand."""
    known = move_values(game.name)

    def judge(state: Any, move: Any) -> Verdict:
        values = known[knowledge(game, state)]
        best = max(values, key=lambda each: values[each])
        if values[best] - values[move] <= ALIKE:
            return Verdict(float(values[move]), move, float(values[move]))
        return Verdict(float(values[move]), best, float(values[best]))

    return judge


@cache
def move_values(game: str) -> Mapping[Knowledge, MoveValues]:
    """Return the average winnings in chips of each move, for every decision of a seat.

    A move that the opponent makes with at most probability `NEVER` is no evidence about its card: beliefs do not
    change.
    """
    strategy = equilibrium_of(game)
    return {**best_reply(game, strategy, 0, NEVER), **best_reply(game, strategy, 1, NEVER)}


def best_reply(game: str, strategy: Strategy, seat: int, never: float = 0.0) -> dict[Knowledge, MoveValues]:
    """Return the average winnings in chips of each move of a seat that plays the best response to a strategy.

    Moves up to the probability `never` are no evidence about the opponent's card.
    """
    rules, start = hand_of(game)
    reply = _Reply(rules, strategy, seat, never)
    dealt = [after for _, after in rules.chance_outcomes(start)]
    for own in range(0, len(rules.ranks_of_cards) * rules.alike, rules.alike):
        may_be = [state for state in dealt if state.cards is not None and state.cards[seat] == own]
        reply.value([(Fraction(1, len(may_be)), state) for state in may_be])
    return reply.found


class _Reply:
    """The best response of a seat to a strategy; `found` holds the winnings of its moves by its knowledge."""

    def __init__(self, rules: Poker, strategy: Strategy, seat: int, never: float) -> None:
        self.found: dict[Knowledge, MoveValues] = {}
        self._rules = rules
        self._strategy = strategy
        self._seat = seat
        self._never = never

    def value(self, belief: Belief) -> Number:
        """Return the expected winnings from here on."""
        rules, (_, some) = self._rules, belief[0]
        mover = rules.to_move(some)
        if mover is None:
            return sum(chance * rules.returns(state)[self._seat] for chance, state in belief)
        if mover == CHANCE:
            return self._turned(belief)
        moves = rules.legal_moves(some)
        if mover == self._seat:
            values = {move: self.value(_after(rules, belief, move)) for move in moves}
            self.found[knowledge(rules, some)] = values
            return max(values.values())
        won: Number = 0
        for at, move in enumerate(moves):
            answers = [(chance * self._strategy[knowledge(rules, state)][at], state) for chance, state in belief]
            total = sum(weight for weight, _ in answers)
            told = [(weight / total, state) for weight, state in answers if weight] if total > self._never else belief
            won += total * self.value(_after(rules, told, move))
        return won

    def _turned(self, belief: Belief) -> Number:
        """Return the expected winnings over the public cards that may come."""
        by_card: dict[int | None, list[tuple[Number, Table]]] = {}
        for chance, state in belief:
            for share, to in self._rules.chance_outcomes(state):
                by_card.setdefault(to.public, []).append((chance * share, to))
        won: Number = 0
        for weights in by_card.values():
            total = sum(weight for weight, _ in weights)
            won += total * self.value([(weight / total, state) for weight, state in weights])
        return won


def _after(rules: Poker, belief: Belief, move: str) -> Belief:
    return [(chance, _moved(rules, state, move)) for chance, state in belief]


def _moved(rules: Poker, state: Table, move: str) -> Table:
    return rules.apply(state, move, NO_DICE)[0]


@cache
def hand_value(game: str) -> Callable[[Table], Number]:
    """Return a function that values the current hand for seat 0 in equilibrium, before the deal or with all cards
    known.
    """
    rules, start = hand_of(game)
    strategy = equilibrium_of(game)

    @cache
    def worth(state: Table) -> Number:
        mover = rules.to_move(state)
        if mover is None:
            return rules.returns(state)[0]
        if mover == CHANCE:
            return sum(chance * worth(_plain(to)) for chance, to in rules.chance_outcomes(state))
        chances = strategy[knowledge(rules, state)]
        moves = zip(chances, rules.legal_moves(state), strict=True)
        return sum(chance * worth(_plain(_moved(rules, state, move))) for chance, move in moves if chance)

    def of(state: Table) -> Number:
        first = state.hand % 2
        alone = start._replace(
            cards=state.cards, public=state.public, bets=state.bets, paid=state.paid, seat=state.seat
        )
        if first == 0:
            return worth(alone)
        cards = None if state.cards is None else (state.cards[1], state.cards[0])
        return -worth(alone._replace(cards=cards, paid=(state.paid[1], state.paid[0]), seat=1 - state.seat))

    return of


def _plain(state: Table) -> Table:
    """Drop the ply, so that equal tables compare equal."""
    return state._replace(at=0)
