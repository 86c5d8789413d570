"""Kuhn poker: a deck of three cards, one card each, one bet."""

from __future__ import annotations

from games.poker.rules import Poker


class Kuhn(Poker):
    """Kuhn poker (1950) with ante 1 and bet 1. In equilibrium, the first player loses 1/18 chip per hand on average."""

    name = "kuhn"
    title = "Kuhn poker"
    about = "Three cards, one for each player, one bet: call or fold."
    ranks_of_cards = "JQK"
    cards_per_rank = 1
    stakes = (1,)
    max_bets_per_round = 1
