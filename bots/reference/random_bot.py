"""The bot `random`, which chooses every legal move with equal probability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from bots.client.bot import Bot, Turn
from protocol.games.wire_game import WireGame


class RandomBot(Bot):
    """Plays uniformly among the legal moves; without the rules, among those that the arena lists."""

    def choose(self, turn: Turn) -> Mapping[str, Any]:
        if turn.options is None or isinstance(turn.rules, WireGame):
            return turn.random.choice(turn.legal)
        return turn.rules.encode_move(turn.rules.sample_move(turn.position, turn.random.randrange))

    def move_probabilities(self, turn: Turn) -> Sequence[Fraction] | None:
        return None if turn.options is not None else [Fraction(1, len(turn.legal))] * len(turn.legal)
