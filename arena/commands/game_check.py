"""`arena game check`: plays a game at random and checks that it keeps the contract of a game."""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from traceback import extract_tb
from typing import Any

from msgspec import Struct

from arena.commands.file_watch import run_at_every_save
from arena.commands.misspelled_names import find_misspelled_names
from arena.commands.output import print_list
from arena.commands.preset_check import CheckedPreset, check_preset
from arena.commands.progress import show_progress
from arena.commands.rules_timing import OutOfTime, RulesTimer, describe_slow_calls
from arena.host.game_watch import MAX_TROUBLES, GameLimits
from machine.game_discovery import GameFileFault, add_game_file, file_of, is_game_file, line_of, locate_failures
from machine.terminal import say
from protocol.errors import ArenaFault, Fault, UsageFault
from protocol.games import game_class, is_builtin_game, load_game
from protocol.games.author_methods import author_methods, name_call
from protocol.games.turn_game import RulesError, TurnRules
from referee.contract import ContractBroken

DEFAULT_TIME_LIMIT_S = 60
"""Seconds after which a check ends, if the user gives no other limit."""
BUILTIN_LIMITS = GameLimits(slow_call_s=3600.0, call_timeout_s=3600.0)
"""The limits of calls of built-in rules, which may begin slowly because they are compiled."""


class GameCheckOptions(Struct, frozen=True, kw_only=True):
    """The options of `arena game check` as the user gave them."""

    game: str
    """A file, as `is_game_file` says, or the name of a game."""
    games: int
    seed: int
    time_limit_s: int
    watch: bool
    to_json: bool


class GameCheck(Struct, frozen=True, kw_only=True):
    """The measurements of the presets of some games, and lines on what may be wrong with the games.

    With `is_too_slow`, a server would close a game because of its slow calls.
    """

    presets: list[CheckedPreset]
    warnings: list[str]
    is_too_slow: bool


def run(options: GameCheckOptions) -> None:
    """Check a game, or all games of a file, and print what was measured. If a game breaks the contract, or a server
    would close it, print where and exit with code 1.
    """
    if not is_game_file(options.game):
        if options.watch:
            raise UsageFault(f"--watch needs a file, and {options.game} is the name of a game: leave it out")
        _print(_check_installed(options), options)
        return
    file = file_of(options.game)
    if options.watch:
        words = ["--games", str(options.games), "--seed", str(options.seed), "--time-limit", str(options.time_limit_s)]
        command = [sys.executable, "-P", "-m", "arena", "game", "check", str(file), *words]
        run_at_every_save([file], command, "the same games each time")
        return
    try:
        check = check_file(file, options.games, options.seed, options.time_limit_s)
    except GameFileFault as fault:
        say(f"arena: {fault}", err=True)
        raise SystemExit(1) from fault
    _print(check, options)


def _print(check: GameCheck, options: GameCheckOptions) -> None:
    if options.to_json:
        print_list(check.presets)
    else:
        for row in check.presets:
            say(_describe(row, options), flush=True)
    for line in check.warnings:
        say(f"arena: {line}", err=True)
    if check.is_too_slow:
        raise SystemExit(1)


class _CheckProgress:
    """The progress of a check, for a user who waits."""

    def __init__(self, show: Callable[[Callable[[], str]], None], time_limit_s: float) -> None:
        self._show = show
        self._time_limit_s = time_limit_s
        self._began = time.perf_counter()
        self._describe_step: Callable[[], str] = lambda: "start"
        self.pool = ""
        """The game and the preset that are checked now."""

    @property
    def left_s(self) -> float:
        """The seconds that are left for the check."""
        return self._time_limit_s - (time.perf_counter() - self._began)

    def note(self, describe_step: Callable[[], str]) -> None:
        """Begin a step of the check, which `describe_step` describes at any time."""
        self._describe_step = describe_step
        self.report()

    def report(self) -> None:
        self._show(self._describe)

    def _describe(self) -> str:
        took_s = self._time_limit_s - self.left_s
        return f"{self.pool}: {self._describe_step()}, {took_s:.0f} of {self._time_limit_s:g} s"


def check_file(file: Path, games: int, seed: int = 0, time_limit_s: float = DEFAULT_TIME_LIMIT_S) -> GameCheck:
    """Check all presets of all games of a file, each by `games` random games, until the time is over. Raise
    `GameFileFault` if one breaks the contract.
    """
    with locate_failures(), _locate_violations(file):
        check = _check_games(add_game_file(file), games, seed, time_limit_s, lambda method: _place_of(file, method))
    check.warnings.extend(_find_misspelled_names(file))
    return check


