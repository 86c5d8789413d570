"""Searches for any game of protocol.games. They return value, best move and principal variation, and count nodes.

base.py has the common parts; alpha_beta.py, expectiminimax.py and and_or_labelling.py are the searches. kernels.py
finds the searches for one game alone, which are in the game's package.
"""

from bots.evaluation.base import WIN_VALUE
from bots.search.alpha_beta import TranspositionTable, alphabeta, star1
from bots.search.and_or_labelling import Labelling, label_root
from bots.search.base import (
    MAX_DEPTH,
    ChanceNotSupported,
    DealDue,
    LimitReached,
    SearchLimit,
    SearchResult,
    deepen,
    list_outcomes,
    win_value,
)
from bots.search.expectiminimax import expectiminimax, minimax, negamax

__all__ = [
    "MAX_DEPTH",
    "WIN_VALUE",
    "ChanceNotSupported",
    "DealDue",
    "Labelling",
    "LimitReached",
    "SearchLimit",
    "SearchResult",
    "TranspositionTable",
    "alphabeta",
    "deepen",
    "expectiminimax",
    "label_root",
    "list_outcomes",
    "minimax",
    "negamax",
    "star1",
    "win_value",
]
