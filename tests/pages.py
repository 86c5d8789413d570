"""The pages over a data folder alone, in a process of their own, as a user starts them."""

from __future__ import annotations

import asyncio
import re
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from processes import REPOSITORY, stopped
from timeouts import WITHIN

PAGE = re.compile(r"the page is at (http://\S+)")


@asynccontextmanager
async def showing(data: Path) -> AsyncIterator[str]:
    """Run `arena web` over a data folder; its URL. It is told to stop at the end, and must then stop by itself."""
    command = [sys.executable, "-m", "arena", "web", "--data", str(data), "--web-port", "0"]
    process = await asyncio.create_subprocess_exec(*command, cwd=REPOSITORY, stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE)
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
