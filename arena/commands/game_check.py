"""`arena game check`: plays a game at random and checks that it keeps the contract of a game."""

from __future__ import annotations

import inspect
import sys
import time
import tracemalloc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from traceback import extract_tb
from typing import Any

from msgspec import Struct

from arena.commands.file_watch import run_at_every_save
from arena.commands.misspelled_names import find_misspelled_names
from arena.commands.output import print_list
from machine.game_discovery import GameFileFault, add_game_file, file_of, is_game_file, line_of, locate_failures
from machine.terminal import say
from protocol.display import short_repr
from protocol.errors import ArenaFault, Fault, UsageFault
from protocol.games import game_class, is_builtin_game, load_game
from protocol.games.base import Game
from protocol.games.turn_game import RulesError, TurnGame, TurnRules, evaluate_state
from referee.contract import ContractBroken, ContractChecker, Timings

SLOW_CALL_S = 0.02
"""Seconds of a call of the rules (at the 99th percentile) from which a game holds up other matches noticeably."""
MAX_CALL_S = 1.0
"""Maximum seconds of a call of the rules: `arena serve` interrupts a longer one by default, and closes the game."""
AUTHOR_METHODS: Mapping[str, tuple[str, ...]] = {
    "legal_moves": ("moves",),
    "to_move": ("turn",),
    "decode_move": ("moves",),
    "apply": ("play",),
    "outcomes": ("play",),
    "apply_chance": ("chances",),
    "chance_outcomes": ("chances",),
    "ranks": ("ranks", "winner", "returns"),
    "returns": ("returns",),
    "view": ("seen",),
    "draw_board": ("draw", "grid"),
    "notation": ("notation",),
    "parse_move": ("notation",),
    "sample_state": ("guess",),
}
"""The methods of a `TurnGame` that decide what a method of `Game` returns."""
MAX_PRESSED_CELLS = 2
"""Maximum number of cells that a person presses on a page for one move."""


class GameCheckOptions(Struct, frozen=True, kw_only=True):
    """The options of `arena game check` as the user gave them."""

    game: str
    """A file, as `is_game_file` says, or the name of a game."""
    games: int
    seed: int
    watch: bool
    to_json: bool


class CheckedPreset(Struct, frozen=True, kw_only=True):
    """The measurements of random games of one preset. Times are the 99th percentile of the calls, in microseconds."""

    game: str
    preset: str
    games: int
    plies: int
    longest: int
    """The plies of the longest game."""
    moves: int
    """The largest number of legal moves that was seen."""
    state_bytes: int
    """The largest encoded state that was seen."""
    legal_moves_us: float
    apply_us: float
    encode_us: float
    memory_kib: float
    """The memory that one game took at most, in KiB."""


def run(options: GameCheckOptions) -> None:
    """Check a game, or all games of a file, and print what was measured. If a game breaks the contract, print where and
    exit with code 1.
    """
    if not is_game_file(options.game):
        if options.watch:
            raise UsageFault(f"--watch needs a file, and {options.game} is the name of a game: leave it out")
        _print(_check_installed(options), to_json=options.to_json)
        return
    file = file_of(options.game)
    if options.watch:
        words = ["--games", str(options.games), "--seed", str(options.seed)]
        command = [sys.executable, "-P", "-m", "arena", "game", "check", str(file), *words]
        run_at_every_save([file], command, "the same games each time")
        return
    try:
        rows = check_file(file, options.games, options.seed)
    except GameFileFault as fault:
        say(f"arena: {fault}", err=True)
        raise SystemExit(1) from fault
    _print(rows, to_json=options.to_json)
    for line in _list_warnings(file):
        say(f"arena: {line}", err=True)


def _print(rows: Sequence[CheckedPreset], *, to_json: bool) -> None:
    if to_json:
        print_list(rows)
    else:
        for row in rows:
            say(_describe(row))


def _list_warnings(file: Path) -> Iterator[str]:
    """Yield what may be wrong with the games of a file although they keep the contract."""
    for name in add_game_file(file):
        rules = game_class(name)
        if issubclass(rules, TurnRules):
            yield from find_misspelled_names(file, rules.rules_class)


def _explain(file: Path, exc: Exception) -> str:
    """Return a line on an exception that the rules of a file caused outside of the file."""
    if isinstance(exc, NotImplementedError):
        return f"{file.name}: the method {extract_tb(exc.__traceback__)[-1].name} is missing"
    return f"{file.name}: {type(exc).__name__}: {exc}"


def check_file(file: Path, games: int, seed: int = 0) -> list[CheckedPreset]:
    """Check all presets of all games of a file, each by `games` random games. Raise `GameFileFault` if one breaks the
    contract.
    """
    with locate_failures(), _locate_violations(file):
        return [row for name in add_game_file(file) for row in _check_presets(name, games, seed)]


def _check_installed(options: GameCheckOptions) -> list[CheckedPreset]:
    """Check all presets of the game that a name means. Raise `ArenaFault` if one breaks the contract."""
    name = options.game
    game_class(name)
    try:
        return _check_presets(name, options.games, options.seed)
    except ContractBroken as broken:
        raise ArenaFault(f"{name}: {broken.method}: {broken}") from broken
    except Exception as exc:  # rules may fail in any way
        raise ArenaFault(f"{name}: {type(exc).__name__}: {exc}") from exc


