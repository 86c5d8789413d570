"""`run`, which plays a bot: it adds sockets, threads, clock and terminal to a conversation."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any, Unpack

from bots import mistakes
from bots.client.bot import Bot
from bots.client.conversation import Conversation, ScheduleSeek, WarmUp
from bots.client.finish_signal import FinishSignal
from bots.client.loading import hand_over, refuse
from bots.client.settings import PartialSettings, Settings, check_name, merge_settings, read_environment, read_token
from bots.client.still_running import SlowChoiceReporter
from bots.client.tokens import default_path, find_or_make_token, read_handed_token
from bots.client.warm_up import warm_up
from bots.client.worker_threads import Choose, Conclude, Prepare, WorkerThreads, WorkResult, format_place
from machine import event_loop, standard_streams
from machine.client.client import ClientBase
from machine.client.client_protocol import Effect, PrintLine
from machine.client.nodes import NodeRouter
from machine.client.timeouts import ClientTimeouts
from machine.subprocesses import keep_private
from machine.terminal import say
from machine.timeouts import scale_timeouts
from protocol.display import short_repr
from protocol.errors import Fault, UsageFault
from protocol.games import game_class, is_known_game
from protocol.games.base import Game
from protocol.games.wire_game import load_client_game

INTERRUPTED_EXIT_CODE = 130
"""The exit code of a process after an interrupt, such as Ctrl+C."""


def run(bot: Bot, args: Sequence[str] | None = None, **given: Unpack[PartialSettings]) -> None:
    """Play `bot` until its matches are played or it is stopped.

    Settings come from the command line (`args`; None: the program's own), then from the `ARENA_…` variables, then from
    `given`. Raise `SystemExit` if the bot has to stop early: 1 if the arena refuses it, 2 if its settings are wrong.
    """
    from bots.client.options import read_command_line

    standard_streams.prepare()
    mistakes.note_bot_made()
    if wrong := _find_bot_error(bot):
        refuse(wrong)
        say(f"{mistakes.program_name()}: {wrong}", err=True)
        raise SystemExit(2)
    hand_over(bot)
    try:
        play(bot, read_command_line(bot, args), given)
    except Fault as fault:
        say(f"{bot.name}: {fault}", err=True)
        raise SystemExit(2 if isinstance(fault, UsageFault) else 1) from None


def _find_bot_error(given: Any) -> str:
    """Return what is wrong with the argument of `run`; empty text if it is a bot that can be run."""
    if isinstance(given, type) and issubclass(given, Bot):
        return f"run takes a bot, not its class: run({mistakes.constructor_call(given)})"
    if not isinstance(given, Bot):
        return f"run takes a bot, not {short_repr(given)}: write a subclass of Bot, and pass an instance of it"
    if not hasattr(given, "name"):
        kind = type(given).__name__
        return f"{kind} has no name: its __init__ must call super().__init__(name)"
    return ""


def play(
    bot: Bot,
    command_line_settings: PartialSettings,
    code_settings: PartialSettings,
    finish_signal: FinishSignal | None = None,
    on_exit: Callable[[], object] = lambda: None,
) -> None:
    """Do the work of `run` with the settings from the command line and those that the code passes. After a
    `finish_signal`, the bot ends once its matches under way are over. `on_exit` is called before the process ends with
    a thread that still works, so that this does not return. Raise `Fault` if the bot cannot play, and
    `SystemExit` if the exit code is not 0.
    """
    standard_streams.tolerate_lost_output()  # a broken pipe of the output must not end a match
    settings = merge_settings(
        command_line_settings,
        read_environment(os.environ),
        code_settings,
        PartialSettings(matches=bot.matches),
        games=len(bot.games),
    )
    if settings.name is not None:
        bot.name = settings.name
    check_name(bot.name, "the bot's name")
    if settings.against is not None:
        _compare_versions(bot, settings)
        return
    if settings.submit:
        import_module("bots.submission").submit_program(bot, settings)  # a bot that connects needs no HTTP
        return
    if settings.status:
        import_module("bots.submission").show_status(bot, settings)
        return
    settings = for_people(settings) if bot.person else settings
    game = None if settings.game is None else _check_game(bot, settings.game, settings.config)
    token = settings.token or _find_token(settings, bot.name)
    client = Client(bot, settings, token, game, scale_timeouts(ClientTimeouts()))
    try:
        if not settings.open:
            warm_up(bot, game)
        with asyncio.Runner(loop_factory=event_loop.new_event_loop) as runner:
            if finish_signal is not None:
                finish_signal.watch(runner.get_loop(), client.finish)
            exit_code = runner.run(client.play())
    except KeyboardInterrupt:
        exit_code = INTERRUPTED_EXIT_CODE
    client.exit(exit_code, on_exit)


def _compare_versions(bot: Bot, settings: Settings) -> None:
    """Let the bot play another version of it. The module for this is imported only here: it needs the referee."""
    versions = import_module("bots.playing.versions")
    versions.compare_versions(bot, settings)


def for_people(settings: Settings) -> Settings:
    """Return the settings for a bot whose moves a person chooses. If the settings name a game but no config, they get
    the game's preset for people, which makes matches shorter.
    """
    if settings.game is None or settings.config or settings.assigned or not is_known_game(settings.game):
        return settings
    preset = game_class(settings.game).preset_for_people
    return settings if preset is None else replace(settings, config={"preset": preset})


def _check_game(bot: Bot, name: str, config: Mapping[str, Any]) -> Game[Any, Any] | None:
    """Return the game that the bot is to play; None if only the arena has its rules. Raise `UsageFault` if the bot does
    not play it.
    """
    game = load_client_game(name, config)
    bot.check_game(game)
    return game if is_known_game(name) else None


def _find_token(settings: Settings, bot: str) -> str:
    """Return the token from the settings' file descriptor; without one, the bot's saved token or a new one."""
    if settings.token_fd is None:
        return find_or_make_token(settings.url, bot, default_path())
    keep_private()  # hide it from the other bots on this machine
    return read_token(read_handed_token(settings.token_fd))


class Client(ClientBase):
    """One bot process: a conversation with the arena, and threads in which the bot thinks."""

    def __init__(
        self,
        bot: Bot,
        settings: Settings,
        token: str,
        game: Game[Any, Any] | None = None,
        timeouts: ClientTimeouts | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        timeouts = timeouts or ClientTimeouts()
        self._bot = bot
        self._conversation = Conversation(bot, settings, token, game, timeouts.first_listing_delay_s)
        self._worker_threads = WorkerThreads(bot, self._on_result, settings.min_move_time)
        self._still_running = SlowChoiceReporter(timeouts.long_choice_delay_s)
        self._check_scheduled = False
        """True if a check of running work is scheduled."""
        nodes = NodeRouter(self._conversation, single_node=settings.single_node, hosts=settings.hosts)
        super().__init__(nodes, timeouts, clock)

    def finish(self) -> None:
        """Seek no more matches, and stop once those under way are over. Call this in the event loop."""
        self._run_step(self._conversation.finish)

    def exit(self, code: int, on_exit: Callable[[], object] = lambda: None) -> None:
        """End the process if the code is not 0, or if a thread still thinks, which would block the exit. Then report
        each `choose` that is still running, and call `on_exit`.
        """
        if code == INTERRUPTED_EXIT_CODE:
            self._perform(self._conversation.on_interrupt())
        if self._worker_threads.unfinished_work:
            for work in self._worker_threads.unfinished_work:
                if isinstance(work, Choose) and code != INTERRUPTED_EXIT_CODE:
                    line = f"{self._bot.name}: had no move yet{format_place(work.turn)} when it left"
                    self._perform([PrintLine(line, is_error=True)])
            on_exit()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)  # with a thread blocked on standard input, an orderly exit makes the interpreter abort
        if code:
            raise SystemExit(code)

    def _perform_other(self, effect: Effect) -> None:
        if isinstance(effect, (Choose, Prepare, Conclude)):
            self._worker_threads.submit(effect)
            self._schedule_check()
        elif isinstance(effect, ScheduleSeek):
            self._running_loop.call_later(
                effect.seconds, self._run_step, partial(self._conversation.retry_seek, effect.game)
            )
        elif isinstance(effect, WarmUp):
            threading.Thread(target=self._warm_up, args=(effect.game,), daemon=True).start()

    def _schedule_check(self) -> None:
        if not self._check_scheduled:
            self._check_scheduled = True
            self._running_loop.call_later(self._timeouts.work_check_interval_s, self._report_slow_choices)

    def _report_slow_choices(self) -> None:
        """Report each `choose` that takes long, with its current line. While there is work, schedule the next check."""
        self._check_scheduled = False
        for line in self._still_running.report(self._worker_threads.running_work(), self._clock()):
            self._perform([PrintLine(f"{self._bot.name}: {line}", is_error=True)])
        if self._worker_threads.unfinished_work:
            self._schedule_check()

    def _take_from_thread(self, step: Callable[[], list[Effect]]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has closed, so the result is not needed
            self._running_loop.call_soon_threadsafe(self._run_step, step)

    def _warm_up(self, game: str) -> None:
        """Warm up for a game, and report the end to the conversation. Called in a thread of its own."""
        fault = None
        try:
            warm_up(self._bot, _check_game(self._bot, game, {}))
        except Fault as exc:
            fault = str(exc)
        except BaseException as exc:
            fault = f"its code failed: {exc!r}"
        self._take_from_thread(partial(self._conversation.on_warmed_up, game, fault))

    def _on_result(self, result: WorkResult) -> None:
        """Pass the result of a piece of work to the conversation. Called in the thinking thread."""
        self._take_from_thread(partial(self._conversation.handle_result, result))
