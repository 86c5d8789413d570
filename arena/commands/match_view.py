"""Renders a match as text for a terminal: the board, the last event, the clocks, and the outcome."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from textwrap import wrap

from measuring.payoffs import format_payoff
from protocol.display import escape_unprintable, format_count
from protocol.games import payoff_unit
from protocol.reasons import FAILED, NATURAL_ENDINGS
from referee.record import Header

Failures = Mapping[int, str]
NO_FAILURES: Failures = {}
"""An empty mapping, for a match in which no bot's program failed."""


def format_frame(
    board: str, title: str, event_text: str, header: Header, clock: Sequence[int], width: int
) -> list[str]:
    """Return the lines of a board with its title, the last event, and the clocks (in milliseconds), wrapped to `width`.

    The last event stands at the same line for every board.
    """
    return [*board.split("\n"), "", title, *wrap(event_text, width), *format_clocks(header, clock, width)]


def format_clocks(header: Header, clock: Sequence[int], width: int) -> list[str]:
    """Return the lines that show each seat's seconds left, wrapped to `width`; `clock` is in milliseconds."""
    words = "s left:"
    left = [words]
    for seat, (player, ms) in enumerate(zip(header.seats, clock, strict=True)):
        one = f"  {seat} {player.bot} {ms / 1000:.1f}"
        if len(left[-1]) + len(one) > width:
            left.append(" " * len(words))
        left[-1] += one
    return left


def format_outcome(
    game: str,
    reason: str,
    plies: int,
    seats: Iterable[tuple[int, str, str, float | None]],
    failures: Failures = NO_FAILURES,
) -> list[str]:
    """Return the lines of a match's outcome, best seat first. Each seat is (rank, bot, why it left, mean payoff or
    None).

    `failures` maps a seat whose bot's program failed to a description of the failure.
    """
    lines = [f"{'a program failed' if reason == FAILED else reason} after {format_count(plies, 'ply', 'plies')}"]
    for number, (rank, bot, why, payoff) in sorted(enumerate(seats), key=lambda seat: seat[1][0]):
        told = "" if why in NATURAL_ENDINGS else f" ({format_seat_reason(why, failures.get(number))})"
        paid = "" if payoff is None else f"  {format_payoff(payoff)} a {payoff_unit(game) or 'round'}"
        lines.append(f"  {rank}. {bot}{told}{paid}")
    return lines


def format_seat_reason(reason: str, failure: str | None = None) -> str:
    """Return in words why a seat left the match, and how its program failed if that was the reason."""
    if reason != FAILED:
        return reason
    return "its program failed" + (f": {escape_unprintable(failure)}" if failure else "")
