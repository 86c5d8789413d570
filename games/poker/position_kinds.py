"""Position kinds of poker. They break down by category how much a bot loses through moves that are not the best. The
categories are the decision to take, the seat's own card and, in games that have one, the public card.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from games.poker.rules import Poker, PokerState


def classifier_of(game: Poker) -> Any:
    """Return a function that returns the categories of a state, such as `own card` with the rank of that card."""

    def classify(state: PokerState) -> Mapping[str, str]:
        card, _, _ = game.information_set(state, state.seat)
        asked = "check or bet" if state.paid[0] == state.paid[1] else "answer a bet"
        found = {"to decide": asked, "own card": "" if card is None else game.ranks_of_cards[card]}
        if len(game.stakes) > 1:
            found["public card"] = (
                "not dealt" if state.public is None else game.ranks_of_cards[game.rank_of(state.public)]
            )
        return found

    return classify
