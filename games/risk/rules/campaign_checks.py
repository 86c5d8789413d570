"""Legality of the campaign's moves, with error messages that say what would be legal."""

from __future__ import annotations

from typing import NamedTuple

from games.risk.rules.board import Board
from games.risk.rules.campaign_moves import DRAFT_EXAMPLE, Attack, Draft, Move
from protocol.display import list_first
from protocol.games.parsing import raise_illegal


class Position(NamedTuple):
    """A position: the owner and troops of each territory, and the state of the turn.

    - `phase`: "draft" or "attack".
    - `units`: the number of units to place in a draft.
    - `out`: the seats that are out, the first to leave first.
    - `seat`: the seat to move; once the game is over, the seat that would move next.
    """

    owner: tuple[int, ...]
    troops: tuple[int, ...]
    phase: str
    units: int
    attacks_left: int
    round: int
    out: tuple[int, ...]
    seat: int
    at: int


def check_move(board: Board, state: Position, move: Move) -> None:
    """Raise `IllegalMove` if a move is illegal. The message says what would be legal."""
    if state.phase == "draft":
        if not isinstance(move, Draft):
            raise_illegal(f"a turn begins with a draft: {state.units} units to place, as in {DRAFT_EXAMPLE}")
        _check_draft(board, state, move)
    elif isinstance(move, Draft):
        raise_illegal(f"the draft of this turn is done: attack ({state.attacks_left} left) or end")
    elif isinstance(move, Attack):
        _check_attack(board, state, move)


def _check_draft(board: Board, state: Position, move: Draft) -> None:
    named: set[int] = set()
    for at, count in move.units:
        _check_place(board, at)
        if state.owner[at] != state.seat:
            own = list_first(to for to, held in enumerate(state.owner) if held == state.seat)
            raise_illegal(f"{_describe_territory(board, state, at)} is not yours to draft on; yours: {own}")
        if at in named:
            raise_illegal(f"territory {board.label(at)} is there twice: a draft has each territory once")
        if count < 1:
            raise_illegal(f"territory {board.label(at)} gets {count} units: at least 1, or leave it out")
        named.add(at)
    placed = sum(count for _, count in move.units)
    if placed != state.units:
        raise_illegal(f"the draft places {placed} units: there are exactly {state.units} to place")


def _check_attack(board: Board, state: Position, move: Attack) -> None:
    to, source, units = move
    _check_place(board, source)
    _check_place(board, to)
    here = _describe_territory(board, state, source)
    if state.owner[source] != state.seat:
        raise_illegal(f"{here} is not yours to attack from; can attack: {list_first(_possible_sources(board, state))}")
    enemies = _enemies(board, state, source)
    nearby = f"enemies next to {source}: {list_first(enemies)}"
    if to not in board.neighbours[source]:
        raise_illegal(f"territory {board.label(source)} has no border with {board.label(to)}; {nearby}")
    if to not in enemies:
        raise_illegal(f"{_describe_territory(board, state, to)} is your own; {nearby}")
    most = state.troops[source] - 1
    if most < 1:
        raise_illegal(
            f"{here} cannot attack: 1 has to stay behind; can attack: {list_first(_possible_sources(board, state))}"
        )
    if not 1 <= units <= most:
        raise_illegal(f"{here} can attack with 1 to {most} units, not {units}")


def _check_place(board: Board, territory: int) -> None:
    if not 0 <= territory < len(board):
        raise_illegal(f"there is no territory {territory}: they are 0 to {len(board) - 1}")


def _enemies(board: Board, state: Position, source: int) -> list[int]:
    return [to for to in board.neighbours[source] if state.owner[to] != state.seat]


def _possible_sources(board: Board, state: Position) -> list[int]:
    own = [at for at, held in enumerate(state.owner) if held == state.seat and state.troops[at] > 1]
    return [at for at in own if _enemies(board, state, at)]


def _describe_territory(board: Board, state: Position, territory: int) -> str:
    troops = f"{state.troops[territory]} troop{'s' if state.troops[territory] > 1 else ''}"
    return f"territory {board.label(territory)}, seat {state.owner[territory]}'s with {troops},"
