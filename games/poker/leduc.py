"""Leduc poker: a deck of six cards in three ranks, one card each and a public one, two rounds of betting."""

from __future__ import annotations

from games.poker.rules import Poker


class Leduc(Poker):
    """Leduc poker, with an ante of 1. Bets and raises are 2 in the first round and 4 in the second, at most two per
    round (Southey et al., 2005).
    """

    name = "leduc"
    title = "Leduc poker"
    about = "Six cards: one for each player and one for both, two rounds of bets."
    ranks_of_cards = "JQK"
    cards_per_rank = 2
    stakes = (2, 4)
    max_bets_per_round = 2
