"""Position kinds of poker: the decision to take, the betting round and the cards in hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from protocol.games.poker import Poker, PokerState


def classifier_of(game: Poker) -> Any:
    """Return a function that classifies the states of a poker game."""

    def classify(table: PokerState) -> Mapping[str, str]:
        card, _, _ = game.information_set(table, table.seat)
        asked = "check or bet" if table.paid[0] == table.paid[1] else "answer a bet"
        found = {"to decide": asked, "own card": "" if card is None else game.ranks_of_cards[card]}
        if len(game.stakes) > 1:
            found["public card"] = (
                "not dealt" if table.public is None else game.ranks_of_cards[game.rank_of(table.public)]
            )
        return found

    return classify
