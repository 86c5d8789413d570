"""The arena and its bots as processes of their own, as a user starts them, for the tests of the whole."""

from __future__ import annotations

import asyncio
import os
import re
import resource
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import zygote
from timeouts import PATIENT_ENVIRON, WITHIN

REPOSITORY = Path(__file__).parents[1]


@dataclass
class Served:
    """A running `arena serve`: its address, its data folder, and the lines of its log so far."""

    url: str
    data: Path
    process: Process
    said: list[str]
    news: asyncio.Event
    """Set at every line."""

    async def page(self) -> str:
        """The address of its page."""
        return (await self.says("the page is at ")).split()[-1]

    async def says(self, text: str) -> str:
        """The first line of the log that has this text, once there is one."""
        async with asyncio.timeout(WITHIN):
            while (found := next((line for line in self.said if text in line), None)) is None:
                self.news.clear()
                await self.news.wait()
        return found


@asynccontextmanager
async def serving(data: Path, *options: str, files: int | None = None, **environ: str) -> AsyncIterator[Served]:
    """Run `arena serve` on a free port; it is told to stop at the end, and must then stop by itself.

    It has a page only where `options` give its port, may have so many `files` open, where that is given, and has
    `environ` beside what tests set.
    """
    page = () if "--web-port" in options else ("--no-web",)
    command = ("arena", "serve", "--port", "0", *page, "--data", str(data), *options)
    process = await _start(*command, folder=data, files=files, **environ)
    assert process.stderr is not None
    said: list[str] = []
    reading = None
    try:
        async with asyncio.timeout(WITHIN):
            while not (found := re.search(r"listening on (wss?://[^,\s]+)", said[-1] if said else "")):
                line = await process.stderr.readline()
                assert line, "the server ended: " + "".join(said)
                said.append(line.decode())
        served = Served(found[1], data, process, said, asyncio.Event())
        reading = asyncio.create_task(_read_on(process.stderr, served))
        yield served
    finally:
        await stopped(process)
        if reading is not None:
            await reading


async def stopped(process: Process) -> None:
    """Tell a process to stop, which it must then do by itself: one that does not is killed, and fails the test."""
    if process.returncode is None:
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), WITHIN)
    finally:
        if process.returncode is None:
            process.kill()


async def run(*command: str, folder: Path, **environ: str) -> tuple[int, str, str]:
    """Run `arena …` or `arena-bot …` to its end: exit code, output, error output. Tokens are kept in `folder`."""
    process = await _start(*command, folder=folder, files=None, **environ)
    try:
        out, err = await asyncio.wait_for(process.communicate(), WITHIN)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return process.returncode, (out or b"").decode(), err.decode()


async def play(arena: Served, name: str, matches: int, *options: str) -> None:
    """Run a reference bot of the arena for so many matches of Nim, after which it must end well."""
    command = ["arena-bot", "run", name, "--url", arena.url, "--game", "nim", "--matches", str(matches), *options]
    code, _, err = await run(*command, folder=arena.data)
    assert code == 0, err  # on a busy machine it says there what took long


async def _start(program: str, *arguments: str, folder: Path, files: int | None, **environ: str) -> Process:
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("ARENA_")}
    return await zygote.async_program(
        [{"arena": "arena", "arena-bot": "bots"}[program], *arguments],
        env={**inherited, "XDG_CONFIG_HOME": str(folder / "config"), "TERM": "dumb", **PATIENT_ENVIRON, **environ},
        stdin=DEVNULL,
        stdout=PIPE if program == "arena-bot" or arguments[0] != "serve" else DEVNULL,
        stderr=PIPE,
        limits=() if files is None else [(resource.RLIMIT_NOFILE, files, files)],
    )


async def _read_on(stream: asyncio.StreamReader, served: Served) -> None:
    while line := await stream.readline():
        served.said.append(line.decode())
        served.news.set()
