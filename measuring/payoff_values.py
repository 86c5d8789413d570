"""By what luck is measured in games that pay: poker, where hands are dealt, and the dilemma, where coins are thrown.

It is the chance part of AIVAT (Burch, Schmid, Moravčík, Morrill and Bowling, 2018): less luck, payoffs keep their mean.
"""

from __future__ import annotations

from fractions import Fraction

from machine.exact.hand_values import hand_value
from measuring.value_function import Outcomes, PositionValue, ValueFactories, ValueFunction
from protocol.games.dilemma import PARTS, Dilemma, Rounds
from protocol.games.poker import Poker, Table

CHIPS, PAYOFFS = "chips", "in payoffs"


def of_poker(game: Poker) -> ValueFactories:
    """The values of poker: `equilibrium`, what the hand on the table is worth where both go on by it."""
    return {"equilibrium": lambda game: _of_hands(game)}


def _of_hands(game: Poker) -> ValueFunction:
    worth = hand_value(game.name)

    def worths(state: Table) -> tuple[float, ...]:
        one = state.chips[0] + float(worth(state))
        return one, -one

    return PositionValue("equilibrium", worths, CHIPS)


def of_dilemma(game: Dilemma) -> ValueFactories:
    """The values of the dilemma: `mean-1`, where there is a coin."""
    return {"mean-1": MeanPayoff} if game.noise or game.go_on is not None else {}


class MeanPayoff(ValueFunction):
    """A round is worth what it pays; rounds to come are each worth the mean of those so far, the one under way as it is
    expected to end. So the end's coin gives or takes that mean, and noise only what it pays at once.
    """

    name = "mean-1"
    unit = PAYOFFS

    def __init__(self, game: Dilemma) -> None:
        self._rounds = game.rounds
        self._go_on = 1.0 if game.go_on is None else game.go_on / PARTS

    def luck(self, before: Rounds, outcomes: Outcomes, after: Rounds) -> tuple[float, ...]:
        to_come = self._to_come(after) - sum(float(chance) * self._to_come(state) for chance, state in outcomes)
        luck = []
        for seat in (0, 1):
            paid = float(sum((chance * state.payoffs[seat] for chance, state in outcomes), Fraction(0)))
            luck.append(after.payoffs[seat] - paid + to_come * paid / after.at)
        return tuple(luck)

    def _to_come(self, state: Rounds) -> float:
        """How many rounds are expected after this one."""
        left = self._rounds - state.at
        if state.over or left == 0:
            return 0.0
        return float(left) if self._go_on == 1 else (1 - self._go_on**left) / (1 - self._go_on)
