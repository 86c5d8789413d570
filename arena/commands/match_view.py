"""A match as text for a terminal: a board with what happened below it, clocks, how it ended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap

from arena.commands.output import counted
from protocol.reasons import PLAYED_OUT
from referee.record import Header


def frame(board: str, title: str, move: str, header: Header, clock: Sequence[int], width: int) -> list[str]:
    """A board, below it the title, what happened last, and the clocks in milliseconds, in lines of this width.

    What happened stays in its place from board to board.
    """
    return [*board.split("\n"), "", title, *wrap(move, width), *clocks(header, clock, width)]


def clocks(header: Header, clock: Sequence[int], width: int) -> list[str]:
    """The seconds that every seat has left, of milliseconds, in lines of this width."""
    words = "s left:"
    left = [words]
    for seat, (player, ms) in enumerate(zip(header.seats, clock, strict=True)):
        one = f"  {seat} {player.bot} {ms / 1000:.1f}"
        if len(left[-1]) + len(one) > width:
            left.append(" " * len(words))
        left[-1] += one
    return left


def outcome(reason: str, plies: int, seats: Iterable[tuple[int, str, str]]) -> list[str]:
    """How a match ended; of each seat its rank, its bot and its reason, best first."""
    lines = [f"{reason} after {counted(plies, 'ply', 'plies')}"]
    for rank, bot, why in sorted(seats, key=lambda seat: seat[0]):
        lines.append(f"  {rank}. {bot}" + ("" if why in PLAYED_OUT else f" ({why})"))
    return lines
