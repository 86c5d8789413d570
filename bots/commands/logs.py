"""`arena-bot logs`: shows what the program of a hosted bot wrote in its matches, and where it failed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
import typer
from msgspec import Struct

from bots.agents.page import PageClient, PageError, check_page
from bots.client.settings import DEFAULT_URL, check_name, check_url, read_token
from bots.client.tokens import default_path, find_token
from bots.submission import explaining_absence
from machine.terminal import say
from protocol import bot_launch
from protocol.display import escape_unprintable
from protocol.errors import Fault, UsageFault
from protocol.match_logs import ProgramFault


class _Log(Struct, frozen=True, kw_only=True):
    """The fields of a log that this command shows."""

    match: str
    version: int
    written: str
    faults: tuple[ProgramFault, ...] = ()
    lines: tuple[str, ...] = ()
    text: str = ""


def logs(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The bot.")],
    match: Annotated[str | None, typer.Option(metavar="ID", help="Show the whole log of this match.")] = None,
    search: Annotated[str, typer.Option(metavar="TEXT", help="List the matches whose logs contain this text.")] = "",
    server: Annotated[
        str, typer.Option(envvar=bot_launch.URL_VARIABLE, metavar="URL", help="The arena.")
    ] = DEFAULT_URL,
    token: Annotated[
        str | None, typer.Option(envvar=bot_launch.TOKEN_VARIABLE, help="The bot's token; else the saved one.")
    ] = None,
    page: Annotated[str | None, typer.Option(metavar="URL", help="The arena's page [the arena names it].")] = None,
) -> None:
    """Show what the program of a hosted bot wrote: the newest matches with a log, or the log of one match."""
    client = client_of_owner(name, server, token, page)
    with explaining_absence():
        if match is not None:
            say("\n".join(_describe_match(name, _convert(client.fetch("bots", name, "logs", match), _Log))))
            return
        found = _convert(client.fetch("bots", name, "logs", search=search or None).get("logs"), list[_Log])
    if not found:
        raise Fault(f"{name}: no log contains {search!r}" if search else f"{name}: its program has written nothing")
    for log in found:
        say("\n".join(_describe_entry(log)))


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


def _convert(answer: Any, kind: Any) -> Any:
    try:
        return msgspec.convert(answer, kind)
    except msgspec.ValidationError as exc:
        raise PageError(f"the arena answers like another version: {exc}") from exc


def _describe_entry(log: _Log) -> Iterator[str]:
    yield f"{log.match}  version {log.version}  {log.written}"
    yield from (f"  {escape_unprintable(str(fault))}" for fault in log.faults)
    yield from (f"  | {escape_unprintable(line)}" for line in log.lines)


def _describe_match(name: str, log: _Log) -> Iterator[str]:
    yield f"{name}: match {log.match}, version {log.version}"
    yield from (escape_unprintable(line) for line in log.text.splitlines())
