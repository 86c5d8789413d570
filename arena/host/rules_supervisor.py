"""Supervises the rules that a host's matches call in its event loop: times them, interrupts them, closes games."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from arena.host.game_watch import GameLimits, GameWatch, Verdict
from arena.host.rules_isolation import RulesIsolation
from machine.code_timer import CodeTimer, TimeUp
from machine.log_output import log_fields
from protocol.errors import BotFault, RulesFault
from protocol.games import (
    game_class,
    game_spec,
    guard_game,
    is_builtin_game,
    is_known_game,
    load_game,
    rules_faults_of,
    rules_spec,
    shared_game,
)
from protocol.games.author_methods import name_call
from protocol.games.base import Game
from protocol.games.guard import CallRules
from protocol.games.isolated import Answers, IsolatedGame
from protocol.games.turn_game import RulesError

log = logging.getLogger("arena.host.rules")


class RulesSupervisor:
    """Supervises the rules that are not built in. Built-in rules are called without any of this.

    With `limits`, slow calls are logged, calls that take too long are interrupted, and `on_game_closed` is called with
    the name of a game that is closed, and the reason. Without them, only failures of rules are handled. Calls are
    interrupted only in the main thread. With `is_isolating`, matches call no rules here: they get an `IsolatedGame`,
    whose answers come from a process.
    """

    def __init__(
        self,
        on_game_closed: Callable[[str, str], None],
        limits: GameLimits | None = None,
        *,
        is_isolating: bool = False,
    ) -> None:
        self._on_game_closed = on_game_closed
        self._watch = None if limits is None else GameWatch(limits)
        self._loop = asyncio.get_running_loop()
        self._timer = CodeTimer(1.0 if limits is None else limits.call_timeout_s)
        self._handlers = contextlib.ExitStack()
        self._isolated = RulesIsolation(limits.call_timeout_s) if is_isolating and limits is not None else None
        self._sought_rules: Game[Any, Any] | None = None
        """The rules of the last seek, which stay cached until the lobby has read the seek."""
        self._is_ready = False
        """True once the timer's signal handler is installed."""

    def load_game(self, game: str, config: Mapping[str, Any], digest: str = "") -> Game[Any, Any] | None:
        """Return the guarded rules for a match; None if they are built in. They have this digest, if one is given and
        they are here; former rules are not isolated. Raise what `protocol.games.load_game` raises, and `RulesFault` if
        the game is closed.
        """
        if is_builtin_game(game):
            return None
        if self._watch is not None and game in self._watch.closed:
            raise RulesFault(game, self._watch.closed[game])
        if self._isolated is not None and rules_spec(game, digest) == game_spec(game):
            return self._isolated.game_for_match(game, config)
        return guard_game(shared_game(game, config, digest), self._make_caller(game))

    def must_prepare(self, game: str, config: Mapping[str, Any]) -> bool:
        """Return whether `prepare` must be awaited before a match of a game is sought under a config, or resumed."""
        return (
            self._isolated is not None
            and is_known_game(game)
            and not is_builtin_game(game)
            and not self._isolated.is_prepared(game, config)
        )

    async def prepare(self, game: str, config: Mapping[str, Any]) -> None:
        """Ask the process of an isolated game about a config. Raise `BadConfig`, or `RulesFault` if the rules fail."""
        assert self._isolated is not None
        await self._isolated.prepare(game, config)

    async def fetch_answers(self, game: IsolatedGame, question: bytes) -> Answers:
        """Return the answers to a question that a match asks. Raise `RulesFault` if the rules fail."""
        assert self._isolated is not None
        return await self._isolated.ask(game.name, game.config, question)

    async def check_game(self, game: str) -> None:
        """Load a game and its presets. If rules that are not built in fail at that, close the game, and log why."""
        if is_builtin_game(game):
            load_game(game)
            return
        try:
            with rules_faults_of(game):
                game_class(game)  # importing a package may take long
                self._call(game, "start", load_game, game)
            if self._isolated is not None:
                for config in ({}, *({"preset": preset} for preset in game_class(game).presets)):
                    await self._isolated.prepare(game, config)
        except RulesFault as fault:
            log.error("%s", fault, extra=log_fields(game=game))
            if self._watch is not None:
                self._act(game, self._watch.close(game, fault.reason))

    def refusal_reason(self, game: str, config: Mapping[str, Any]) -> str | None:
        """Return why no match of a game can begin under a config; None if one can, or if the config is wrong."""
        if is_builtin_game(game):
            return None
        if self._watch is not None and game in self._watch.closed:
            return closed_message(game, self._watch.closed[game])
        if self._isolated is not None:
            return None
        try:
            with rules_faults_of(game):
                self._sought_rules = self._call(game, "start", shared_game, game, config)
                self._call(game, "check_cost", self._sought_rules.check_cost)
        except BotFault:
            return None  # the lobby refuses it
        except RulesFault as fault:
            return self.explain_refusal(fault)
        return None

    def explain_refusal(self, fault: RulesFault) -> str:
        """Log that the rules of a seek fail, and return what its bot is told."""
        extra = {"fields": {"game": fault.game}, "of_stranger": True}  # whoever seeks chose the config
        log.error("a seek is refused: %s", fault, extra=extra)
        return f"the rules of {fault.game} failed, which is no bot's fault"

    def on_rules_fault(self, fault: RulesFault) -> None:
        """Count a failure of rules against their game."""
        if self._watch is not None:
            self._act(fault.game, self._watch.note_fault(fault.game, self._loop.time()))

    async def close(self) -> None:
        """Restore the signal handler that the timer replaced, and end the processes of isolated games."""
        self._handlers.close()
        if self._isolated is not None:
            await self._isolated.close()

    def _make_caller(self, game: str) -> CallRules | None:
        if self._watch is None:
            return None
        return lambda method, function, *arguments: self._call(game, method, function, *arguments)

    def _call(self, game: str, method: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function of rules. Raise `RulesError` if it takes too long, or tries to end the process, and if the
        game is closed: each further call in this turn of the event loop could take as long.
        """
        if self._watch is None:
            return function(*arguments)
        if game in self._watch.closed:
            raise RulesError(closed_message(game, self._watch.closed[game]))
        if not self._is_ready:
            self._is_ready = True
            self._handlers.enter_context(self._timer.install_handler())
        limit_s = self._watch.limits.call_timeout_s
        began, least_s = time.perf_counter(), 0.0
        try:
            return self._timer.call(limit_s, function, *arguments)
        except TimeUp as exc:
            least_s, method = limit_s, name_call(game_class(game), method, exc)
            raise RulesError(f"{method} was interrupted, as it took longer than {limit_s:g} s") from exc
        except BaseException as exc:
            if isinstance(exc, Exception):
                raise
            name = name_call(game_class(game), method, exc)
            raise RulesError(f"{name} raised {type(exc).__name__}, which would end the server") from exc
        finally:
            took_s = max(time.perf_counter() - began, least_s)
            if took_s > self._watch.limits.slow_call_s:
                method = name_call(game_class(game), method)
                self._act(game, self._watch.note_call(game, method, took_s, self._loop.time()))

    def _act(self, game: str, verdict: Verdict) -> None:
        if verdict.line is not None:
            log.warning("%s", verdict.line, extra=log_fields(game=game))
        if verdict.closing is not None:  # not at once: a match may be in the middle of an event
            self._loop.call_soon(self._on_game_closed, game, verdict.closing)


def closed_message(game: str, why: str) -> str:
    """Return the sentence that says that a game is closed, and why."""
    return f"{game} is closed on this server, because {why}: the operator can mend the game and start the server again"
