"""Where the units of a campaign's draft go: by the draft rule, where the evaluation likes them best, by lot, or all to
the front.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bots.search.risk.flat_position import INDEX, OWNER, ROWS, SEAT, TERRITORIES, TROOPS, WIDTH, peek, put
from bots.search.risk.settings import Drafting
from machine.compiled import entry, zeros
from protocol.games.risk.campaign import Campaign, Draft, Move, Position
from protocol.games.risk.draft import territories_by_pressure

ALIKE = 0.1
"""Values no further apart are equal: rounding in `state` comes to some hundredths, of 900,000."""


def drafted(
    rules: Campaign,
    position: Position,
    how: Drafting,
    below: Callable[[int], int] | None,
    board: Any,
    state: Any,
    scale: Any,
) -> Move:
    """The draft of the seat to move. `board`, `state` (which may change) and `scale` are the position in flat arrays,
    and what `greedy` values. Raises `ValueError` for a `random` one without `below`.
    """
    if how == "greedy":
        counts = zeros(len(rules.map))
        place_best(board, state, scale, counts, position.units)
        return Draft(tuple((at, int(count)) for at, count in enumerate(counts) if count))
    if how == "random":
        if below is None:
            raise ValueError("a random draft needs below, which it is drawn with")
        return rules.sample(position, below)
    if how == "front":
        front = next(
            iter(territories_by_pressure(rules.map.neighbours, position.owner, position.troops, position.seat))
        )
        return Draft(((front, position.units),))
    return rules.legal_moves(position)[0]


@entry
def place_best(board: Any, state: Any, scale: Any, counts: Any, units: int) -> None:
    """Place unit by unit, each on the own cell where the evaluation gains most, the first of equals; add to `counts`
    how many every territory gets.
    """
    seat = state[SEAT]
    for _ in range(units):
        best, chosen = -float("inf"), ROWS
        for at in range(ROWS, ROWS + WIDTH * board[TERRITORIES], WIDTH):
            if state[at + OWNER] == seat:
                found = peek(board, state, scale, at, seat, state[at + TROOPS] + 1)
                if found > best + ALIKE:
                    best, chosen = found, at
        put(board, state, chosen, seat, state[chosen + TROOPS] + 1)
        counts[board[chosen + INDEX]] += 1
