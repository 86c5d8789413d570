"""Moves of poker by an equilibrium strategy, for the bot `perfect`."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from bots.client.bot import Choice, Turn
from games.poker.strategies import equilibrium_of, knowledge_of


def choose(turn: Turn) -> Choice:
    """Return a move drawn with the equilibrium's probabilities. The choice has no value, because a value would reveal
    the card.
    """
    rules = turn.rules
    chances = [float(chance) for chance in move_probabilities(turn)]
    (move,) = turn.random.choices(rules.legal_moves(turn.position), chances)
    return Choice(rules.encode_move(move))


def move_probabilities(turn: Turn) -> Sequence[float | Fraction]:
    """Return the equilibrium's probability of each legal move, in the order of the legal moves."""
    return equilibrium_of(turn.rules.name)[knowledge_of(turn.rules, turn.position)]
