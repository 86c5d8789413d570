"""The shell of the client: sockets, threads, clock and terminal around a conversation. `run` begins here."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any, Unpack

from bots import mistakes
from bots.client.bot import Bot
from bots.client.connection import Connection
from bots.client.conversation import Conversation
from bots.client.loading import hand_over, refuse
from bots.client.nodes import Connect, Directed, Disconnect, Nodes, To
from bots.client.settings import Given, Settings, check_name, from_environment, read_token, settle
from bots.client.still_running import StillRunning
from bots.client.talk import Effect, LookLater, Say, SeekLater, Stop, Talk, WarmUp
from bots.client.timeouts import ClientTimeouts
from bots.client.tokens import default_path, handed, token_for
from bots.client.warm_up import warm_up
from bots.client.worker_threads import Choose, Conclude, Prepare, Thought, WorkerThreads, on
from machine import event_loop, standard_streams
from machine.subprocesses import keep_private
from machine.terminal import say
from machine.timeouts import scaled
from protocol.display import shown
from protocol.errors import Fault, UsageFault
from protocol.games import load
from protocol.games.base import Game

INTERRUPTED = 130
"""The exit code where somebody wanted it to end."""


def run(bot: Bot, args: Sequence[str] | None = None, **given: Unpack[Given]) -> None:
    """Play `bot` until its matches are played or it is stopped.

    The command line (`args`, else the program's own) goes before the `ARENA_…` variables, and these before `given`.
    Raises `SystemExit` where the bot has to stop early: 1 if the arena refuses it, 2 if it was started wrongly.
    """
    from bots.client.options import from_command_line

    standard_streams.prepare()
    mistakes.bot_made()
    if wrong := _no_bot(bot):
        refuse(wrong)
        say(f"{mistakes.program()}: {wrong}", err=True)
        raise SystemExit(2)
    hand_over(bot)
    try:
        play(bot, from_command_line(bot, args), given)
    except Fault as fault:
        say(f"{bot.name}: {fault}", err=True)
        raise SystemExit(2 if isinstance(fault, UsageFault) else 1) from None


def _no_bot(given: Any) -> str:
    """What is wrong with what `run` was given, if it is no bot that can be run."""
    if isinstance(given, type) and issubclass(given, Bot):
        return f"run takes a bot, not its class: run({mistakes.call_of(given)})"
    if not isinstance(given, Bot):
        return f"run takes a bot, and {shown(given)} is none: write a class of Bot, and run an object of it"
    if not hasattr(given, "name"):
        kind = type(given).__name__
        return f"{kind} has no name: its __init__ has to call super().__init__(name)"
    return ""


def play(bot: Bot, command_line: Given, code: Given) -> None:
    """As `run`, with the command line read. Raises `Fault`, or `SystemExit` where the code is not 0."""
    standard_streams.tolerate_lost_output()  # nobody who plays gives a match up for a line
    settings = settle(command_line, from_environment(os.environ), code, Given(matches=bot.matches))
    if settings.name is not None:
        bot.name = settings.name
    check_name(bot.name, "the bot's name")
    if settings.against is not None:
        _compare_versions(bot, settings)
        return
    game = None if settings.game is None else load(settings.game, settings.config)
    if game is not None:
        bot.check_game(game)
    token = settings.token or _token(settings, bot.name)
    client = Client(bot, settings, token, game, scaled(ClientTimeouts()))
    try:
        if not settings.open:
            warm_up(bot, game)
        with asyncio.Runner(loop_factory=event_loop.new) as runner:
            exit_code = runner.run(client.play())
    except KeyboardInterrupt:
        exit_code = INTERRUPTED
    client.leave(exit_code)


def _compare_versions(bot: Bot, settings: Settings) -> None:
    """Play against another version. Its module is loaded by name: who plays at an arena needs no referee."""
    versions = import_module("bots.playing.versions")
    versions.compare_versions(bot, settings)


def _token(settings: Settings, bot: str) -> str:
    """The token that somebody handed over, or the saved one."""
    if settings.token_fd is None:
        return token_for(settings.url, bot, default_path())
    keep_private()  # who hands it over wants it kept from the other bots on this machine
    return read_token(handed(settings.token_fd))


class Link(ABC):
    """A bot's connections to the nodes of an arena; what comes of what they tell `_do` does."""

    def __init__(
        self, name: str, settings: Settings, talk: Talk, timeouts: ClientTimeouts, clock: Callable[[], float]
    ) -> None:
        self._timeouts = timeouts
        self._clock = clock
        self._name = name
        self._settings = settings
        self._nodes = Nodes(talk, settings.url, stays=settings.stay, hosts=settings.hosts)
        self._first = self._connection_to(settings.url, settings.patience)
        self._others: dict[str, Connection] = {}
        """By URL."""
        self._keeping = asyncio.TaskGroup()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._code: int | None = None

    async def play(self) -> int:
        """Connect, converse, come back; the exit code in the end."""
        self._loop = asyncio.get_running_loop()
        try:
            async with self._keeping:
                await self._first.keep()
        except BaseExceptionGroup as failed:
            raise failed.exceptions[0] from None
        assert self._code is not None
        return self._code

    def _perform(self, effects: Sequence[Directed]) -> None:
        for effect in effects:
            if isinstance(effect, To):
                connection = self._connection(effect.url)
                if connection is not None:
                    connection.send(effect.message)
            elif isinstance(effect, Connect):
                connection = self._connection_to(effect.url, None)
                self._others[effect.url] = connection
                if self._code is None:
                    self._keeping.create_task(connection.keep())
            elif isinstance(effect, Disconnect):
                self._others.pop(effect.url).stop()
            elif isinstance(effect, Say):
                say(effect.line, err=effect.trouble, flush=True)
            elif isinstance(effect, Stop):
                self._code = effect.code
                for connection in (self._first, *self._others.values()):
                    connection.stop()
            else:
                self._do(effect)

    def _connection_to(self, url: str, patience: float | None) -> Connection:
        return Connection(self._name, url, patience, self._nodes.at(url), self._perform, self._timeouts, self._clock)

    def _connection(self, url: str) -> Connection | None:
        return self._first if url == self._settings.url else self._others.get(url)

    def _take(self, step: Callable[[], list[Effect]]) -> None:
        """Take a step of the conversation."""
        self._perform(self._nodes.take(step))

    @abstractmethod
    def _do(self, effect: Directed) -> None:
        """Do what is neither to be sent nor to be said."""

    @property
    def _running(self) -> asyncio.AbstractEventLoop:
        assert self._loop is not None, "play() has begun"
        return self._loop


class Client(Link):
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
        self._conversation = Conversation(bot, settings, token, game, timeouts.first_look_delay_s)
        self._thinkers = WorkerThreads(bot, self._thought, settings.min_move_time)
        self._still_running = StillRunning(timeouts.long_choice_delay_s)
        self._looking = False
        """Whether somebody is to look what is still running."""
        super().__init__(bot.name, settings, self._conversation, timeouts, clock)

    def leave(self, code: int) -> None:
        """End the process where the code says so, or where a thread still thinks and would hold it up, and say so."""
        if code == INTERRUPTED:
            self._perform(self._conversation.interrupted())
        if self._thinkers.under_way:
            for work in self._thinkers.under_way:
                if isinstance(work, Choose) and code != INTERRUPTED:
                    self._perform([Say(f"{self._bot.name}: had no move yet{on(work.turn)} when it left", trouble=True)])
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)  # a thread blocked on standard input makes the interpreter abort if it ends in order
        if code:
            raise SystemExit(code)

    def _do(self, effect: Directed) -> None:
        if isinstance(effect, (Choose, Prepare, Conclude)):
            self._thinkers.submit(effect)
            self._look_later()
        elif isinstance(effect, SeekLater):
            self._running.call_later(effect.seconds, self._take, partial(self._conversation.seek, effect.game))
        elif isinstance(effect, LookLater):
            self._running.call_later(effect.seconds, self._take, self._conversation.look)
        elif isinstance(effect, WarmUp):
            threading.Thread(target=self._warm_up, args=(effect.game,), daemon=True).start()

    def _look_later(self) -> None:
        """Look in a while what is still running, if nobody is about to."""
        if not self._looking:
            self._looking = True
            self._running.call_later(self._timeouts.work_look_interval_s, self._look)

    def _look(self) -> None:
        """Say which choices take long, and where they are; go on while there is work."""
        self._looking = False
        for line in self._still_running.look(self._thinkers.at_work(), self._clock()):
            self._perform([Say(f"{self._bot.name}: {line}", trouble=True)])
        if self._thinkers.under_way:
            self._look_later()

    def _take_from_thread(self, step: Callable[[], list[Effect]]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has closed: nobody waits for it
            self._running.call_soon_threadsafe(self._take, step)

    def _warm_up(self, game: str) -> None:
        """In a thread of its own."""
        fault = None
        try:
            rules = load(game)
            self._bot.check_game(rules)
            warm_up(self._bot, rules)
        except Fault as exc:
            fault = str(exc)
        except BaseException as exc:
            fault = f"its code failed: {exc!r}"
        self._take_from_thread(partial(self._conversation.warmed, game, fault))

    def _thought(self, thought: Thought) -> None:
        """In a thinking thread."""
        self._take_from_thread(partial(self._conversation.thought, thought))
