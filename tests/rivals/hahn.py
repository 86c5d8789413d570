"""Units to the border, attacks in full force at more than even odds: the heuristics that won Hahn's comparison.

F. Hahn, Evaluating Heuristics in the Game Risk: An Artificial Intelligence Perspective (Maastricht, 2010): a round
robin of heuristics found best to supply and to reinforce the borders, and to attack with full force where the chance to
win the battle is above one half. Which border and which battle, its abstract leaves open: here the border that enemies
threaten most for its strength, and the likeliest victory.
"""

from __future__ import annotations

from collections.abc import Mapping

from rival import Rival, Strike, View

from bots import run

EVEN = 0.5


class Hahn(Rival):
    """See the module."""

    def place(self, view: View, units: int) -> Mapping[int, int]:
        return {max(view.border(), key=lambda at: self._threat(view, at)): units}

    def strike(self, view: View) -> Strike | None:
        odds = {strike: view.battle(strike.units, view.troops[strike.to]).chance for strike in view.strikes()}
        best = max(odds, key=lambda strike: odds[strike], default=None)
        return best if best is not None and odds[best] > EVEN else None

    def _threat(self, view: View, at: int) -> float:
        return sum(view.troops[enemy] for enemy in view.enemies(at)) / view.troops[at]


run(Hahn("hahn"))
