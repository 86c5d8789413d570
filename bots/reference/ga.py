"""`ga`: alpha-beta with weights that a genetic algorithm has found."""

from __future__ import annotations

from typing import Any

from bots.reference.alphabeta import AlphaBeta


class Ga(AlphaBeta):
    """Plays Risk with the weights of the features tuned on the game it plays, made by `arena-bot tune`.

    In a campaign, whose usual evaluation is another, they count with `eval=features`.
    """

    def __init__(self, name: str, version: str = "", *, weights: str = "adjusted", **settings: Any) -> None:
        super().__init__(name, version, weights=weights, **settings)
