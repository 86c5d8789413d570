"""nginx as a process of its own, for the configurations that docs/ and deploy/ have."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from programs import program
from timeouts import WITHIN

IN_FRONT = "daemon off; master_process off;"


@asynccontextmanager
async def nginx(folder: Path, config: str) -> AsyncIterator[None]:
    """Run it with a configuration that names no file outside this folder."""
    file = folder / "nginx.conf"
    file.write_text(config)
    process = await asyncio.create_subprocess_exec(
        program("nginx", "nginx-light"),
        "-p",
        str(folder),
        "-c",
        str(file),
        "-g",
        IN_FRONT,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    said = b""
    try:
        async with asyncio.timeout(WITHIN):
            while b"start worker" not in (line := await process.stderr.readline()) and b"using the" not in line:
                said += line
                assert line, f"nginx ended: {said.decode()}"
        reading = asyncio.create_task(process.stderr.read())
        yield
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()
    await reading


def replaced(config: str, changes: Mapping[str, str]) -> str:
    """The configuration with what a pattern finds, once or more, replaced."""
    for pattern, ours in changes.items():
        config, count = re.subn(pattern, ours, config)
        assert count, pattern
    return config
