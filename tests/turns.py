"""Turns as a bot gets them, and games between bots without an arena."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bots.client.bot import Bot, Choice, Turn, seeded
from protocol.dice import Dice
from protocol.games.base import Game


def turn(
    rules: Game[Any, Any],
    state: Any,
    *,
    seed: str = "s",
    match: str = "m-1",
    bank_ms: int = 60_000,
    received: float = 1e15,
) -> Turn:
    """`state` as a bot gets it. `received` in the far future keeps a slow machine from cutting the thought short."""
    seat = rules.to_move(state)
    assert seat is not None
    legal, options = rules.legal_moves_for_turn(state)
    return Turn(
        match=match,
        seat=seat,
        ply=rules.ply(state),
        state=rules.encode_state(state),
        legal=legal,
        options=options,
        events=[],
        players=[],
        clock_ms=[bank_ms] * rules.seats,
        increment_ms=0,
        rules=rules,
        position=state,
        random=seeded(seed, match, rules.ply(state)),
        received=received,
    )


def move_of(chosen: Mapping[str, Any] | Choice) -> Mapping[str, Any]:
    return chosen.move if isinstance(chosen, Choice) else chosen


def play(
    rules: Game[Any, Any], bots: Sequence[Bot], state: Any, seed: str = "s", key: bytes = b""
) -> tuple[Any, list[Any]]:
    """The finished state and the moves; an illegal move raises. Each seat draws for itself."""
    moves = []
    while (seat := rules.to_move(state)) is not None:
        move = rules.decode_move(move_of(bots[seat].choose(turn(rules, state, seed=seed, match=str(seat)))))
        moves.append(move)
        state = rules.apply(state, move, Dice(key, rules.ply(state)))[0]
    return state, moves
