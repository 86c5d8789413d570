"""Features of a Risk position: sums over a seat's territories, normalised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from games.risk.rules.board import Board
from games.risk.rules.duel import NO_OWNER, Duel
from machine.sums import sum_in_order
from protocol.games.base import Game

DEFAULT_FULL_TROOPS = 10
"""Troops that count as a full territory if the rules set no maximum."""


class Features(NamedTuple):
    """Features of a seat, or their difference between two seats; all are 0 for a seat without territories.

    The first four range from 0 to 1: the share of the territories, the share of all troops, the strength of the
    borders, and 1 minus the share of borders with an enemy. `reach` is the sum over territories of troops times
    borders, scaled to 1 if every territory is full. `front` is the share of all troops that stand next to an enemy.
    """

    territories: float
    units: float
    strength: float
    compactness: float
    reach: float
    front: float


FEATURE_NAMES = Features._fields
"""The names of the features, in the order of the fields of `Features`."""


def measure_features(rules: Game[Any, Any], state: Any, seat: int) -> tuple[float, float, float, float]:
    """Return the first four values of `Features` for a seat."""
    owner, troops = state.owner, state.troops
    own = [territory for territory, holder in enumerate(owner) if holder == seat]
    if not own:
        return 0.0, 0.0, 0.0, 0.0
    strength = game_openness = 0.0
    for territory in own:
        strong, exposed = _borders(rules.map.neighbours[territory], owner, troops, territory)  # type: ignore[attr-defined]
        strength += strong
        game_openness += exposed
    army = sum(troops[territory] for territory in own)
    return len(own) / len(owner), army / sum(troops), strength / len(own), 1 - game_openness / len(own)


def _borders(
    neighbours: Sequence[int], owner: Sequence[int], troops: Sequence[int], territory: int
) -> tuple[float, float]:
    """Return a territory's mean strength against neighbouring enemies, and the share of its neighbours that are
    enemies.
    """
    seat, own = owner[territory], troops[territory]
    shares = [own / (own + troops[other]) for other in neighbours if owner[other] not in (seat, NO_OWNER)]
    return (sum_in_order(shares) / len(shares), len(shares) / len(neighbours)) if shares else (1.0, 0.0)


Sums = list[float]
"""The type of sums over a seat's territories: their number, troops, strength, open borders (to enemies), troops times
borders, and troops at the front.
"""


class PositionSums:
    """A position of two seats that caches each territory's features, so that similar positions are measured quickly."""

    def __init__(self, game: Game[Any, Any], state: Any) -> None:
        full = game.max_troops if isinstance(game, Duel) else DEFAULT_FULL_TROOPS
        self._board: Board = game.map  # type: ignore[attr-defined]
        self._whole = full * sum(map(len, self._board.neighbours))
        self._owner, self._troops = owner, troops = state.owner, state.troops
        self._parts = [self._territory_sums(owner, troops, territory) for territory in range(len(owner))]
        self._sums = [[0.0] * 6, [0.0] * 6]
        for holder, part in zip(owner, self._parts, strict=True):
            if holder != NO_OWNER:
                _add(self._sums[holder], part)

    def seat_difference(self) -> Features:
        """Return the features of seat 0 minus those of seat 1."""
        return self._difference(*self._sums)

    def seat_difference_after(self, owner: Sequence[int], troops: Sequence[int]) -> Features:
        """Return the features of seat 0 minus those of seat 1 in another position on the same map."""
        was, neighbours = self._owner, self._board.neighbours
        pairs = zip(was, owner, self._troops, troops, strict=True)
        changed = [at for at, (held, holds, had, has) in enumerate(pairs) if held != holds or had != has]
        sums = self._sums[0][:], self._sums[1][:]
        for at in {*changed, *(other for territory in changed for other in neighbours[territory])}:
            if was[at] != NO_OWNER:
                _add(sums[was[at]], self._parts[at], -1)
            if owner[at] != NO_OWNER:
                _add(sums[owner[at]], self._territory_sums(owner, troops, at))
        return self._difference(*sums)

    def _territory_sums(self, owner: Sequence[int], troops: Sequence[int], territory: int) -> Sums:
        neighbours = self._board.neighbours[territory]
        own = troops[territory]
        strong, exposed = _borders(neighbours, owner, troops, territory)
        return [1.0, own, strong, exposed, own * len(neighbours), own if exposed else 0.0]

    def _difference(self, first: Sums, second: Sums) -> Features:
        count, army = len(self._owner), first[1] + second[1]
        return Features(
            (first[0] - second[0]) / count,
            (first[1] - second[1]) / army,
            first[2] / (first[0] or 1.0) - second[2] / (second[0] or 1.0),
            (1 - first[3] / first[0] if first[0] else 0.0) - (1 - second[3] / second[0] if second[0] else 0.0),
            (first[4] - second[4]) / self._whole,
            (first[5] - second[5]) / army,
        )


def _add(sums: Sums, part: Sums, times: int = 1) -> None:
    for at, number in enumerate(part):
        sums[at] += times * number
