"""Searches for any game of protocol.games, which return value, best move and principal variation, and count nodes.

base.py has what all share; alpha_beta.py, expectiminimax.py and and_or_labelling.py are the searches. kernels.py is
the registry of searches of particular games; `risk` has those of Risk.
"""

from bots.evaluation.base import WIN
from bots.search.alpha_beta import TranspositionTable, alphabeta, star1
from bots.search.and_or_labelling import Status, status
from bots.search.base import ENDLESS, Found, HasChance, Limit, LimitReached, deepen, win_value
from bots.search.expectiminimax import expectiminimax, minimax, negamax

__all__ = [
    "ENDLESS",
    "WIN",
    "Found",
    "HasChance",
    "Limit",
    "LimitReached",
    "Status",
    "TranspositionTable",
    "alphabeta",
    "deepen",
    "expectiminimax",
    "minimax",
    "negamax",
    "star1",
    "status",
    "win_value",
]
