"""What luck gave each seat of a match: from its record alone, or along the moves of a game that has none.

Luck is the sum over chance events of v(what came) − E v(what could have come). A battle is one event. The bots' own
lots are their play; a deal is the same for both where starts are paired, and no luck here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from measuring.value_function import ValueFunction
from measuring.value_registry import value_of
from protocol.games.base import Game
from referee.record import Record
from referee.replay import moves, replay

MOST_STATES = 100_000
"""On the way to the outcomes of a throw, at most: a third of a second. Who plays could make it minutes."""


class ChanceEvent(Struct, frozen=True, kw_only=True):
    """What the dice of one move gave each seat, in points; `seat` is whose move it was."""

    ply: int
    seat: int
    luck: tuple[float, ...]


class Luck(Struct, frozen=True, kw_only=True):
    """The luck of a match so far, in points by seat, which sum to 0; `value` is the name of what it was measured by.

    Result less luck is an unbiased estimate of what the bots' play is worth, wherever the match was cut off; it may
    leave [0, 1]. A match that was called off has luck, but no result to take it from. `estimate`: with more than two
    seats the value is a rough guide, by the ply, and not for tables.
    """

    value: str
    estimate: bool
    events: tuple[ChanceEvent, ...]
    total: tuple[float, ...]


def luck_of(record: Record, value: ValueFunction | str | None = None) -> Luck:
    """The luck in a record, by a value, by the one of that name, or by the best there is.

    Raises `UsageFault` as `value_of` does, and `BadRecord` as `replay`.
    """
    lines = replay(record)
    _, course = next(lines)
    by = value if isinstance(value, ValueFunction) else value_of(course.game, value)
    return luck_along(course.game, by, ((moved.before, moved.move, moved.after) for moved in moves(course, lines)))


def luck_along(game: Game[Any, Any], value: ValueFunction, plies: Iterable[tuple[Any, Any, Any]]) -> Luck:
    """The luck in moves, each with the state before and after it; what `luck_at` leaves out is no event."""
    events = []
    for before, move, after in plies:
        luck = luck_at(game, value, before, move, after)
        if luck is not None:
            seat = game.to_move(before)
            assert seat is not None
            events.append(ChanceEvent(ply=game.ply(before), seat=seat, luck=luck))
    total = tuple(sum(event.luck[seat] for event in events) for seat in range(game.seats))
    return Luck(value=value.name, estimate=game.seats > 2, events=tuple(events), total=total)


def luck_at(game: Game[Any, Any], value: ValueFunction, before: Any, move: Any, after: Any) -> tuple[float, ...] | None:
    """What the dice of one move gave each seat, in points; None where none were thrown, and where there are too many
    ways to go through: which throws these are is known before, so to leave them out gives no bias.
    """
    if game.cost(before, move) > MOST_STATES:
        return None
    outcomes = game.outcomes(before, move)
    return value.luck(before, outcomes, after) if len(outcomes) > 1 else None