def _check_presets(name: str, games: int, seed: int) -> list[CheckedPreset]:
    presets = game_class(name).presets
    return [check_preset(load_game(name, {"preset": preset}), games, seed) for preset in presets]


def check_preset(game: Game[Any, Any], games: int, seed: int) -> CheckedPreset:
    """Check the refusals of a game and play it at random. Raise `ContractBroken`."""
    max_call_s = float("inf") if is_builtin_game(game.name) else MAX_CALL_S  # compiled rules of ours may begin slowly
    checker = ContractChecker(game, clock=time.perf_counter, max_call_s=max_call_s)
    played = [checker.check_game(seed + number) for number in range(games)]
    checker.check_refusals()
    checker.check_hiding()
    if isinstance(game, TurnRules) and type(game.turn_game).evaluate is not TurnGame.evaluate:
        _check_evaluation(game, played[0].states)
    if isinstance(game, TurnRules):
        _check_board(game, played[0].states)
    tracemalloc.start()  # not while calls are timed, which it slows down
    ContractChecker(game).check_game(seed)
    memory = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    lengths = [len(one.states) - 1 for one in played]
    timings: Timings = checker.timings
    return CheckedPreset(
        game=game.name,
        preset=game.preset or "",
        games=games,
        plies=sum(lengths),
        longest=max(lengths),
        moves=max(one.max_legal_moves for one in played),
        state_bytes=max(one.max_state_bytes for one in played),
        legal_moves_us=_percentile_us(timings.legal_moves),
        apply_us=_percentile_us(timings.apply),
        encode_us=_percentile_us(timings.encode),
        memory_kib=round(memory / 1024, 1),
    )


def _check_board(rules: TurnRules[Any, Any], states: Sequence[Any]) -> None:
    """Check that pages can draw the grid of some states, and that people can press each legal move on it. Raise
    `ContractBroken`.
    """
    for state in states:
        _check_grid(rules, state)
        for move in rules.legal_moves(state):
            cells = rules.turn_game.cells(move)
            if len(cells) > MAX_PRESSED_CELLS:
                raise ContractBroken(
                    "cells",
                    f"cells returns {len(cells)} cells for {short_repr(move)}: at most {MAX_PRESSED_CELLS}, which are "
                    "pressed one after the other; None stands for any row or column",
                )


def _check_grid(rules: TurnRules[Any, Any], state: Any) -> None:
    """Check what pages show on the grid of a state, if it has one. Raise `ContractBroken`."""
    rows = rules.turn_game.grid(state.state) or ()
    for cell in rules.turn_game.highlights(state.state) if rows else ():
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


def _check_evaluation(rules: TurnRules[Any, Any], states: Sequence[Any]) -> None:
    """Check the author's evaluation of the unfinished states of a game, for each seat. Raise `ContractBroken`."""
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


def _describe(preset: CheckedPreset) -> str:
    """Return what a check found, in a few lines, with a warning if calls are slow."""
    lines = [
        f"{preset.game}/{preset.preset}: {preset.games} random games keep the contract, {preset.plies} plies, "
        f"the longest game {preset.longest}",
        f"  at most {preset.moves} legal moves, {preset.state_bytes} bytes a state, "
        f"{preset.memory_kib:,.0f} KiB a game",
        f"  slowest of 100 calls: legal moves {preset.legal_moves_us:,.0f} us, a move {preset.apply_us:,.0f} us, "
        f"encoding {preset.encode_us:,.0f} us",
    ]
    slowest = max(preset.legal_moves_us, preset.apply_us, preset.encode_us)
    if slowest > SLOW_CALL_S * 1e6:
        lines.append(
            f"  calls take more than {SLOW_CALL_S * 1000:.0f} ms: other matches of a server wait that long at each move"
        )
    return "\n".join(lines)


@contextmanager
def _locate_violations(file: Path) -> Iterator[None]:
    """Turn `ContractBroken` into a `GameFileFault` with the file and the line of the method that is wrong, and any
    other exception that no line of the file raised into one with the file.
    """
    try:
        yield
    except ContractBroken as broken:
        line = line_of(file, broken) or _line_of_method(file, broken.method)
        raise GameFileFault(f"{file.name}{f', line {line}' if line else ''}: {broken}") from broken
    except Fault:
        raise
    except Exception as exc:
        if line_of(file, exc) is not None:
            raise
        if isinstance(exc, RulesError) and (line := _line_of_method(file, exc.method)):
            raise GameFileFault(f"{file.name}, line {line}: {exc}") from exc
        raise GameFileFault(_explain(file, exc)) from exc


def _line_of_method(file: Path, method: str) -> int | None:
    """Return the line in which a game of the file defines the method that decides what `method` of `Game` returns."""
    for name in add_game_file(file):
        rules = game_class(name)
        if issubclass(rules, TurnRules):
            kind: type[Any] = rules.rules_class
            methods = AUTHOR_METHODS.get(method, (method,))
        else:
            kind, methods = rules, (method,)
        for own in methods:
            if own in vars(kind):
                return inspect.getsourcelines(vars(kind)[own])[1]
    return None
