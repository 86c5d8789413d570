"""The ways to play a campaign that uct reckons with: its own, the raider's, and the rush of a first idea."""

from __future__ import annotations

from typing import Any

from bots.search.risk import field as flat
from bots.search.risk.field import DRAFTING, FOES, NOWHERE, TURN
from bots.search.risk.flat_position import ROWS, TERRITORIES, WIDTH
from bots.search.risk.raiding import advise, raid
from machine.compiled import compiled, entry


@compiled
def rush_site(board: Any, field: Any) -> int:
    """Where the new units go: the first of the territories with the most enemy neighbours."""
    most, chosen = -1, NOWHERE
    for at in range(ROWS, ROWS + WIDTH * board[TERRITORIES], WIDTH):
        if field[at] == field[TURN] and field[at + FOES] > most:
            most, chosen = field[at + FOES], at
    return chosen


@compiled
def rush_attack(board: Any, field: Any) -> tuple[int, int]:
    """From where to where all that can go attack; NOWHERE to end the turn."""
    seat = field[TURN]
    most, source, target = 0, NOWHERE, NOWHERE
    for at in range(ROWS, ROWS + WIDTH * board[TERRITORIES], WIDTH):
        units = field[at + 1] - 1
        if field[at] == seat and units > most and field[at + FOES]:
            for i in range(board[at], board[at + 1]):
                to = board[i]
                if field[to] != seat and units - field[to + 1] > most:
                    most, source, target = units - field[to + 1], at, to
    return source, target


@compiled
def rush(board: Any, field: Any) -> None:
    """Play the turn, or the rest of it."""
    seat, number = field[TURN], field[flat.ROUND]
    if field[flat.DRAFTING]:
        flat.place(field, rush_site(board, field), field[flat.UNITS])
    while not field[flat.OVER] and field[TURN] == seat and field[flat.ROUND] == number:
        source, target = rush_attack(board, field)
        if source == NOWHERE:
            flat.end_turn(board, field)
        else:
            flat.attack(board, field, source, target, field[source + 1] - 1)


RAID, RUSH, POLICIES = range(3)
"""The policies, and how many there are."""


@compiled
def play_turn(board: Any, field: Any, odds: Any, weights: Any, path: Any, policy: int) -> None:
    """Play the turn, or the rest of it, by a policy."""
    if policy == RUSH:
        rush(board, field)
    else:
        raid(board, field, odds, weights, path)


@entry
def foretell(board: Any, field: Any, odds: Any, weights: Any, path: Any, policy: int) -> tuple[int, int]:
    """What a policy does next: drafts to a cell (and NOWHERE), attacks from one to another, or ends (both NOWHERE)."""
    if policy == RUSH:
        return (rush_site(board, field), NOWHERE) if field[DRAFTING] else rush_attack(board, field)
    source, target, _ = advise(board, field, odds, weights, path)
    return source, target
