"""An arena that hosts bots, the commands of their owners, and programs to hand in."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

from commands import Done
from in_process import call_beside, hosting
from processes import RunningArena
from web_client import Answer, answer

MINE = """from bots import Bot, run


class Mine(Bot):
    def choose(self, turn):
        return turn.legal[0]


run(Mine("mine"))
"""


LARGE = b"#" + Random(1).randbytes(2_000_000)
"""Two megabytes that can't be packed any tighter."""


@asynccontextmanager
async def hosting_arena(data: Path, *options: str) -> AsyncIterator[RunningArena]:
    async with hosting(data, "--hosting", "--web-port", "0", *options) as arena:
        await arena.page()
        yield arena


async def submit(arena: RunningArena, *words: str) -> Done:
    return await call_beside("arena-bot", "submit", "--server", arena.url, *words)


async def hosted(arena: RunningArena, *words: str, name: str = "mine") -> Done:
    return await call_beside("arena-bot", "hosted", name, "--server", arena.url, *words)


async def get(url: str, token: str | None, method: str = "GET") -> Answer:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return await asyncio.to_thread(answer, url, method, **headers)


def operator_token(arena: RunningArena) -> str:
    return str(json.loads((arena.data / "operator.json").read_text())["token"])
