"""The value function that measures luck in poker, where cards are dealt.

It is the chance part of AIVAT (Burch, Schmid, Moravčík, Morrill and Bowling, 2018): subtracting luck does not change
the mean of payoffs.
"""

from __future__ import annotations

from games.poker.grader import hand_value_function
from games.poker.rules import Poker, PokerState
from measuring.value_function import PositionValue, ValueFactories, ValueFunction

CHIPS_UNIT = "chips"
"""The unit of luck in poker."""


def poker_values(game: Poker) -> ValueFactories:
    """Return the value functions of poker by name. The only one is `equilibrium`, the current hand's value in
    equilibrium.
    """
    return {"equilibrium": lambda game: _hand_values(game)}


def _hand_values(game: Poker) -> ValueFunction:
    worth = hand_value_function(game.name)

    def values_by_seat(state: PokerState) -> tuple[float, ...]:
        one = state.chips[0] + float(worth(state))
        return one, -one

    return PositionValue("equilibrium", values_by_seat, CHIPS_UNIT)
