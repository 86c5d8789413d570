"""The value function that measures luck in the dilemma, where noise and the end of a match may be random.

It is the chance part of AIVAT (Burch, Schmid, Moravčík, Morrill and Bowling, 2018): subtracting luck does not change
the mean of payoffs.
"""

from __future__ import annotations

from fractions import Fraction

from games.dilemma.rules import CHANCE_DENOMINATOR, Dilemma, DilemmaState
from measuring.value_function import Outcomes, ValueFactories, ValueFunction

PAYOFFS_UNIT = "in payoffs"
"""The text that names the unit of luck in the dilemma."""


def dilemma_values(game: Dilemma) -> ValueFactories:
    """Return the dilemma's value functions by name: `mean-1` if the config has noise or a random end, else none."""
    return {"mean-1": MeanPayoffValue} if game.noise or game.go_on is not None else {}


class MeanPayoffValue(ValueFunction):
    """A value function: the payoffs so far, plus the expected number of rounds to come times the mean payoff of a
    round.

    The mean is taken over the rounds played, with the expected payoff of the current round in place of its real payoff.
    So the luck in the draw that may end the match is this mean times the number of expected rounds gained or lost.
    Noise only counts by the payoff of its own round.
    """

    name = "mean-1"
    unit = PAYOFFS_UNIT

    def __init__(self, game: Dilemma) -> None:
        self._rounds = game.rounds
        self._go_on = 1.0 if game.go_on is None else game.go_on / CHANCE_DENOMINATOR

    def luck(self, before: DilemmaState, outcomes: Outcomes, after: DilemmaState) -> tuple[float, ...]:
        to_come = self._expected_rounds_left(after) - sum(
            float(chance) * self._expected_rounds_left(state) for chance, state in outcomes
        )
        luck = []
        for seat in (0, 1):
            paid = float(sum((chance * state.payoffs[seat] for chance, state in outcomes), Fraction(0)))
            luck.append(after.payoffs[seat] - paid + to_come * paid / after.at)
        return tuple(luck)

    def _expected_rounds_left(self, state: DilemmaState) -> float:
        left = self._rounds - state.at
        if state.over or left == 0:
            return 0.0
        return float(left) if self._go_on == 1 else (1 - self._go_on**left) / (1 - self._go_on)
