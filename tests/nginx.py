"""nginx as a process of its own, for the configurations that docs/ and deploy/ have."""

from __future__ import annotations

import asyncio
import functools
import re
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from arena.processes.server_process import LoggedProcess
from programs import program
from timeouts import WITHIN

IN_FRONT = "daemon off; master_process off;"


@asynccontextmanager
async def nginx(folder: Path, config: str) -> AsyncIterator[None]:
    """Run it with a configuration that names no file outside this folder."""
    file = folder / "nginx.conf"
    file.write_text(config)
    words = (program("nginx", "nginx-light"), "-p", str(folder), "-c", str(file), "-g", IN_FRONT)
    process = LoggedProcess(functools.partial(subprocess.Popen, words))
    process.start()
    try:
        await asyncio.to_thread(process.wait_for_line, "using the", WITHIN)
        yield
    finally:
        await asyncio.to_thread(process.stop)


def replaced(config: str, changes: Mapping[str, str]) -> str:
    """The configuration with what a pattern finds, once or more, replaced."""
    for pattern, ours in changes.items():
        config, count = re.subn(pattern, ours, config)
        assert count, pattern
    return config
