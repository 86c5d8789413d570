"""The options by which the owner of a hosted bot names the arena and the token, and the client that they make."""

from __future__ import annotations

from typing import Annotated

import typer

from bots.agents.page import PageClient, check_page
from bots.client.settings import check_name, check_url, read_token
from bots.client.tokens import default_path, find_token
from protocol import bot_launch
from protocol.errors import UsageFault

ServerOption = Annotated[str, typer.Option(envvar=bot_launch.URL_VARIABLE, metavar="URL", help="The arena.")]
TokenOption = Annotated[
    str | None, typer.Option(envvar=bot_launch.TOKEN_VARIABLE, help="The bot's token; else the saved one.")
]
PageOption = Annotated[str | None, typer.Option(metavar="URL", help="The arena's page [the arena names it].")]


def client_of_owner(name: str, server: str, token: str | None, page: str | None) -> PageClient:
    """Return a client that sends the token of a bot: this one, or the saved one. Raise `Fault` for bad words, or if no
    token is saved.
    """
    check_url(server)
    check_name(name, "the bot's name")
    secret = find_token(server, name, default_path()) if token is None else read_token(token)
    if secret is None:
        raise UsageFault(f"no token of {name} at {server} is saved here: give it with --token")
    return PageClient(server, None if page is None else check_page(page), token=secret)
