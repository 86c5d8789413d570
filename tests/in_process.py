"""The arena and its bots in the process of the test: for tests of what they do, not of their being programs.

The arena is the whole of `arena serve`, with its options, its log, its page and its operator's socket. What it saves is
the start of a program, which costs more than most of what a test then does.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
import signal
import socket
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal

import arena.commands.serve
from arena.commands.data_dir import hold_data_dir
from arena.commands.listening import bind_ports
from arena.commands.settings import ServerSettings, node_of
from arena.commands.web import PageProcess
from arena.lobby.suspensions import Suspensions
from arena.network.addresses import parse_networks
from arena.store.store import Reader
from arena.web.http_connections import PageServer
from arena.web.site import Site
from bots.client.installed import find_installed
from bots.client.options import read_command_line
from bots.client.run import Client
from bots.client.settings import merge_settings
from commands import Done, call
from machine import event_loop
from machine.client.client_protocol import Effect, PrintLine
from machine.log_output import TextLines
from machine.timeouts import FACTOR_VARIABLE
from patience import PATIENT_CLIENT
from players import token_of
from processes import RunningArena
from protocol.games import load_game
from timeouts import BUSY_ENVIRON, WITHIN

TIMEOUT_FACTOR = 24
"""With which an arena waits longer for a client than tests wait for anything."""


def hosting(data: Path, *options: str) -> AbstractAsyncContextManager[RunningArena]:
    """Run `arena serve` in the event loop of whoever enters this, on a free port; stop it at the end.

    It has a page only where `options` give its port, and no bots of its own. It can be no node: one that stands still
    for long ends its process.
    """
    page = () if "--web-port" in options else ("--no-web",)
    return _hosting(_settings_of("--port", "0", *page, "--data", str(data), *options))


@asynccontextmanager
async def _hosting(settings: ServerSettings) -> AsyncIterator[RunningArena]:
    data, said, news, stops = Path(settings.data), list[str](), asyncio.Event(), list[asyncio.Event]()
    with (
        _logging_to(said, news, settings),
        _as_in_a_process(stops),
        bind_ports(settings) as ports,
        hold_data_dir(data, settings.db),
    ):
        serving = asyncio.create_task(arena.commands.serve.serve(settings, data, ports))
        hosted = RunningArena("", data, said, news)
        try:
            line = await _first(hosted.says("listening on "), serving)
            hosted.url = line.split("listening on ")[1].split()[0]
            yield hosted
        finally:
            for stop in stops:
                stop.set()
            await asyncio.wait_for(serving, WITHIN)


@contextlib.contextmanager
def hosted_beside(data: Path, *options: str, bots: Collection[str] = ()) -> Iterator[RunningArena]:
    """Run `arena serve` in a thread, for tests that call commands meanwhile; these reference bots play Nim there."""
    arena_of_test = hosting(data, *options)
    with start_blocking_portal() as beside, contextlib.ExitStack() as stack:
        hosted = stack.enter_context(beside.wrap_async_context_manager(arena_of_test))
        for bot in bots:
            play_on = playing(hosted, bot, "--game", "nim", "--min-move-time", "0.02")
            stack.enter_context(beside.wrap_async_context_manager(play_on))
        if bots:
            beside.call(hosted.says, " ended: nim")
        yield hosted


async def call_beside(program: str, *words: str, **environ: str) -> Done:
    """Run a command line in a thread of this process, while the event loop goes on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signal, "signal", lambda *_: None)  # which the main thread alone may call
        return await asyncio.to_thread(call, program, *words, **environ)


async def play(served: RunningArena, bot: str, matches: int, *options: str) -> list[str]:
    """Have a reference bot play so many matches, of Nim unless `options` have it otherwise; what it says.

    It must end well.
    """
    game = () if "--game" in options else ("--game", "nim")
    client = _client(served, bot, "--matches", str(matches), *game, *options)
    async with asyncio.timeout(WITHIN):
        code = await client.play()
    assert code == 0, client.said
    return client.said


@asynccontextmanager
async def playing(served: RunningArena, bot: str, *options: str) -> AsyncIterator[None]:
    """Have a reference bot play without end inside, once it is connected."""
    name = options[options.index("--name") + 1] if "--name" in options else bot
    async with event_loop.background_task(_client(served, bot, *options).play()):
        await served.says(f"{name} (bot-arena/python) connected")
        yield


