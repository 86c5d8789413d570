"""The bots of the house, kept running: started, started again with growing waits, and ended with the server."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from arena.builtin_bots.specs import BuiltinBot
from arena.processes.launch_spec import LaunchSpec
from arena.processes.process import BotProcess, Crash
from arena.processes.restart_policy import keep_running
from arena.processes.warmup_notice import tell_warm_ups
from protocol import bot_launch
from protocol.errors import ArenaFault

FIRST_WAIT = 1.0
"""Seconds until a bot is started again, at first."""
NICE = 10
"""The referee goes first, then the page."""
LARGEST_LOG = 1024 * 1024
"""Bytes of a log; then it is begun anew, and the one before it is kept."""
LOOK_EVERY = 60.0

log = logging.getLogger("arena.builtin_bots")


class Supervisor:
    """Bots that play in an arena from `begin` to `end`, each with its token; their output goes to `folder`."""

    def __init__(
        self,
        bots: Sequence[BuiltinBot],
        tokens: Mapping[str, str],
        folder: Path,
        environment: Mapping[str, str],
    ) -> None:
        self._bots = bots
        self._tokens = tokens
        self._folder = folder
        self._environment = environment
        self._keeping: asyncio.Task[None] | None = None

    def begin(self, url: str) -> None:
        """Start them, and keep them running; the arena is at `url`."""
        self._keeping = asyncio.create_task(self._keep_all(url))

    async def end(self) -> None:
        """End them."""
        if self._keeping is not None:
            self._keeping.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._keeping

    async def _keep_all(self, url: str) -> None:
        environment = {**self._environment, bot_launch.URL: url, bot_launch.TOKEN_FD: "0"}
        with tell_warm_ups(self._folder):
            async with asyncio.TaskGroup() as group:
                for bot in self._bots:
                    order = LaunchSpec(
                        command=bot.command, environment=environment, token=self._tokens[bot.name], nice=NICE
                    )
                    run = partial(self._run, bot.name, order)
                    group.create_task(keep_running(run, FIRST_WAIT, log, "the house's bot"))
                group.create_task(self._bound_logs())

    async def _run(self, name: str, order: LaunchSpec) -> str:
        """One process from its start to its end, in words."""
        ended: asyncio.Queue[str] = asyncio.Queue()

        def crashed(process: BotProcess, crash: Crash) -> None:
            ended.put_nowait(" ".join(str(crash).split()))

        process = BotProcess(name, order, self._log(name), crashed)
        try:
            await process.start()
            return await ended.get()
        except ArenaFault as fault:
            return str(fault)
        finally:
            await process.stop(0)

    def _log(self, name: str) -> Path:
        return self._folder / f"{name}.log"

    async def _bound_logs(self) -> None:
        while True:
            for bot in self._bots:
                with contextlib.suppress(OSError):
                    begin_anew(self._log(bot.name))
            await asyncio.sleep(LOOK_EVERY)


def begin_anew(file: Path) -> None:
    """Begin a log anew that has grown too large, and keep what it held. Who writes to it appends, and need not know."""
    if file.stat().st_size > LARGEST_LOG:
        file.with_suffix(".log.1").write_bytes(file.read_bytes())
        with file.open("r+b") as opened:
            opened.truncate()