def _check_installed(options: GameCheckOptions) -> GameCheck:
    """Check all presets of the game that a name means. Raise `ArenaFault` if one breaks the contract."""
    name = options.game
    rules = game_class(name)
    try:
        return _check_games([name], options.games, options.seed, options.time_limit_s, lambda method: f"{name}: ")
    except ContractBroken as broken:
        raise ArenaFault(f"{name}: {name_call(rules, broken.method)}: {broken}") from broken
    except Exception as exc:  # rules may fail in any way
        raise ArenaFault(f"{name}: {type(exc).__name__}: {exc}") from exc


def _check_games(
    names: Sequence[str], games: int, seed: int, time_limit_s: float, place_of: Callable[[str], str]
) -> GameCheck:
    """Check all presets of some games, each in an equal part of the time that is left. `place_of` says where a method
    is, at the beginning of a line.
    """
    limits = BUILTIN_LIMITS if all(map(is_builtin_game, names)) else GameLimits()
    presets = [(name, preset) for name in names for preset in game_class(name).presets]
    rows = []
    with show_progress() as show:
        progress = _CheckProgress(show, time_limit_s)
        timer = RulesTimer(limits, progress.report)
        with timer.install():
            for number, (name, preset) in enumerate(presets):
                progress.pool = f"{name}/{preset}"
                timer.deadline = time.perf_counter() + progress.left_s / (len(presets) - number)
                try:
                    game = timer.call("start", load_game, name, {"preset": preset})
                except OutOfTime:
                    rows.append(CheckedPreset(game=name, preset=preset, unchecked=["anything"]))
                else:
                    rows.append(check_preset(game, games, seed, timer, progress.note))
    slow = timer.slow_calls.worst
    warnings = [] if slow is None else [f"{place_of(slow.method)}{describe_slow_calls(slow, limits)}"]
    return GameCheck(presets=rows, warnings=warnings, is_too_slow=timer.slow_calls.total >= MAX_TROUBLES)


def _find_misspelled_names(file: Path) -> Iterator[str]:
    for name in add_game_file(file):
        rules = game_class(name)
        if issubclass(rules, TurnRules):
            yield from find_misspelled_names(file, rules.rules_class)


def _describe(preset: CheckedPreset, options: GameCheckOptions) -> str:
    """Return what a check found, in a few lines."""
    games = "1 random game keeps" if preset.games == 1 else f"{preset.games} random games keep"
    lines = [
        f"{preset.game}/{preset.preset}: {games} the contract, {preset.plies} plies, the longest game {preset.longest}",
        f"  at most {preset.moves} legal moves, {preset.state_bytes} bytes a state, "
        f"{preset.memory_kib:,.0f} KiB a game",
        f"  slowest of 100 calls: legal moves {preset.legal_moves_us:,.0f} us, a move {preset.apply_us:,.0f} us, "
        f"encoding {preset.encode_us:,.0f} us",
    ]
    if not preset.games:
        lines = [f"{preset.game}/{preset.preset}: no random game ended in time"]
    if preset.unchecked:
        limit = f"within --time-limit {options.time_limit_s}"
        lines.append(f"  not checked {limit}: {', '.join(preset.unchecked)}")
    return "\n".join(lines)


@contextmanager
def _locate_violations(file: Path) -> Iterator[None]:
    """Turn `ContractBroken` into a `GameFileFault` with the file and the line of the method that is wrong, and any
    other exception that no line of the file raised into one with the file.
    """
    try:
        yield
    except ContractBroken as broken:
        line = line_of(file, broken)
        place = _place_of(file, broken.method) if line is None else f"{file.name}, line {line}: "
        raise GameFileFault(f"{place}{broken}") from broken
    except Fault:
        raise
    except Exception as exc:
        if line_of(file, exc) is not None:
            raise
        if isinstance(exc, RulesError):
            raise GameFileFault(f"{_place_of(file, exc.method)}{exc}") from exc
        raise GameFileFault(f"{file.name}: {_explain(exc)}") from exc


def _explain(exc: Exception) -> str:
    """Return a line on an exception that the rules of a file caused outside of the file."""
    if isinstance(exc, NotImplementedError):
        return f"the method {extract_tb(exc.__traceback__)[-1].name} is missing"
    return f"{type(exc).__name__}: {exc}"


def _place_of(file: Path, method: str) -> str:
    """Return the file, and the line in which one of its games defines the method that decides what `method` of `Game`
    returns, with a colon behind them.
    """
    for name in add_game_file(file):
        rules = game_class(name)
        kind: type[Any] = rules.rules_class if issubclass(rules, TurnRules) else rules
        for own in author_methods(rules, method)[::-1]:
            if own in vars(kind) and method != "encode_state":  # any method may have made a wrong state
                return f"{file.name}, line {inspect.getsourcelines(vars(kind)[own])[1]}: "
    return f"{file.name}: "