def _client(served: RunningArena, bot: str, *options: str) -> _Client:
    """A reference bot by its command line; its token follows from its name."""
    made = find_installed()[bot].load()(bot)
    settings = merge_settings(read_command_line(made, ("--url", served.url, *options)), games=len(made.games))
    made.name = settings.name or bot
    game = None if settings.game is None else load_game(settings.game, settings.config)
    if game is not None:
        made.check_game(game)
    return _Client(made, settings, token_of(made.name), game, PATIENT_CLIENT)


class _Client(Client):
    """A bot that keeps what it would print."""

    def __init__(self, *given: Any) -> None:
        self.said: list[str] = []
        super().__init__(*given)

    def _perform(self, effects: Any) -> None:
        rest: list[Effect] = []
        for effect in effects:
            if isinstance(effect, PrintLine):
                self.said.append(effect.line)
            else:
                rest.append(effect)
        super()._perform(rest)


def _settings_of(*options: str) -> ServerSettings:
    """The settings of an `arena serve` with these options, as its command line reads them."""
    found: list[ServerSettings] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arena.commands.serve, "run", found.append)
        done = call("arena", "serve", *options)
    assert found, done.err
    return found[0]


@contextlib.contextmanager
def _logging_to(said: list[str], news: asyncio.Event, settings: ServerSettings) -> Iterator[None]:
    """Keep what the arena logs from its level on."""

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.name.split(".")[0] in ("arena", "referee", "machine"):
                said.append(self.format(record) + "\n")
                loop.call_soon_threadsafe(news.set)

    loop, root, handler = asyncio.get_running_loop(), logging.getLogger(), Lines()
    handler.setFormatter(TextLines(node_of(settings)))
    level = root.level
    root.addHandler(handler)
    root.setLevel(min(level, logging.getLevelName(settings.log_level.upper())))
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


@contextlib.contextmanager
def _as_in_a_process(stops: list[asyncio.Event]) -> Iterator[None]:
    """Take back at the end what an arena sets for all of its process; no client meets a time limit inside.

    What a signal would set, to stop an arena that begins inside, is put into `stops`. A bot counts as ready as soon as
    it has a seat: else a match that a test leaves before a bot is ready would keep all newcomers, whose address is the
    same, from playing for longer than any test waits.
    """
    files = resource.getrlimit(resource.RLIMIT_NOFILE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(FACTOR_VARIABLE, str(TIMEOUT_FACTOR))
        for key, value in BUSY_ENVIRON.items():
            patch.setenv(key, value)
        patch.setattr(event_loop, "relax_gc", lambda: None)  # going through all of pytest's objects takes long
        patch.setattr(type(asyncio.get_running_loop()), "add_signal_handler", lambda *_: None)  # they are for pytest
        patch.setattr(arena.commands.serve, "_obey_signals", lambda stop, *_: stops.append(stop))
        patch.setattr(PageProcess, "run", _serve_page)
        patch.setattr(Suspensions, "on_seated", lambda self, bot, address: self.on_ready(bot, ()))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, files)


async def _serve_page(page: PageProcess) -> str:
    """Serve the page that a process of its own would serve, until this is cancelled."""
    order = page._config
    assert order.certificate is None, "only a page in a process of its own is encrypted"
    sockets = [socket.socket(fileno=socket.dup(descriptor)) for descriptor in order.descriptors]
    with contextlib.closing(Reader.open(order.where)) as reader, contextlib.ExitStack() as stack:
        for one in sockets:
            stack.enter_context(one)
        site = Site(
            reader, socket=order.socket, registration=order.registration, admin=order.admin, hosting=order.hosting
        )
        server = PageServer(site, None, parse_networks(order.proxies))
        serving = asyncio.create_task(server.serve(sockets))
        try:
            await asyncio.shield(serving)
        finally:
            server.stop()
            await serving
    return "ended"


async def _first(work: Any, other: asyncio.Task[None]) -> str:
    """Return what comes of some work. Raises what the other has failed with, if that ends before."""
    working = asyncio.ensure_future(work)
    await asyncio.wait((working, other), return_when=asyncio.FIRST_COMPLETED)
    if not working.done():
        working.cancel()
        other.result()
    found: str = await working
    return found
