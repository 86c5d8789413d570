"""`ga`: alpha-beta with weights that a genetic algorithm has found."""

from __future__ import annotations

from typing import Any

from bots.reference.alphabeta import AlphaBeta


class Ga(AlphaBeta):
    """Plays Risk with the weights tuned on the game it plays, for the evaluation it uses, made by `arena-bot tune`."""

    def __init__(self, name: str, version: str = "", *, weights: str = "adjusted", **settings: Any) -> None:
        super().__init__(name, version, weights=weights, **settings)
