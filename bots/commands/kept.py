"""`arena-bot kept`: fetches the files that a hosted bot keeps between its matches."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from msgspec import Struct

from bots.agents.page import PageError
from bots.client.settings import DEFAULT_URL
from bots.commands.owner_client import PageOption, ServerOption, TokenOption, client_of_owner
from bots.submission import explaining_absence
from machine.atomic_write import write_new_file
from machine.terminal import say
from protocol.display import short_repr
from protocol.errors import Fault, UsageFault, os_errors_as


class _Kept(Struct, frozen=True, kw_only=True):
    version: int
    files: dict[str, bytes]


def kept(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The bot.")],
    to: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Write the files to this folder.")] = None,
    version: Annotated[int | None, typer.Option(help="The number of the version [the one that plays].")] = None,
    server: ServerOption = DEFAULT_URL,
    token: TokenOption = None,
    page: PageOption = None,
) -> None:
    """List the files that a hosted bot keeps between its matches, or write them to a folder."""
    client = client_of_owner(name, server, token, page)
    with explaining_absence():
        answer = client.fetch("bots", name, "kept", version=version)
    try:
        found = msgspec.convert(answer, _Kept)
    except msgspec.ValidationError as exc:
        raise PageError(f"the arena answers like another version: {exc}") from exc
    if not found.files:
        raise Fault(f"{name}: version {found.version} keeps no files")
    for file in found.files:
        if Path(file).name != file:
            raise PageError(f"the arena names a file {short_repr(file)}, which is no plain name")
        if to is not None and os.path.lexists(to / file):
            raise UsageFault(f"{to / file} already exists and is not overwritten: name another folder with --to")
    for file, content in sorted(found.files.items()):
        say(f"{file}  {len(content)} bytes")
        if to is not None:
            with os_errors_as(UsageFault, f"{to / file} can't be written"):
                to.mkdir(parents=True, exist_ok=True)
                write_new_file(to / file, content)
