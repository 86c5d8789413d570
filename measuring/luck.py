"""Measuring the luck of each seat of a match, from the record alone or move by move.

Luck is a sum over chance events: the value of the outcome less the expected value of the possible outcomes. A battle is
one event, and so are a deal of cards and all coins of a round. The bots' own random choices are part of their play. A
random starting position does not count as luck, because paired matches share it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from measuring.value_function import POINTS_UNIT, ValueFunction
from measuring.value_registry import load_value
from protocol.games import rules_faults_of
from protocol.games.base import Game
from protocol.games.simultaneous import SimultaneousGame
from protocol.messages import CHANCE
from referee.record import EventLine, Ply, Record
from referee.replay import replay

MAX_OUTCOME_STATES = 100_000
"""Maximum number of states that are enumerated as the possible outcomes of a throw. Enumerating this many takes about a
third of a second. Without a limit, a player could choose moves that take minutes.
"""


class ChanceEvent(Struct, frozen=True, kw_only=True):
    """The luck of each seat in one event. `seat` is the seat that moved, −1 for a deal or a simultaneous round."""

    ply: int
    seat: int
    luck: tuple[float, ...]


class Luck(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The luck of each seat in a match so far, as measured by the value function named `value`. Luck is in points, and
    the luck of all seats sums to 0. If a game's result is a payoff, luck is in the `unit` of payoffs, and sums to 0 if
    the payoffs do.

    Result less luck is an unbiased estimate of the strength of play, wherever the match is cut off. This estimate may
    lie outside [0, 1]. A void match has luck, but no result to subtract it from. `estimate` is true with more than two
    seats. In that case the value function is only a rough guide to single plies, and by default it does not adjust
    results.
    """

    value: str
    estimate: bool
    events: tuple[ChanceEvent, ...]
    total: tuple[float, ...]
    unit: str = POINTS_UNIT


def luck_of(record: Record, value: ValueFunction | str | None = None) -> Luck:
    """Return the luck in a record. `value` is the value function that measures the luck, or its name. If it is None,
    use the best one.

    Raise `UsageFault` as `load_value` does, `BadRecord` as `replay` does, and `RulesFault` if rules that are not built
    in fail.
    """
    lines = replay(record)
    _, course = next(lines)
    with rules_faults_of(record.header.game):
        by = value if isinstance(value, ValueFunction) else load_value(course.game, value)
        return luck_after(course.game, by, course.state, ((line, after.state) for line, after in lines))


def luck_after(
    game: Game[Any, Any], value: ValueFunction, before: Any, lines: Iterable[tuple[EventLine | None, Any]]
) -> Luck:
    """Return the luck in a match from the state `before` on. `lines` are pairs of a line of the match's record and the
    state after that line.
    """
    return luck_along(game, value, _plies_of_lines(game, before, lines))


def _plies_of_lines(
    game: Game[Any, Any], before: Any, lines: Iterable[tuple[EventLine | None, Any]]
) -> Iterator[tuple[Any, Any, Any]]:
    """Yield the plies that `luck_along` takes. `lines` are pairs of a line of a record and the state after it."""
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
            elif (undealt := game.state_before_deal()) is not None:
                yield undealt, None, after
        before = after


def luck_along(game: Game[Any, Any], value: ValueFunction, plies: Iterable[tuple[Any, Any, Any]]) -> Luck:
    """Return the luck in a sequence of plies, each given as (state before, move, state after)."""
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
    """Return the luck of each seat in one move; None if the move has no chance, or too many outcomes to enumerate.

    The number of outcomes is known before the throw, so it causes no bias to leave out moves with too many outcomes.
    `move` holds all moves by seat for a simultaneous round, and is None for a deal.
    """
    if game.to_move(before) == CHANCE:
        outcomes = game.chance_outcomes(before)
    elif isinstance(game, SimultaneousGame):
        outcomes = game.round_outcomes(before, move)
    elif game.outcome_cost(before, move) > MAX_OUTCOME_STATES:
        return None
    else:
        outcomes = game.outcomes(before, move)
    return value.luck(before, outcomes, after) if len(outcomes) > 1 else None
