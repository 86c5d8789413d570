"""The arena that a bot is examined on: `arena serve` in a process and a folder of its own, which can be restarted."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import sys
from pathlib import Path

from arena.processes.process import ended
from protocol.errors import ArenaFault

START_WITHIN = 60.0
STOP_WITHIN = 10.0
CLOCK = "60+0.5"


class TestServer:
    """A server on a free port of this machine; `start` after `stop` goes on where it was."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._process: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self.port = 0

    async def start(self) -> None:
        """Return when it listens. Raises `ArenaFault` if it does not."""
        command = ["-m", "arena", "serve", "--no-web", "--clock", CLOCK]
        command += ["--port", str(self.port), "--data", str(self._data)]
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            *command,
            env={key: value for key, value in os.environ.items() if not key.startswith("ARENA_")},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        stream = self._process.stderr
        assert stream is not None
        said = ""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(START_WITHIN):
                while line := (await stream.readline()).decode(errors="replace"):
                    said = line.strip()
                    if found := re.search(r"listening on ws://\S+?:(\d+)", line):
                        self.port = int(found[1])
                        self._reading = asyncio.create_task(_discard(stream))
                        return
        await self.stop()
        raise ArenaFault(f"the server that bots are examined on does not start: {said or 'it says nothing'}")

    async def stop(self) -> None:
        """Have it stop as Ctrl-C does; it closes every connection with 1012."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        process.terminate()
        if not await ended(process, STOP_WITHIN):
            process.kill()
            await process.wait()
        if self._reading is not None:
            await self._reading


async def _discard(stream: asyncio.StreamReader) -> None:
    while await stream.read(65536):
        pass
