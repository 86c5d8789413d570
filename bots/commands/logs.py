"""`arena-bot logs`: shows what the program of a hosted bot wrote in its matches, and where it failed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
import typer
from msgspec import Struct

from bots.agents.page import PageClient, PageError
from bots.client.settings import DEFAULT_URL
from bots.commands.owner_client import PageOption, ServerOption, TokenOption, client_of_owner
from bots.submission import explaining_absence
from machine.terminal import say
from protocol.display import escape_unprintable, short_repr
from protocol.errors import Fault, UsageFault
from protocol.match_logs import ProgramFault
from protocol.names import is_match_id


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
    server: ServerOption = DEFAULT_URL,
    token: TokenOption = None,
    page: PageOption = None,
) -> None:
    """Show what the program of a hosted bot wrote: the newest matches with a log, or the log of one match."""
    if match is not None and not is_match_id(match):
        raise UsageFault(f"--match is {short_repr(match)}: it is the id of a match, like 261129-184725-b0cc9097")
    client = client_of_owner(name, server, token, page)
    with explaining_absence():
        if match is not None:
            say("\n".join(_describe_match(name, _convert(client.fetch("bots", name, "logs", match), _Log), client)))
            return
        found = _convert(client.fetch("bots", name, "logs", search=search or None).get("logs"), list[_Log])
    if not found:
        raise Fault(f"{name}: no log contains {search!r}" if search else f"{name}: its program has written nothing")
    for log in found:
        say("\n".join(_describe_entry(log, client)))


def _convert(answer: Any, kind: Any) -> Any:
    try:
        return msgspec.convert(answer, kind)
    except msgspec.ValidationError as exc:
        raise PageError(f"the arena answers like another version: {exc}") from exc


def _describe_entry(log: _Log, client: PageClient) -> Iterator[str]:
    yield f"{log.match}  version {log.version}  {log.written}"
    yield from _describe_faults(log, client)
    yield from (f"  | {escape_unprintable(line)}" for line in log.lines)


def _describe_match(name: str, log: _Log, client: PageClient) -> Iterator[str]:
    yield f"{name}: match {log.match}, version {log.version}: {client.url_of('matches', log.match)}"
    yield from _describe_faults(log, client)
    yield from (escape_unprintable(line) for line in log.text.splitlines())


def _describe_faults(log: _Log, client: PageClient) -> Iterator[str]:
    """Yield a line for each fault, with the address of the position in which it came."""
    page = client.url_of("matches", log.match)
    yield from (f"  {escape_unprintable(str(fault))}: {page}#ply={fault.ply}" for fault in log.faults)
