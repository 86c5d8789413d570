"""`arena-bot mcp`: a server of the Model Context Protocol that gives a language model a seat."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Annotated

import typer

from bots.client.settings import PartialSettings, Settings, check_name, merge_settings, read_environment, read_token
from bots.client.tokens import default_path, find_or_make_token
from machine.input_file import read_bytes
from machine.text_encoding import decode
from protocol.errors import UsageFault, os_errors_as


def mcp(
    url: Annotated[str | None, typer.Option(help="The arena, ws://host:port [ARENA_URL].")] = None,
    name: Annotated[str | None, typer.Option(help="The name to play under [ARENA_BOT].")] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A file with the token in a line; else ARENA_TOKEN, a saved or new token."),
    ] = None,
    slow: Annotated[bool, typer.Option("--slow", help="Seek unrated matches on the slow clock.")] = False,
    page: Annotated[str | None, typer.Option(help="The URL of the arena's web pages [as the arena says].")] = None,
) -> None:
    """Run a server of the Model Context Protocol on standard input and output.

    Its tools let a language model play.
    """
    settings = merge_settings(PartialSettings(url=url, name=name), _agent_settings(read_environment(os.environ)))
    if settings.name is None:
        raise UsageFault("it plays under a name of its own: add --name NAME")
    check_name(settings.name, "the bot's name")
    try:
        from bots.agents.server import serve
    except ModuleNotFoundError as exc:
        if (exc.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        raise UsageFault("the extra mcp is missing: in the folder of Bot Arena, pip install -e '.[mcp]'") from exc
    from bots.agents.page import PageClient, check_page
    from bots.agents.session import AgentSession
    from bots.agents.tools import AgentTools

    at = None if page is None else check_page(page)
    session = AgentSession(settings.name, settings, _find_token(settings, settings.name, token_file))
    offered = AgentTools(settings.name, session, PageClient(settings.url, at), slow=slow)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a thread blocked on standard input would delay any milder end
    asyncio.run(serve(offered, session))


def _agent_settings(settings: PartialSettings) -> PartialSettings:
    """Return those settings from the environment that an agent uses. The settings for seeks are left out, because the
    agent makes its seeks with the tools.
    """
    return PartialSettings(
        url=settings.get("url"), name=settings.get("name"), token=settings.get("token"), hosts=settings.get("hosts")
    )


def _find_token(settings: Settings, name: str, file: Path | None) -> str:
    """Return the agent's token: from the file, the environment or the saved tokens, or a new one, which is saved."""
    if file is None:
        return settings.token or find_or_make_token(settings.url, name, default_path())
    with os_errors_as(UsageFault, f"the token file {file}"):
        written = read_bytes(file)
    try:
        return read_token(decode(written))
    except UnicodeDecodeError:
        raise UsageFault(f"the token file {file} is not text: it has the token in a line") from None
