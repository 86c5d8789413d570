"""A map with its armies, drawn for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from protocol.games.risk.board import Board


def draw(board: Board, owner: Sequence[int], troops: Sequence[int]) -> str:
    """The board, at most 80 columns wide; `owner` is −1 where a territory is nobody's."""
    rows = zip(board.territories, owner, troops, strict=True)
    return "\n".join(f"{place.name:<24} {'.' if seat < 0 else seat} {count:>4}" for place, seat, count in rows)
