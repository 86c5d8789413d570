"""The value function of campaigns with more than two seats, made of shares of territories, units and reach.

Shares sum to 1 over the seats and are computed in the same way for each seat. So the value is symmetric, and one seat's
gain is the other seats' loss.

The luck of seat i in an event is the sum over the kinds of share k of c_k · (s_ki(after) − Σ p s_ki(outcome)). Here
s_ki is the seat's share of kind k in a position, and p the probability of an outcome. The factor is c_k = always_k +
open_k · (seats that still have a territory / all seats), with constants always_k and open_k. It is known before the
throw, so luck is unbiased for all constants.
"""

from __future__ import annotations

from collections.abc import Sequence

from games.risk.rules.campaign import Campaign, Position
from measuring.value_function import Outcomes, ValueFunction

SHARE_NAMES = ("territories", "units", "reach")
"""The quantities of which a seat has a share. `reach` is the sum over territories of troops times borders."""

Rows = list[list[float]]
"""The type of a table with a row for each of `SHARE_NAMES`, each with a number for each seat."""


class ShareValue(ValueFunction):
    """A value function that measures luck by a seat's shares of territories, units and reach, with the formula at the
    top of this module. `constants` has always_k and open_k for each of `SHARE_NAMES`.
    """

    def __init__(self, name: str, game: Campaign, constants: Sequence[tuple[float, float]]) -> None:
        self.name = name
        self._game = game
        self._constants = constants

    def luck(self, before: Position, outcomes: Outcomes, after: Position) -> tuple[float, ...]:
        share = count_seats_in(before) / self._game.seats
        given = [0.0] * self._game.seats
        for (always, more), row in zip(
            self._constants, luck_of_shares(self._game, before, outcomes, after), strict=True
        ):
            weight = always + more * share
            for seat, part in enumerate(row):
                given[seat] += weight * part
        return tuple(given)


def count_seats_in(position: Position) -> int:
    """Return how many seats have a territory."""
    return len(set(position.owner))


def luck_of_shares(game: Campaign, before: Position, outcomes: Outcomes, after: Position) -> Rows:
    """Return the luck of each seat in each kind of share: its share in the position `after`, less the mean of its share
    over all possible outcomes. A row for each of `SHARE_NAMES` has a number for each seat.
    """
    neighbours = game.map.neighbours
    sums: Rows = [[0.0] * game.seats for _ in SHARE_NAMES]
    for at, (holder, troops) in enumerate(zip(before.owner, before.troops, strict=True)):
        _add(sums, holder, troops, len(neighbours[at]), 1)
    rows: Rows = [[0.0] * game.seats for _ in SHARE_NAMES]
    for chance, state in outcomes:
        weight = (state == after) - float(chance)
        come = [row[:] for row in sums]
        pairs = zip(before.owner, state.owner, before.troops, state.troops, strict=True)
        for at, (held, holds, had, has) in enumerate(pairs):
            if held != holds or had != has:
                _add(come, held, had, len(neighbours[at]), -1)
                _add(come, holds, has, len(neighbours[at]), 1)
        for row, found in zip(rows, come, strict=True):
            part = weight / sum(found)
            for seat, number in enumerate(found):
                row[seat] += part * number
    return rows


def _add(sums: Rows, seat: int, troops: int, borders: int, times: int) -> None:
    territories, units, reach = sums
    territories[seat] += times
    units[seat] += times * troops
    reach[seat] += times * troops * borders
