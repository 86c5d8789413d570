"""What luck gave each seat of a match: from its record alone, or along the moves of a game that has none.

Luck is the sum over chance events of v(what came) − E v(what could have come). A battle is one event, and so are a deal
of cards and all coins of a round. The bots' own lots are their play; a start that is dealt is the same for both where
starts are paired, and no luck here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from measuring.value_function import POINTS, ValueFunction
from measuring.value_registry import value_of
from protocol.games.base import Game
from protocol.games.simultaneous import SimultaneousGame
from protocol.messages import CHANCE
from referee.record import Between, Ply, Record
from referee.replay import replay

MOST_STATES = 100_000
"""On the way to the outcomes of a throw, at most: a third of a second. Who plays could make it minutes."""


class ChanceEvent(Struct, frozen=True, kw_only=True):
    """What the dice of one move gave each seat; `seat` is whose move it was, −1 for a deal and for a round of all."""

    ply: int
    seat: int
    luck: tuple[float, ...]


class Luck(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The luck of a match so far by seat, in points, which sum to 0; `value` is the name of what it was measured by.
    Where payoffs count it is in those, as `unit` says, and sums to 0 if they do.

    Result less luck is an unbiased estimate of what the bots' play is worth, wherever the match was cut off; it may
    leave [0, 1]. A match that was called off has luck, but no result to take it from. `estimate`: with more than two
    seats the value is a rough guide, by the ply, and not for tables.
    """

    value: str
    estimate: bool
    events: tuple[ChanceEvent, ...]
    total: tuple[float, ...]
    unit: str = POINTS


def luck_of(record: Record, value: ValueFunction | str | None = None) -> Luck:
    """The luck in a record, by a value, by the one of that name, or by the best there is.

    Raises `UsageFault` as `value_of` does, and `BadRecord` as `replay`.
    """
    lines = replay(record)
    _, course = next(lines)
    by = value if isinstance(value, ValueFunction) else value_of(course.game, value)
    return luck_after(course.game, by, course.state, ((line, after.state) for line, after in lines))


def luck_after(
    game: Game[Any, Any], value: ValueFunction, before: Any, lines: Iterable[tuple[Between | None, Any]]
) -> Luck:
    """The luck in what happened after a state: the lines of a record, each with the state after it."""
    return luck_along(game, value, _chances(game, before, lines))


def _chances(
    game: Game[Any, Any], before: Any, lines: Iterable[tuple[Between | None, Any]]
) -> Iterator[tuple[Any, Any, Any]]:
    """What `luck_along` takes, of lines, each with the state after it."""
    for line, after in lines:
        if isinstance(line, Ply) and line.event.out is None:
            event = line.event
            if event.moves is not None:
                moves = {seat: game.decode_move(move) for seat, move in enumerate(event.moves) if move is not None}
                yield before, moves, after
            elif event.seat != CHANCE:
                yield before, game.decode_move(event.move), after
            elif event.ply == game.ply(before):
                yield before, None, after
            elif (undealt := game.undealt()) is not None:
                yield undealt, None, after
        before = after


def luck_along(game: Game[Any, Any], value: ValueFunction, plies: Iterable[tuple[Any, Any, Any]]) -> Luck:
    """The luck in moves, each with the state before and after it; what `luck_at` leaves out is no event."""
    events = []
    for before, move, after in plies:
        luck = luck_at(game, value, before, move, after)
        if luck is not None:
            seat = CHANCE if isinstance(game, SimultaneousGame) else game.to_move(before)
            assert seat is not None
            events.append(ChanceEvent(ply=game.ply(before), seat=seat, luck=luck))
    total = tuple(sum(event.luck[seat] for event in events) for seat in range(game.seats))
    return Luck(value=value.name, estimate=game.seats > 2, events=tuple(events), total=total, unit=value.unit)


def luck_at(game: Game[Any, Any], value: ValueFunction, before: Any, move: Any, after: Any) -> tuple[float, ...] | None:
    """What the dice of one move gave each seat; None where none were thrown, and where there are too many ways to go
    through: which throws these are is known before, so to leave them out gives no bias.

    Of a round `move` has all moves by seat; where something is dealt it is None.
    """
    if game.to_move(before) == CHANCE:
        outcomes = game.chance_outcomes(before)
    elif isinstance(game, SimultaneousGame):
        outcomes = game.round_outcomes(before, move)
    elif game.cost(before, move) > MOST_STATES:
        return None
    else:
        outcomes = game.outcomes(before, move)
    return value.luck(before, outcomes, after) if len(outcomes) > 1 else None
