"""A position of the campaign."""

from __future__ import annotations

from typing import NamedTuple


class Position(NamedTuple):
    """By territory its owner and its troops; whose turn it is and how far; the seats that are out, first to last.

    `phase` is draft or attack, `units` what there is to place in a draft. When the game is over, `seat` is the lowest
    that is not out.
    """

    owner: tuple[int, ...]
    troops: tuple[int, ...]
    phase: str
    units: int
    attacks_left: int
    round: int
    out: tuple[int, ...]
    seat: int
    at: int
