"""A language model's client, the Python SDK's own, and the `arena-bot mcp` that it has to do with."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import TextContent

import bots.agents.server
import bots.commands.mcp
import zygote
from bots.agents.server import make_server
from bots.agents.session import AgentSession
from bots.agents.tools import AgentTools
from commands import call
from processes import REPOSITORY
from timeouts import WITHIN


class Refused(Exception):
    """A tool answered that it could not; the text says why."""


class Model:
    """What a model does through its client: it calls tools."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.read = ""
        """The text of the last answer."""

    async def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """The fields of what a tool answers. Raises `Refused`."""
        result = await self.client.call_tool(name, arguments, WITHIN)
        (content,) = result.content
        assert isinstance(content, TextContent)
        self.read = content.text
        if result.is_error:
            assert result.structured_content is None
            raise Refused(content.text)
        fields: dict[str, Any] = result.structured_content
        return fields

    async def refusal(self, name: str, /, **arguments: Any) -> str:
        """The line with which a tool refuses."""
        try:
            await self.call(name, **arguments)
        except Refused as refused:
            return str(refused)
        raise AssertionError(f"{name} took {arguments}: {self.read}")

    async def play(self, look: dict[str, Any]) -> dict[str, Any]:
        """Make the first legal move at every turn until the match is over; the last answer."""
        while look["state"] != "over":
            if look["state"] == "your_turn":
                move = look["match"]["legal_moves"][0]
                look = await self.call("move", move=move, why=f"{move} is the first of the list")
            else:
                look = await self.call("look", wait_s=20)
        return look


@asynccontextmanager
async def model(url: str, folder: Path, *options: str) -> AsyncIterator[Model]:
    """Yield a client of what `arena-bot mcp` serves under the name model, in this process and without a pipe between.

    Its token is kept in the folder.
    """
    offered, session = _made_by("--url", url, "--name", "model", *options, XDG_CONFIG_HOME=str(folder))
    keeping = asyncio.create_task(session.keep_connection())
    try:
        async with Client(make_server(offered)) as client:
            yield Model(client)
    finally:
        await session.close(keeping)


def _made_by(*options: str, **environ: str) -> tuple[AgentTools, AgentSession]:
    """The tools and the session that `arena-bot mcp` makes of its options, and would then serve."""
    made: list[tuple[AgentTools, AgentSession]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bots.agents.server, "serve", lambda offered, session: (offered, session))
        patch.setattr(bots.commands.mcp, "asyncio", SimpleNamespace(run=made.append))
        done = call("arena-bot", "mcp", *options, **environ)
    assert made, done.err
    return made[0]


@asynccontextmanager
async def model_program(url: str, folder: Path, *options: str) -> AsyncIterator[Model]:
    """Yield a client that runs `arena-bot mcp` under the name model, as such clients do.

    Its log is in the folder, where its token is kept.
    """
    words = ["-m", "bots", "mcp", "--url", url, "--name", "model", *options]
    environ = zygote.environment(XDG_CONFIG_HOME=str(folder))
    server = StdioServerParameters(command=sys.executable, args=words, env=environ, cwd=REPOSITORY)
    with (folder / "model.log").open("w") as log, zygote.forking():
        async with Client(stdio_client(server, log)) as client:
            yield Model(client)
