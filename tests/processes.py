"""The arena and its bots as processes of their own, as a user starts them, for the tests of the whole."""

from __future__ import annotations

import asyncio
import functools
import resource
import subprocess
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import zygote
from arena.processes.server_process import ServerProcess
from commands import MODULES, user_environ
from machine.run_program import ProgramEnd, run_program
from timeouts import PATIENT_ENVIRON, WITHIN

REPOSITORY = Path(__file__).parents[1]


@dataclass
class RunningArena:
    """A running `arena serve`: its address, its data folder, and the lines of its log so far."""

    url: str
    data: Path
    said: list[str]
    news: asyncio.Event
    """Set at every line."""

    async def page(self) -> str:
        return (await self.says("the page is at ")).split()[-1]

    async def says(self, text: str, count: int = 1, after: int = 0) -> str:
        """The line of the log that is the `count`-th with this text after line `after`, once there is one."""
        async with asyncio.timeout(WITHIN):
            while len(found := [line for line in self.said[after:] if text in line]) < count:
                self.news.clear()
                await self.news.wait()
        return found[count - 1]


@dataclass
class Served(RunningArena):
    """One in a process of its own."""

    process: subprocess.Popen[bytes]


@asynccontextmanager
async def serving(data: Path, *options: str, files: int | None = None, **environ: str) -> AsyncIterator[Served]:
    """Run `arena serve` on a free port; it is told to stop at the end, and must then stop by itself.

    It has a page only where `options` give its port, may have so many `files` open, where that is given, and has
    `environ` beside what tests set.
    """
    page = () if "--web-port" in options else ("--no-web",)
    limits = () if files is None else [(resource.RLIMIT_NOFILE, files, files)]
    begin = functools.partial(zygote.program, env=_environ(data, **environ), limits=limits)
    loop, news = asyncio.get_running_loop(), asyncio.Event()
    server = ServerProcess(
        *("serve", *page, "--data", str(data), *options),
        start_program=begin,
        on_line=lambda: loop.call_soon_threadsafe(news.set),
    )
    server.start()
    try:
        assert await asyncio.to_thread(server.wait_until_ready, WITHIN), "the server ended: " + "".join(server.log)
        yield Served(server.url, data, server.log, news, server.process)
    finally:
        await asyncio.to_thread(server.stop, timeout_s=WITHIN)


@asynccontextmanager
async def showing(data: Path) -> AsyncIterator[str]:
    """Run `arena web` over a data folder; its URL. It is told to stop at the end, and must then stop by itself."""
    with pages_process(data) as pages:
        assert await asyncio.to_thread(pages.wait_until_ready, WITHIN), "the pages ended: " + "".join(pages.log)
        yield pages.url
    assert len(pages.log) == 1, pages.log


@contextmanager
def pages_process(data: Path) -> Iterator[ServerProcess]:
    """Run `arena web` over a data folder inside; it must stop by itself then."""
    pages = ServerProcess(
        "web", "--data", str(data), start_program=functools.partial(zygote.program, env=_environ(data))
    )
    pages.start()
    try:
        yield pages
    finally:
        pages.stop(timeout_s=WITHIN)


async def run(*command: str, folder: Path, typed: str = "", **environ: str) -> tuple[int, str, str]:
    """Run `arena …` or `arena-bot …` to its end: exit code, output, error output. Tokens are kept in `folder`.

    It reads what is `typed`.
    """
    words = (MODULES[command[0]], *command[1:])
    process = await zygote.async_program(words, env=_environ(folder, **environ), stdin=PIPE, stdout=PIPE, stderr=PIPE)
    try:
        out, err = await asyncio.wait_for(process.communicate(typed.encode()), WITHIN)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return process.returncode, (out or b"").decode(), err.decode()


async def run_command(*command: str, folder: Path, cwd: Path = REPOSITORY, **environ: str) -> ProgramEnd:
    """Run any program to its end, with nothing of ARENA_… in its environment but what is given.

    Tokens are kept in `folder`.
    """
    named = user_environ(XDG_CONFIG_HOME=str(folder), **environ)
    return await asyncio.wait_for(run_program(*command, cwd=cwd, env=named), WITHIN)


async def play(arena: Served, name: str, matches: int, *options: str) -> None:
    """Run a reference bot of the arena for so many matches of Nim, after which it must end well."""
    command = ["arena-bot", "run", name, "--url", arena.url, "--game", "nim", "--matches", str(matches), *options]
    code, _, err = await run(*command, folder=arena.data)
    assert code == 0, err  # on a busy machine it says there what took long


def _environ(folder: Path, **environ: str) -> dict[str, str]:
    return user_environ(**{"XDG_CONFIG_HOME": str(folder / "config"), **PATIENT_ENVIRON, **environ})
