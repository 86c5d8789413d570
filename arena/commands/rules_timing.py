"""Times the calls of the methods that the author of a game wrote, and interrupts those that take too long."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

from arena.host.game_watch import MAX_TROUBLES, GameLimits
from machine.code_timer import CodeTimer, TimeUp
from protocol.games.base import Game
from protocol.games.guard import GUARDED_METHODS
from protocol.games.turn_game import TurnGame, TurnRules
from referee.contract import ContractBroken

SERVER_METHODS = frozenset(
    ("start", "turn", "moves", "play", "chances", "leave", "winner", "ranks", "returns", "seen", "may_see_move")
) | frozenset(GUARDED_METHODS)
"""The methods of rules that a server calls while it plays. Pages, commands and bots call the others."""
MAX_REPEATS = 2
"""Number of times that a slow call is timed again: the machine may have been busy."""


class OutOfTime(BaseException):
    """The time for a check is over."""


class SlowMethod(NamedTuple):
    """The slow calls of a method: how many there were, and the seconds of the slowest."""

    method: str
    calls: int
    slowest_s: float


class SlowCalls:
    """The slow calls of the rules of a game."""

    def __init__(self, limits: GameLimits) -> None:
        self._limits = limits
        self._methods: dict[str, SlowMethod] = {}

    def note(self, method: str, took_s: float) -> None:
        """Count a call if it took so long that it is slow."""
        if took_s > self._limits.slow_call_s:
            before = self._methods.get(method, SlowMethod(method, 0, 0.0))
            self._methods[method] = SlowMethod(method, before.calls + 1, max(before.slowest_s, took_s))

    @property
    def total(self) -> int:
        """The number of slow calls of all methods, after which a server closes a game."""
        return sum(slow.calls for slow in self._methods.values())

    @property
    def worst(self) -> SlowMethod | None:
        """The method with the most slow calls; None if no call was slow."""
        return max(self._methods.values(), key=lambda slow: (slow.calls, slow.slowest_s), default=None)


class RulesTimer:
    """Times calls of rules, until `clock` reaches a deadline.

    A call that takes longer than a server allows raises `ContractBroken`. A call that is slow is timed again, and the
    shortest time counts. `on_call` is called after each call.
    """

    def __init__(
        self, limits: GameLimits, on_call: Callable[[], None], clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._limits = limits
        self._on_call = on_call
        self._clock = clock
        self._timer = CodeTimer(limits.call_timeout_s)
        self._is_inside = False
        self._ignores_slow_calls = False
        self.slow_calls = SlowCalls(limits)
        self.deadline = float("inf")

    @contextmanager
    def install(self) -> Iterator[None]:
        """Interrupt calls within this context."""
        with self._timer.install_handler():
            yield

    @contextmanager
    def ignore_slow_calls(self) -> Iterator[None]:
        """Only interrupt calls within this context, which slows them down."""
        self._ignores_slow_calls = True
        try:
            yield
        finally:
            self._ignores_slow_calls = False

    def watch(self, game: Game[Any, Any]) -> None:
        """Time all calls of the methods of a game that its author wrote."""
        target, contract = (game.turn_game, TurnGame) if isinstance(game, TurnRules) else (game, Game)
        for name, default in vars(contract).items():
            is_method = callable(default) and not name.startswith("_") and not isinstance(default, type)
            if is_method and getattr(type(target), name) is not default:
                setattr(target, name, partial(self.call, name, getattr(target, name)))

    def call(self, method: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function of rules, which the method `method` is. Raise `OutOfTime` if no time is left."""
        if self._is_inside:  # a part of a call that is timed
            return function(*arguments)
        self._is_inside = True
        try:
            result, took_s = self._time(method, function, *arguments)
            if self._ignores_slow_calls or method not in SERVER_METHODS:
                took_s = 0.0
            try:
                for _ in range(MAX_REPEATS):
                    if took_s > self._limits.slow_call_s:
                        took_s = min(took_s, self._time(method, function, *arguments)[1])
            finally:
                self.slow_calls.note(method, took_s)
        finally:
            self._is_inside = False
        self._on_call()
        return result

    def _time(self, method: str, function: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
        limit_s = self._limits.call_timeout_s
        for _ in range(MAX_REPEATS):
            began = self._clock()
            left_s = self.deadline - began
            if left_s <= 0:
                raise OutOfTime
            try:
                return self._timer.call(min(left_s, limit_s), function, *arguments), self._clock() - began
            except TimeUp as exc:
                if left_s < limit_s:
                    raise OutOfTime from exc
                interrupted = exc
        follows = "a server interrupts it, voids its match and closes the game"
        if method not in SERVER_METHODS:
            follows = "pages, commands and bots that need it would stand still"
        raise ContractBroken(method, f"a call of {method} takes more than {limit_s:g} s: {follows}") from interrupted


def describe_slow_calls(slow: SlowMethod, limits: GameLimits) -> str:
    """Return what a server does with slow calls of a method."""
    took_ms, limit_ms = slow.slowest_s * 1000, limits.slow_call_s * 1000
    calls = "one call" if slow.calls == 1 else f"{slow.calls} calls"
    said = (
        f"{slow.method} took up to {took_ms:.0f} ms ({calls} of more than {limit_ms:.0f} ms): a server logs such calls"
    )
    if slow.calls < MAX_TROUBLES:
        return f"{said}, and closes the game after {MAX_TROUBLES} within a minute"
    return (
        f"{said}, and closes the game after {MAX_TROUBLES} within a minute, which voids its matches; make the method "
        f"faster, or start the server with --slow-game-call {took_ms * 2:.0f}"
    )
