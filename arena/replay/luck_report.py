"""The luck in a record, as numbers and as text: the luck of each move that threw dice, and the total."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from measuring.luck import ChanceEvent, Luck, luck_of
from measuring.value_function import NoLuck
from measuring.value_registry import load_value
from protocol.messages import CHANCE
from referee.record import Record
from referee.replay import replay

LuckByMove = Mapping[tuple[int, int], float]
"""The points that dice gave the seat that moved. The key is (ply, seat)."""

LuckTextByMove = Mapping[tuple[int, int], str]
"""The luck of each move, deal or round, as text for a table. The key is (ply, seat)."""


def record_luck(record: Record, value: str | None = None) -> Luck | None:
    """Return the luck of a match; None if its game has no luck or no value function.

    `value` names the value function; None takes the best one. Raise `UsageFault` if the game does not have it, and
    `BadRecord` if the record is wrong.
    """
    _, course = next(replay(record))
    by = load_value(course.game, value)
    return None if by.name == NoLuck.name else luck_of(record, by)


def luck_by_move(luck: Luck | None) -> LuckByMove:
    """Return the luck of each move that threw dice."""
    return (
        {}
        if luck is None
        else {(event.ply, event.seat): event.luck[event.seat] for event in luck.events if event.seat != CHANCE}
    )


def luck_text_by_move(luck: Luck | None) -> LuckTextByMove:
    """Return the luck of each event as signed numbers. For deals and rounds, the text has a number for each seat."""
    return {} if luck is None else {(event.ply, event.seat): _format_luck(event) for event in luck.events}


def _format_luck(event: ChanceEvent) -> str:
    return " ".join(map(format_signed, event.luck if event.seat == CHANCE else event.luck[event.seat :][:1]))


def format_signed(number: float, digits: int = 3) -> str:
    """Format a number with its sign, such as `+0.410`. A number that rounds to zero has a plus."""
    return f"{number:+z.{digits}f}"


def summarise_luck(luck: Luck, bots: Sequence[str]) -> str:
    """Say in a sentence how much luck gave each seat; `bots` are the names in seat order."""
    *most, last = (f"{bot} {format_signed(given, 2)}" for bot, given in zip(bots, luck.total, strict=True))
    by = "estimated by" if luck.estimate else "by"
    return f"luck gave {', '.join(most)} and {last} {luck.unit}, {by} {luck.value}"
