"""The pages over a data folder alone, in a process of their own, as a user starts them."""

from __future__ import annotations

import asyncio
import os
import re
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import zygote
from processes import stopped
from timeouts import WITHIN

PAGE = re.compile(r"the page is at (http://\S+)")


@asynccontextmanager
async def showing(data: Path) -> AsyncIterator[str]:
    """Run `arena web` over a data folder; its URL. It is told to stop at the end, and must then stop by itself."""
    environ = {key: value for key, value in os.environ.items() if not key.startswith("ARENA_")}
    command = ["arena", "web", "--data", str(data), "--web-port", "0"]
    process = await zygote.async_program(command, env=environ, stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE)
    assert process.stderr is not None
    try:
        async with asyncio.timeout(WITHIN):
            said = ""
            while not (found := PAGE.search(said)):
                line = await process.stderr.readline()
                assert line, "the pages ended: " + said
                said += line.decode()
        yield found[1]
    finally:
        await stopped(process)
    err = await process.stderr.read()
    assert err == b"", err.decode()
