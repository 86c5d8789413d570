"""`arena-bot game get`: fetches the rules of a game that an arena brought as a file. It never runs them."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from bots.agents.page import PageClient, PageError, check_page
from bots.client.settings import check_url
from machine.atomic_write import write_new_file
from machine.game_discovery import GameSource
from machine.terminal import say
from protocol.display import escape_unprintable
from protocol.errors import UsageFault, os_errors_as


def get_game(url: str, name: str, to: Path | None) -> None:
    """Write the source of a game to a file. Raise `PageError` if the arena does not tell it, `UsageFault` if the file
    can't be written.
    """
    found = fetch_source(url, name)
    file = to or Path(f"{name}.py")
    with os_errors_as(UsageFault, str(file)):
        _write(file, found.source.encode())
    version = escape_unprintable(found.version)
    say(f"{file}: the rules of {name}, version {version}, SHA-256 {found.digest}")
    say(f"It is a program of the arena's operator: read it before you use it, as in arena-bot run uct --game {file}")


def fetch_source(url: str, name: str) -> GameSource:
    """Return the source of a game from the page at `url`, or from the page that the arena at `url` names."""
    if url.startswith("ws"):
        check_url(url)
        page = PageClient(url, hint="as URL")
    else:
        page = PageClient("", check_page(url), hint="as URL")
    try:
        found = msgspec.convert(page.fetch("games", name, "source"), GameSource)
    except msgspec.ValidationError as exc:
        raise PageError(f"the answer of {url} has no source of a game: {exc}") from exc
    if hashlib.sha256(found.source.encode()).hexdigest() != found.digest:
        raise PageError(f"the source of {name} at {url} does not have the digest that is told with it")
    return found


def _write(file: Path, content: bytes) -> None:
    """Write a file. Raise `UsageFault` if it exists with another content."""
    try:
        write_new_file(file, content)
    except FileExistsError as exc:
        if file.read_bytes() != content:
            raise UsageFault(f"{file} exists and has another content: choose another file with --to FILE") from exc
