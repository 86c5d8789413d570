"""The quick check of a game from a file, before bots meet its rules on a server or in a tournament."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from arena.commands.rules_timing import SlowCalls, describe_slow_calls
from arena.host.game_watch import GameLimits
from machine.code_timer import CodeTimer, TimeUp
from machine.game_discovery import file_of_game, is_from_file
from protocol.dice import Dice
from protocol.errors import RulesFault, UsageFault
from protocol.games import game_class, game_spec, guard_game, load_game, rules_faults_of
from protocol.games.author_methods import name_call
from protocol.games.turn_game import RulesError, TurnRules, check_grid
from referee.rehearsal import MAX_REHEARSED_PLIES, Rehearsal, rehearse_match

MAX_MATCHES_PER_PRESET = 3
"""Maximum number of random matches of each preset."""
TIME_LIMIT_S = 0.3
"""Seconds after which no other match begins."""
MIN_SLOW_CALLS = 3
"""Minimum number of slow calls of a method that is named: the machine may have been busy during one."""
MATCH_TIMEOUT_S = 2.0
"""Seconds after which a match is given up."""


class _TimeOver(BaseException):
    """The time for a match is over."""


class _Rehearsal:
    """Random matches of a game whose calls are limited as on a server."""

    def __init__(self, game: str, limits: GameLimits) -> None:
        self._game = game
        self._limit_s = limits.call_timeout_s
        self._timer = CodeTimer(limits.call_timeout_s)
        self._deadline = 0.0
        self.slow_calls = SlowCalls(limits)
        self.faults: list[RulesFault] = []
        self.finished_matches = 0
        self.matches = 0
        self.is_random = False
        """True if the same match took another course when it was played again."""
        self.drawing_fault = ""
        """The reason why the first state can't be drawn."""

    def play(self) -> None:
        """Play random matches of all presets, as many as there is time for, one of each preset at least."""
        ends = time.perf_counter() + TIME_LIMIT_S
        with self._timer.install_handler():
            for number in range(MAX_MATCHES_PER_PRESET):
                for preset in game_class(self._game).presets:
                    if number == 0 or time.perf_counter() < ends:
                        self._play_match(preset, number)
            self._draw()

    def _play_match(self, preset: str, seed: int) -> None:
        self.matches += 1
        self._deadline = time.perf_counter() + MATCH_TIMEOUT_S
        try:
            match = self._rehearse(preset, seed)
            self.finished_matches += match.is_over
            self.is_random |= self._rehearse(preset, seed).digest != match.digest
        except RulesFault as fault:
            self.faults.append(fault)
        except _TimeOver:
            pass

    def _draw(self) -> None:
        """Draw the first state, as pages do."""
        self._deadline = time.perf_counter() + MATCH_TIMEOUT_S
        try:
            with rules_faults_of(self._game):
                game = load_game(self._game)
                state = self._call("initial", game.initial, Dice(bytes(32), 0))[0]
                self._call("draw_board", game.draw_board, state)
                grid = game.turn_game.grid(state.state) if isinstance(game, TurnRules) else None
                if grid is not None:
                    check_grid(grid)
        except RulesFault as fault:
            self.drawing_fault = fault.reason

    def _rehearse(self, preset: str, seed: int) -> Rehearsal:
        return rehearse_match(guard_game(load_game(self._game, {"preset": preset}), self._call), seed)

    def _call(self, method: str, function: Callable[..., Any], *arguments: Any) -> Any:
        began = time.perf_counter()
        if began >= self._deadline:
            raise _TimeOver
        try:
            return self._timer.call(self._limit_s, function, *arguments)
        except TimeUp as exc:
            name = name_call(game_class(self._game), method, exc)
            raise RulesError(f"{name} was interrupted, as it took longer than {self._limit_s:g} s") from exc
        finally:
            self.slow_calls.note(method, time.perf_counter() - began)


def rehearse_game(game: str, limits: GameLimits | None = None) -> str:
    """Play some random matches of a game from a file, in less than a second if its rules are right. Return a line if
    some of them would be void, or none ended; "" if all is well, or for other games. Raise `UsageFault` if all would be
    void, or random in another way than by `chances`.
    """
    if not is_from_file(game_spec(game)):
        return ""
    limits = limits or GameLimits()
    rehearsal = _Rehearsal(game, limits)
    rehearsal.play()
    file, faults, matches = file_of_game(game).name, rehearsal.faults, rehearsal.matches
    advice = f"`arena game check {file}` tries more"
    if rehearsal.is_random:
        raise UsageFault(
            f"{file}: the same moves lead to other states when they are played again, so no record of {game} would "
            f"verify: only chance events are random, in chances; {advice}"
        )
    if faults and len(faults) == matches:
        raise UsageFault(f"{faults[0].reason}: each match would be void; {advice}")
    if faults:
        return f"{faults[0].reason}: {len(faults)} of {matches} random matches would be void; {advice}"
    slow = rehearsal.slow_calls.worst
    if slow is not None and rehearsal.slow_calls.total >= MIN_SLOW_CALLS:
        name = name_call(game_class(game), slow.method)
        return f"{file}: {describe_slow_calls(slow._replace(method=name), limits)}"
    if rehearsal.drawing_fault:
        return f"{rehearsal.drawing_fault}: pages can't show the game; {advice}"
    if rehearsal.finished_matches:
        return ""
    limit = f"{MATCH_TIMEOUT_S:g} s or {MAX_REHEARSED_PLIES:,} plies"
    return f"{file}: no random match of {game} ended within {limit}; {advice}"
