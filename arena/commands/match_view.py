"""A match as text for a terminal: a board with what happened below it, clocks, how it ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from textwrap import wrap

from measuring import score_format
from protocol.display import counted, printable
from protocol.games import payoff_unit
from protocol.reasons import FAILED, PLAYED_OUT
from referee.record import Header

Failures = Mapping[int, str]
NONE_FAILED: Failures = {}


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


def outcome(
    game: str,
    reason: str,
    plies: int,
    seats: Iterable[tuple[int, str, str, float | None]],
    failures: Failures = NONE_FAILED,
) -> list[str]:
    """How a match of a game ended; of each seat, in their order, its rank, its bot, its reason and, where that counts,
    its mean payoff: best first.

    `failures` says by seat how the programs of bots failed.
    """
    lines = [f"{'a program failed' if reason == FAILED else reason} after {counted(plies, 'ply', 'plies')}"]
    for number, (rank, bot, why, payoff) in sorted(enumerate(seats), key=lambda seat: seat[1][0]):
        told = "" if why in PLAYED_OUT else f" ({seat_reason(why, failures.get(number))})"
        paid = "" if payoff is None else f"  {score_format.payoff(payoff)} a {payoff_unit(game)}"
        lines.append(f"  {rank}. {bot}{told}{paid}")
    return lines


def seat_reason(reason: str, failure: str | None = None) -> str:
    """Why a seat left, in a few words, with how its program failed."""
    if reason != FAILED:
        return reason
    return "its program failed" + (f": {printable(failure)}" if failure else "")
