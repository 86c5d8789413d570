"""A server with the operator's pages, and what its store says of what they did."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from admin_client import AdminClient
from arena.store.actions import AuditEntry, actions_page
from arena.store.registry import RegisteredBot, all_bots
from arena.store.store import Reader
from in_process import hosting
from processes import RunningArena

T = TypeVar("T")


@dataclass
class AdminServer:
    """A running server, the address of its page, and its operator's token."""

    served: RunningArena
    url: str
    token: str

    async def operator(self) -> AdminClient:
        """A browser that is signed in."""
        return await AdminClient.signed_in(self.url, self.token)

    async def read(self, query: Callable[..., T], *words: object, **named: object) -> T:
        """What the store says."""

        def read() -> T:
            with closing(Reader.open(self.served.data / "arena.db")) as reader:
                return reader.read(query, *words, **named)

        return await asyncio.to_thread(read)

    async def bots(self) -> dict[str, RegisteredBot]:
        return {bot.name: bot for bot in await self.read(all_bots)}

    async def actions(self) -> list[AuditEntry]:
        """The newest first."""
        return (await self.read(actions_page, limit=500)).rows


@asynccontextmanager
async def admin_server(data: Path, *options: str) -> AsyncIterator[AdminServer]:
    """Run one with these options, in the process of the test."""
    async with hosting(data, "--web-port", "0", "--admin", *options) as hosted:
        url = await hosted.page()
        yield AdminServer(hosted, url, json.loads((data / "operator.json").read_text())["token"])
