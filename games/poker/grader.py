"""Equilibrium values of poker hands and decisions, in chips, and the grader that uses them.

The value of a decision depends only on what its seat knows. It is an average over the cards that the opponent may hold,
by Bayes' rule, assuming that the opponent plays the equilibrium strategy. After the decision, the seat plays the best
response.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

from games.poker.rules import Poker, PokerState
from games.poker.strategies import equilibrium_of, knowledge_of, single_hand
from machine.exact.graders import Grader, MoveGrade
from machine.exact.hand_solving import Knowledge, Number, Strategy
from protocol.games.base import NO_DICE
from protocol.messages import CHANCE

EQUAL_MOVE_TOLERANCE_CHIPS = 0.003
"""Maximum difference in chips of the values of moves that count as equally good. It is the accuracy of the tables."""

MAX_NEGLIGIBLE_PROBABILITY = 0.001
"""A move of the opponent with at most this probability counts as never made: solving leaves such small probabilities.
"""

Belief = Sequence[tuple[Number, PokerState]]
"""The type of a seat's belief: the states that are possible by what it sees, each with its probability."""
MoveValues = Mapping[str, Number]


def grader_of(game: Poker) -> Grader:
    """Return the grader of moves in a match of poker. Values are chips won in the hand."""
    known = move_values(game.name)

    def grade(state: Any, move: Any) -> MoveGrade:
        values = known[knowledge_of(game, state)]
        best = max(values, key=lambda each: values[each])
        if values[best] - values[move] <= EQUAL_MOVE_TOLERANCE_CHIPS:
            return MoveGrade(float(values[move]), move, float(values[move]))
        return MoveGrade(float(values[move]), best, float(values[best]))

    return grade


@cache
def move_values(game: str) -> Mapping[Knowledge, MoveValues]:
    """Return the average winnings in chips of each move in every decision of both seats, against an equilibrium.

    If the opponent makes a move whose probability is at most `MAX_NEGLIGIBLE_PROBABILITY`, the move is no evidence
    about the opponent's card: beliefs do not change.
    """
    strategy = equilibrium_of(game)
    return {
        **best_response_values(game, strategy, 0, MAX_NEGLIGIBLE_PROBABILITY),
        **best_response_values(game, strategy, 1, MAX_NEGLIGIBLE_PROBABILITY),
    }


def best_response_values(
    game: str, strategy: Strategy, seat: int, negligible: float = 0.0
) -> dict[Knowledge, MoveValues]:
    """Return the average winnings in chips of each move in every decision of `seat`, if the seat plays the best
    response to a strategy.

    Moves of the opponent with a probability of at most `negligible` are no evidence about the opponent's card.
    """
    rules, start = single_hand(game)
    reply = _BestResponse(rules, strategy, seat, negligible)
    dealt = [after for _, after in rules.chance_outcomes(start)]
    for own in range(0, len(rules.ranks_of_cards) * rules.cards_per_rank, rules.cards_per_rank):
        may_be = [state for state in dealt if state.cards is not None and state.cards[seat] == own]
        reply.value([(Fraction(1, len(may_be)), state) for state in may_be])
    return reply.found


class _BestResponse:
    """The best response of a seat to a strategy. `found` has the expected winnings of each move, by what the seat
    knows.
    """

    def __init__(self, rules: Poker, strategy: Strategy, seat: int, never: float) -> None:
        self.found: dict[Knowledge, MoveValues] = {}
        self._rules = rules
        self._strategy = strategy
        self._seat = seat
        self._never = never

    def value(self, belief: Belief) -> Number:
        """Return the expected winnings of the seat in the rest of the hand, under this belief."""
        rules, (_, some) = self._rules, belief[0]
        mover = rules.to_move(some)
        if mover is None:
            return sum(chance * rules.returns(state)[self._seat] for chance, state in belief)
        if mover == CHANCE:
            return self._value_of_public_card(belief)
        moves = rules.legal_moves(some)
        if mover == self._seat:
            values = {move: self.value(_beliefs_after(rules, belief, move)) for move in moves}
            self.found[knowledge_of(rules, some)] = values
            return max(values.values())
        won: Number = 0
        for at, move in enumerate(moves):
            answers = [(chance * self._strategy[knowledge_of(rules, state)][at], state) for chance, state in belief]
            total = sum(weight for weight, _ in answers)
            told = [(weight / total, state) for weight, state in answers if weight] if total > self._never else belief
            won += total * self.value(_beliefs_after(rules, told, move))
        return won

    def _value_of_public_card(self, belief: Belief) -> Number:
        """Return the expected winnings of the seat as an average over the public cards that may come."""
        by_card: dict[int | None, list[tuple[Number, PokerState]]] = {}
        for chance, state in belief:
            for share, to in self._rules.chance_outcomes(state):
                by_card.setdefault(to.public, []).append((chance * share, to))
        won: Number = 0
        for weights in by_card.values():
            total = sum(weight for weight, _ in weights)
            won += total * self.value([(weight / total, state) for weight, state in weights])
        return won


def _beliefs_after(rules: Poker, belief: Belief, move: str) -> Belief:
    return [(chance, _table_after(rules, state, move)) for chance, state in belief]


def _table_after(rules: Poker, state: PokerState, move: str) -> PokerState:
    return rules.apply(state, move, NO_DICE)[0]


@cache
def hand_value_function(game: str) -> Callable[[PokerState], Number]:
    """Return a function that takes a state and returns the chips that seat 0 wins on average in the current hand, if
    both seats play an equilibrium. The state must have all cards that have been dealt, or none.
    """
    rules, start = single_hand(game)
    strategy = equilibrium_of(game)

    @cache
    def value(state: PokerState) -> Number:
        mover = rules.to_move(state)
        if mover is None:
            return rules.returns(state)[0]
        if mover == CHANCE:
            return sum(chance * value(_without_ply(to)) for chance, to in rules.chance_outcomes(state))
        chances = strategy[knowledge_of(rules, state)]
        moves = zip(chances, rules.legal_moves(state), strict=True)
        return sum(chance * value(_without_ply(_table_after(rules, state, move))) for chance, move in moves if chance)

    def value_of_hand(state: PokerState) -> Number:
        first = state.hand % 2
        alone = start._replace(
            cards=state.cards, public=state.public, bets=state.bets, paid=state.paid, seat=state.seat
        )
        if first == 0:
            return value(alone)
        cards = None if state.cards is None else (state.cards[1], state.cards[0])
        return -value(alone._replace(cards=cards, paid=(state.paid[1], state.paid[0]), seat=1 - state.seat))

    return value_of_hand


def _without_ply(state: PokerState) -> PokerState:
    """Return a state without its ply, so that states with equal cards and bets compare equal."""
    return state._replace(at=0)
