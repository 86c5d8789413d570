"""The machine-learning encoding of poker with one card for each seat: states as vectors, moves as action numbers."""

from __future__ import annotations

import numpy as np

from bots.environments.encodings import Encoding, Vector
from games.poker.rules import MOVES, RAISE, Poker, PokerState, letter_of
from protocol.games.base import Game


class PokerEncoding(Encoding[PokerState, str]):
    """The encoding of poker. An action is a move: fold, check, call, bet and, if there are raises, raise.

    A vector has one-hot blocks. The first is the rank of the seat's own card, the second is the rank of the public
    card, if the game has one. Then each betting round has a block for each of its possible moves in order, with the
    action taken.

    Three numbers follow: what the seat and the opponent have paid into the pot, as fractions of the maximum, and
    whether the seat acts first.
    """

    def __init__(self, rules: Game[PokerState, str]) -> None:
        assert isinstance(rules, Poker)
        self._rules = rules
        self._moves = [move for move in MOVES if move != RAISE or rules.max_bets_per_round > 1]
        self._letters = {letter_of(move): number for number, move in enumerate(self._moves)}
        self.actions = len(self._moves)
        self._ranks = len(rules.ranks_of_cards)
        self._rounds, self._max_bets = len(rules.stakes), rules.max_bets_per_round + 2
        cards = self._ranks * (1 + (self._rounds > 1))
        self._bets = cards
        self.size = cards + self._rounds * self._max_bets * self.actions + 3
        self._max_payment = -rules.least_payoffs[0]

    def vector(self, state: PokerState, seat: int) -> Vector:
        rules, vector = self._rules, np.zeros(self.size, np.float32)
        own = None if state.cards is None else state.cards[seat]
        if own is not None:
            vector[rules.rank_of(own)] = 1
        if state.public is not None:
            vector[self._ranks + rules.rank_of(state.public)] = 1
        for number, moves in enumerate(state.bets):
            for at, letter in enumerate(moves):
                vector[self._bets + (number * self._max_bets + at) * self.actions + self._letters[letter]] = 1
        vector[-3:] = (
            state.paid[seat] / self._max_payment,
            state.paid[1 - seat] / self._max_payment,
            state.hand % 2 == seat,
        )
        return vector

    def moves(self, state: PokerState) -> dict[int, str]:
        return {self._moves.index(move): move for move in self._rules.legal_moves(state)}
