"""The luck in a record, for who looks at it: by the move that threw the dice, and in all, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from measuring.luck import ChanceEvent, Luck, luck_of
from measuring.value_function import NoLuck
from measuring.value_registry import value_of
from protocol.messages import CHANCE
from referee.record import Record
from referee.replay import replay

ByMove = Mapping[tuple[int, int], float]
"""By the ply and the seat of a move: the points that its dice gave to that seat."""

ToldByMove = Mapping[tuple[int, int], str]
"""By the ply and the seat of a move, or of no seat: what its dice gave, for a table."""


def record_luck(record: Record, value: str | None = None) -> Luck | None:
    """The luck of a match by the value of that name, or the best there is; None where nothing is thrown or valued.

    Raises `UsageFault` for a value that the game does not have, `BadRecord` as `replay` does.
    """
    _, course = next(replay(record))
    by = value_of(course.game, value)
    return None if by.name == NoLuck.name else luck_of(record, by)


def luck_by_move(luck: Luck | None) -> ByMove:
    """The luck of each move for which dice were thrown."""
    return (
        {}
        if luck is None
        else {(event.ply, event.seat): event.luck[event.seat] for event in luck.events if event.seat != CHANCE}
    )


def luck_told(luck: Luck | None) -> ToldByMove:
    """The same with its sign, and what deals and rounds gave each seat."""
    return {} if luck is None else {(event.ply, event.seat): _told(event) for event in luck.events}


def _told(event: ChanceEvent) -> str:
    return " ".join(map(format_signed, event.luck if event.seat == CHANCE else event.luck[event.seat :][:1]))


def format_signed(number: float, digits: int = 3) -> str:
    """`+0.410`: a number with its sign, which is no minus where only zeros follow."""
    return f"{number:+z.{digits}f}"


def luck_summary(luck: Luck, bots: Sequence[str]) -> str:
    """What luck gave everyone, in a sentence; `bots` are named in seat order."""
    *most, last = (f"{bot} {format_signed(given, 2)}" for bot, given in zip(bots, luck.total, strict=True))
    by = "estimated by" if luck.estimate else "by"
    return f"luck gave {', '.join(most)} and {last} {luck.unit}, {by} {luck.value}"
