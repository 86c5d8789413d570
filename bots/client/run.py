"""The shell of the client: sockets, threads, clock and terminal around a conversation. `run` begins here."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Unpack

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from bots import mistakes
from bots.client.bot import Bot
from bots.client.connecting import Away, Refused, connect
from bots.client.conversation import Conversation
from bots.client.loading import hand_over, refuse
from bots.client.settings import Given, Settings, check_name, check_token, from_environment, settle
from bots.client.still_running import LOOK_EVERY, StillRunning
from bots.client.talk import Effect, LookLater, Say, SeekLater, Stop, Talk, WarmUp
from bots.client.tokens import default_path, handed, token_for
from bots.client.warm_up import warm_up
from bots.client.worker_threads import Choose, Conclude, Prepare, Thought, WorkerThreads, on
from machine import event_loop
from machine.backoff import Backoff
from machine.subprocesses import keep_private
from machine.terminal import say
from protocol.codec import MSGPACK
from protocol.display import shown
from protocol.errors import Fault, MalformedMessage, UsageFault
from protocol.games import load
from protocol.games.base import Game
from protocol.messages import FromClient, Welcome

FIRST_DELAY, LONGEST_DELAY = 0.1, 5.0
"""Seconds between attempts to connect."""
BROKEN = 1006
INTERRUPTED = 130
"""The exit code where somebody wanted it to end."""
WELCOME_SOON = 30.0
"""Seconds after which it is said that the arena, which answers pings, has not let the bot in."""
REPORT_AGAIN = 30.0
"""Seconds after which it is said again that the arena cannot be reached."""


def run(bot: Bot, args: Sequence[str] | None = None, **given: Unpack[Given]) -> None:
    """Play `bot` until its matches are played or it is stopped.

    The command line (`args`, else the program's own) goes before the `ARENA_…` variables, and these before `given`.
    Raises `SystemExit` where the bot has to stop early: 1 if the arena refuses it, 2 if it was started wrongly.
    """
    from bots.client.options import from_command_line

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
    settings = settle(command_line, from_environment(os.environ), code, Given(matches=bot.matches))
    if settings.name is not None:
        bot.name = settings.name
    check_name(bot.name, "the bot's name")
    game = None if settings.game is None else load(settings.game, settings.config)
    if game is not None:
        bot.check_game(game)
    token = settings.token or _token(settings, bot.name)
    client = Client(bot, settings, token, game)
    try:
        if not settings.open:
            warm_up(bot, game)
        with asyncio.Runner(loop_factory=event_loop.new) as runner:
            exit_code = runner.run(client.play())
    except KeyboardInterrupt:
        exit_code = INTERRUPTED
    client.leave(exit_code)


def _token(settings: Settings, bot: str) -> str:
    """The token that somebody handed over, or the saved one."""
    if settings.token_fd is None:
        return token_for(settings.url, bot, default_path())
    keep_private()  # who hands it over wants it kept from the other bots on this machine
    token = handed(settings.token_fd)
    check_token(token)
    return token


class Link(ABC):
    """One connection after another, over which a bot has its say; what comes of it `_perform` does."""

    def __init__(self, name: str, settings: Settings, talk: Talk) -> None:
        self._name = name
        self._settings = settings
        self._talk = talk
        self._backoff = Backoff(FIRST_DELAY, LONGEST_DELAY, random.random)
        self._outbox: deque[FromClient] = deque()
        self._wake = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._code: int | None = None
        self._welcomed: float | None = None
        """When this connection stood."""
        self._down_since: float | None = None
        self._said = 0.0

    async def play(self) -> int:
        """Connect, converse, come back; the exit code in the end."""
        self._loop = asyncio.get_running_loop()
        while self._code is None:
            asked = await self._visit()
            if self._code is None:
                await asyncio.sleep(self._no_longer_than_patience(max(asked, self._backoff.delay())))
        return self._code

    async def _visit(self) -> float:
        """One connection, or none: the seconds for which the arena asks to be left alone then."""
        try:
            connection = await connect(self._settings.url)
        except Away as away:
            self._down(str(away))
            return away.after
        except Refused as fault:
            self._perform([Say(f"{self._name}: {fault}", trouble=True), Stop(1)])
            return 0.0
        await self._converse(connection)
        return 0.0

    def _no_longer_than_patience(self, seconds: float) -> float:
        if self._settings.patience is None or self._down_since is None:
            return seconds
        return max(0.0, min(seconds, self._down_since + self._settings.patience - time.monotonic()))

    def _down(self, why: str, so: str = "trying again") -> None:
        """Say why the bot is not in, and `so` what it does: at once, then now and then. Stop when patience ends."""
        now = time.monotonic()
        if self._down_since is None:
            self._down_since = now
        patience = self._settings.patience
        if patience is not None and now - self._down_since >= patience:
            self._perform([Say(f"{self._name}: {why}; gave up after {patience:g} s", trouble=True), Stop(1)])
        elif not self._said or now - self._said >= REPORT_AGAIN:
            self._said = now
            self._perform([Say(f"{self._name}: {why}; {so}", trouble=True)])

    async def _converse(self, connection: ClientConnection) -> None:
        self._outbox.clear()
        self._welcomed = None
        self._send(self._talk.hello())
        writer = asyncio.create_task(self._write(connection))
        waiting = asyncio.create_task(self._wait_for_welcome())
        try:
            await self._read(connection)
        finally:
            waiting.cancel()
            try:
                await connection.close()
            finally:
                writer.cancel()
                await asyncio.wait([writer])  # which, unlike `await writer`, tells its cancellation from ours
            if not writer.cancelled():
                writer.result()
        if self._code is None:
            code = connection.close_code or BROKEN
            if self._welcomed is not None:
                self._backoff.reset(time.monotonic() - self._welcomed)
            self._perform(self._talk.lost(code))
            if self._code is None:
                self._down(self._talk.ended(code))

    async def _wait_for_welcome(self) -> None:
        """Say now and then that it does not come, until it has or patience ends."""
        while self._code is None:
            await asyncio.sleep(self._no_longer_than_patience(WELCOME_SOON))
            if self._welcomed is not None:
                return
            self._down(f"{self._settings.url} has not let it in yet", "waiting")

    async def _read(self, connection: ClientConnection) -> None:
        while True:
            try:
                frame = await connection.recv()
            except ConnectionClosed:
                return
            try:
                message = MSGPACK.decode_server(frame)
            except MalformedMessage as exc:
                self._perform([Say(f"{self._name}: not understood: {exc}", trouble=True)])
                continue
            self._perform(self._talk.receive(message, time.monotonic()))
            if type(message) is Welcome:
                self._welcomed = time.monotonic()
                self._down_since = None
                self._said = 0.0

    async def _write(self, connection: ClientConnection) -> None:
        """Send what is in the outbox, in order; close once the bot has stopped."""
        outbox = self._outbox
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                while outbox:
                    await connection.send(MSGPACK.encode(outbox.popleft()))
            except ConnectionClosed:
                return
            if self._code is not None:
                await connection.close()
                return

    def _perform(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, FromClient):
                self._send(effect)
            elif isinstance(effect, Say):
                say(effect.line, err=effect.trouble, flush=True)
            elif isinstance(effect, Stop):
                self._code = effect.code
                self._wake.set()
            else:
                self._do(effect)

    @abstractmethod
    def _do(self, effect: Effect) -> None:
        """Do what is neither to be sent nor to be said."""

    def _send(self, message: FromClient) -> None:
        self._outbox.append(message)
        self._wake.set()

    @property
    def _running(self) -> asyncio.AbstractEventLoop:
        assert self._loop is not None, "play() has begun"
        return self._loop


class Client(Link):
    """One bot process: a conversation with the arena, and threads in which the bot thinks."""

    def __init__(self, bot: Bot, settings: Settings, token: str, game: Game[Any, Any] | None = None) -> None:
        self._bot = bot
        self._conversation = Conversation(bot, settings, token, game)
        self._thinkers = WorkerThreads(bot, self._thought, settings.min_move_time)
        self._still_running = StillRunning()
        self._looking = False
        """Whether somebody is to look what is still running."""
        super().__init__(bot.name, settings, self._conversation)

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

    def _do(self, effect: Effect) -> None:
        if isinstance(effect, (Choose, Prepare, Conclude)):
            self._thinkers.submit(effect)
            self._look_later()
        elif isinstance(effect, SeekLater):
            self._running.call_later(effect.seconds, self._take, self._conversation.seek)
        elif isinstance(effect, LookLater):
            self._running.call_later(effect.seconds, self._take, self._conversation.look)
        elif isinstance(effect, WarmUp):
            threading.Thread(target=self._warm_up, args=(effect.game,), daemon=True).start()

    def _look_later(self) -> None:
        """Look in a while what is still running, if nobody is about to."""
        if not self._looking:
            self._looking = True
            self._running.call_later(LOOK_EVERY, self._look)

    def _look(self) -> None:
        """Say which choices take long, and where they are; go on while there is work."""
        self._looking = False
        for line in self._still_running.look(self._thinkers.at_work(), time.monotonic()):
            self._perform([Say(f"{self._bot.name}: {line}", trouble=True)])
        if self._thinkers.under_way:
            self._look_later()

    def _take(self, step: Callable[[], list[Effect]]) -> None:
        """Take a step of the conversation."""
        self._perform(step())

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
