"""The check of one preset of a game: random games by which its rules are checked and timed."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from arena.commands.rules_timing import OutOfTime, RulesTimer
from protocol.display import short_repr
from protocol.games import guard_game
from protocol.games.base import Game
from protocol.games.turn_game import TurnGame, TurnRules, check_grid, evaluate_state
from referee.contract import ContractBroken, ContractChecker, RandomGame
from referee.rehearsal import rehearse_match

MAX_PRESSED_CELLS = 2
"""Maximum number of cells that a person presses on a page for one move."""


class CheckedPreset(Struct, frozen=True, kw_only=True):
    """The measurements of random games of one preset. Times are the 99th percentile of the calls, in microseconds."""

    game: str
    preset: str
    games: int = 0
    """The number of whole games."""
    plies: int = 0
    longest: int = 0
    """The plies of the longest game."""
    moves: int = 0
    """The largest number of legal moves that was seen."""
    state_bytes: int = 0
    """The largest encoded state that was seen."""
    legal_moves_us: float = 0.0
    apply_us: float = 0.0
    encode_us: float = 0.0
    memory_kib: float = 0.0
    """The memory that one game took at most, in KiB; 0 if there was no time to measure it."""
    unchecked: list[str] = []
    """The checks that there was no time for."""


def check_preset(
    game: Game[Any, Any], games: int, seed: int, timer: RulesTimer, show: Callable[[Callable[[], str]], None]
) -> CheckedPreset:
    """Check the refusals of a game and play it at random, until the time of `timer` is over. `show` gets functions that
    say what is done now. Raise `ContractBroken`.
    """
    checker = ContractChecker(game, clock=time.perf_counter)
    timer.watch(game)
    played: list[RandomGame] = []
    memory = 0

    def play(count: int) -> None:
        while len(played) < count:
            show(lambda: f"random game {len(played) + 1} of {games}, {len(checker.timings.apply):,} plies")
            played.append(checker.check_game(seed + len(played)))

    def play_match() -> None:
        rehearse_match(guard_game(game), seed)

    def measure_memory() -> None:
        nonlocal memory
        tracemalloc.start()  # not while calls are timed, which it slows down
        try:
            with timer.ignore_slow_calls():
                ContractChecker(game).check_game(seed)
            memory = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    steps: dict[str, Callable[[], None]] = {
        "a first game": lambda: play(1),
        "refusals of wrong moves": checker.check_refusals,
        "a match": play_match,
        "more games": lambda: play(games),
        "hidden information": checker.check_hiding,
        "evaluate": lambda: _check_evaluation(game, played[0].states),
        "grid": lambda: _check_grid(game, played[0].states),
        "cells": lambda: _check_cells(game, played[0].states),
        "memory": measure_memory,
    }
    unchecked = list(steps)
    try:
        for name, step in steps.items():
            show(lambda name=name: name)  # type: ignore[misc]
            step()
            unchecked.remove(name)
    except OutOfTime:
        if "more games" in unchecked:
            unchecked[unchecked.index("more games")] = f"{games - len(played)} of {games} games"
        if "a first game" in unchecked:
            unchecked.remove("a first game")
    lengths = [len(one.states) - 1 for one in played]
    timings = checker.timings
    return CheckedPreset(
        game=game.name,
        preset=game.preset or "",
        games=len(played),
        plies=sum(lengths),
        longest=max(lengths, default=0),
        moves=max((one.max_legal_moves for one in played), default=0),
        state_bytes=max((one.max_state_bytes for one in played), default=0),
        legal_moves_us=_percentile_us(timings.legal_moves),
        apply_us=_percentile_us(timings.apply),
        encode_us=_percentile_us(timings.encode),
        memory_kib=round(memory / 1024, 1),
        unchecked=unchecked,
    )


def _check_grid(rules: Game[Any, Any], states: Sequence[Any]) -> None:
    """Check the grids of some states. Raise `RulesError`."""
    if isinstance(rules, TurnRules) and rules.rules_class.grid is not TurnGame.grid:
        for state in states:
            rows = rules.turn_game.grid(state.state)
            check_grid(rows)
            _check_marks(rules, state.state, rows or ())


def _check_marks(rules: TurnRules[Any, Any], state: Any, rows: Sequence[Sequence[str]]) -> None:
    """Check what pages show on the grid of a state of the author's. Raise `ContractBroken`."""
    for cell in rules.turn_game.highlights(state):
        if len(cell) != 2 or cell[0] not in range(len(rows)) or cell[1] not in range(len(rows[cell[0]])):
            raise ContractBroken(
                "highlights",
                f"highlights returns {short_repr(cell)}: it is (row, column) of a cell of the grid, from 0",
            )
    for mark in {mark for row in rows for mark in row if mark}:
        seat = rules.turn_game.seat_of_mark(mark)
        if seat is not None and seat not in range(rules.seats):
            raise ContractBroken(
                "seat_of_mark",
                f"seat_of_mark returns {short_repr(seat)} for {short_repr(mark)}: it is a seat from 0 to "
                f"{rules.seats - 1}, or None",
            )


def _check_cells(rules: Game[Any, Any], states: Sequence[Any]) -> None:
    """Check that people can press each legal move of some states on the page. Raise `ContractBroken`."""
    if not isinstance(rules, TurnRules):
        return
    for state in states:
        for move in rules.legal_moves(state):
            cells = rules.turn_game.cells(move)
            if not all(isinstance(cell, (list, tuple)) and len(cell) == 2 for cell in cells):
                raise ContractBroken(
                    "cells", f"cells returns {short_repr(cells)}: it returns pairs (row, column), such as [(0, 1)]"
                )
            if len(cells) > MAX_PRESSED_CELLS:
                raise ContractBroken(
                    "cells",
                    f"cells returns {len(cells)} cells for {short_repr(move)}: at most {MAX_PRESSED_CELLS}, which are "
                    "pressed one after the other; None stands for any row or column",
                )


def _check_evaluation(rules: Game[Any, Any], states: Sequence[Any]) -> None:
    """Check the author's evaluation of the unfinished states of a game, for each seat. Raise `ContractBroken`."""
    if not isinstance(rules, TurnRules) or rules.rules_class.evaluate is TurnGame.evaluate:
        return
    for state in states:
        for seat in range(rules.seats):
            value = 0.0 if rules.to_move(state) is None else evaluate_state(rules, state, seat)
            if not isinstance(value, (int, float)) or not -1 < value < 1:
                raise ContractBroken(
                    "evaluate", f"evaluate returns {short_repr(value)} for seat {seat}: a number between -1 and 1"
                )


def _percentile_us(seconds: Sequence[float]) -> float:
    """Return the 99th percentile of some times, in microseconds; 0 without any."""
    ordered = sorted(seconds)
    return round(ordered[len(ordered) * 99 // 100] * 1e6, 1) if ordered else 0.0
