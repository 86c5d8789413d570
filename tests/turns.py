"""Turns as a bot gets them, simple bots, and games between bots without an arena."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bots.client.bot import Bot, Choice, Turn, make_turn_rng
from protocol.dice import Dice
from protocol.games.base import Game
from protocol.games.simultaneous import SimultaneousGame
from protocol.messages import CHANCE, Event


class First(Bot):
    """Makes the first move there is."""

    def choose(self, turn: Turn) -> Mapping[str, Any] | Choice:
        return turn.legal[0]


class Chooses(Bot):
    """Makes the move that a function returns."""

    def __init__(self, choose: Callable[[Turn], Any], name: str = "mine") -> None:
        super().__init__(name)
        self._choose = choose

    def choose(self, turn: Turn) -> Any:
        return self._choose(turn)


def turn(
    rules: Game[Any, Any],
    state: Any,
    *,
    seed: str = "s",
    match: str = "m-1",
    bank_ms: int = 60_000,
    received: float = 1e15,
    seat: int | None = None,
    events: Sequence[Event] = (),
) -> Turn:
    """`state` as a bot gets it, on the seat that is first to move unless told. `received` in the far future keeps a
    slow machine from cutting the thought short.
    """
    seat = rules.to_move(state) if seat is None else seat
    assert seat is not None
    legal, options = rules.legal_moves_for_turn(state)
    return Turn(
        match=match,
        seat=seat,
        ply=rules.ply(state),
        state=rules.encode_state(state),
        legal=legal,
        options=options,
        events=events,
        players=[],
        clock_ms=[bank_ms] * rules.seats,
        increment_ms=0,
        rules=rules,
        position=state,
        random=make_turn_rng(seed, match, rules.ply(state)),
        received=received,
    )


def move_of(chosen: Mapping[str, Any] | Choice) -> Mapping[str, Any]:
    return chosen.move if isinstance(chosen, Choice) else chosen


def play(
    rules: Game[Any, Any], bots: Sequence[Bot], state: Any, seed: str = "s", key: bytes = b""
) -> tuple[Any, list[Any]]:
    """The finished state and the moves (in rounds by seat); an illegal move raises. Each seat draws for itself."""
    moves = []
    while (seat := rules.to_move(state)) is not None:
        dice = Dice(key, rules.ply(state))
        if isinstance(rules, SimultaneousGame):
            state, played = _round(rules, bots, state, seed, dice)
            moves.append(played)
            continue
        if seat == CHANCE:
            state = rules.apply_chance(state, dice)[0]
            continue
        move = rules.decode_move(move_of(bots[seat].choose(turn(rules, state, seed=seed, match=str(seat)))))
        moves.append(move)
        state = rules.apply(state, move, dice)[0]
    return state, moves


def _round(
    rules: SimultaneousGame[Any, Any], bots: Sequence[Bot], state: Any, seed: str, dice: Dice
) -> tuple[Any, dict[int, Any]]:
    """The state after all have chosen, and what they did by seat."""
    chosen = {
        seat: rules.decode_move(move_of(bots[seat].choose(turn(rules, state, seed=seed, match=str(seat), seat=seat))))
        for seat in rules.movers(state)
    }
    for seat, move in chosen.items():
        rules.check_move(state, seat, move)
    return rules.resolve_round(state, chosen, dice)[0], chosen
