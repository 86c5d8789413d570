"""`arena-bot submit`: hands a program in, which the arena checks and runs; or says how its check went."""

from __future__ import annotations

import asyncio
import os
import time
import zipfile
from http import HTTPStatus
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any

import typer

from bots.agents.page import PageClient, PageError, check_page
from bots.client.settings import DEFAULT_URL, check_name, check_url, read_token
from bots.client.tokens import default_path, find_or_make_token
from bots.commands.hosted_versions import (
    Version,
    describe,
    explaining_absence,
    fetch_versions,
    read_version,
    show_report,
    show_versions,
)
from machine.client.connecting import connect
from machine.client.timeouts import ClientTimeouts
from machine.terminal import say
from machine.timeouts import scale_timeouts
from protocol import bot_launch
from protocol.codec import MSGPACK
from protocol.display import escape_unprintable
from protocol.errors import Fault, UsageFault, os_errors_as
from protocol.messages import Error, Hello, Welcome
from protocol.submissions import MAX_SUBMISSION_BYTES

POLL_INTERVAL_S = 1.0
"""Seconds between two questions how a check goes."""
CHECK_TIMEOUT_S = 3600.0
"""Seconds for which `--wait` follows a check."""
OPEN_STATES = ("waiting", "checking")
"""The states of a version whose check has not ended."""
IGNORED_NAMES = frozenset({"__pycache__", "node_modules", ".git", ".venv", ".DS_Store"})
"""The names of files and folders that are left out of a folder that is handed in."""


def submit(
    what: Annotated[Path | None, typer.Argument(metavar="FILE|FOLDER", help="The program, or its folder.")] = None,
    server: Annotated[
        str, typer.Option(envvar=bot_launch.URL_VARIABLE, metavar="URL", help="The arena.")
    ] = DEFAULT_URL,
    name: Annotated[str | None, typer.Option(help="The name of the bot [that of the file].")] = None,
    game: Annotated[
        list[str] | None, typer.Option(metavar="GAME", help="A game that the file plays; repeat it for more.")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Follow the check; the exit code is 1 if it fails.")] = False,
    status: Annotated[bool, typer.Option("--status", help="Show the versions and the newest check's report.")] = False,
    version: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="With --status: the report of this version [the newest].")
    ] = None,
    token: Annotated[
        str | None, typer.Option(envvar=bot_launch.TOKEN_VARIABLE, help="The bot's token; else the saved one.")
    ] = None,
    page: Annotated[str | None, typer.Option(metavar="URL", help="The arena's page [the arena names it].")] = None,
) -> None:
    """Hand a program in, for the arena to check and run.

    A folder has a file bot.toml with the games and the language.
    """
    check_url(server)
    if what is None and not status:
        raise UsageFault("name the file or the folder of the program, or ask for --status")
    if version is not None and not status:
        raise UsageFault("--version is the number of a version whose report --status shows: add --status")
    bot = name or (what.absolute().stem if what is not None else "")
    check_name(bot, "the bot's name")
    secret = find_or_make_token(server, bot, default_path()) if token is None else read_token(token)
    client = PageClient(server, None if page is None else check_page(page), token=secret)
    if status:
        told = fetch_versions(client, bot)
        show_versions(bot, told)
        show_report(bot, told, version)
        return
    assert what is not None
    file, content = _read(what, game or ())
    if len(content) > MAX_SUBMISSION_BYTES:
        raise UsageFault(f"{what} has {len(content)} bytes to hand in: {MAX_SUBMISSION_BYTES} at most")
    games = {"game": list(game)} if game and not file.endswith(".zip") else {}
    handed_in = _hand_in(client, server, bot, secret, file, content, games)
    how = "has passed its check already" if handed_in.state == "passed" else f"is {handed_in.state}"
    say(f"{bot}: version {handed_in.number} was handed in; it {how}", flush=True)
    if wait:
        checked = _follow(client, bot, handed_in.number)
        say(describe(bot, checked))
        if checked.state != "passed":
            raise SystemExit(1)


def _read(what: Path, games: Any) -> tuple[str, bytes]:
    """Return the name of the file that is sent, and its content. A folder is packed as a zip."""
    with os_errors_as(UsageFault, f"{what} can't be read"):
        if what.is_dir():
            if games:
                raise UsageFault("--game is for a single file: a folder names its games in bot.toml")
            return "bot.zip", _pack(what)
        content = what.read_bytes()
    if not content:
        raise UsageFault(f"{what} is empty: hand in a program")
    if what.suffix != ".zip" and not games:
        raise UsageFault("which game does it play? Name it with --game")
    if what.suffix == ".zip" and games:
        raise UsageFault("--game is for a single file: a zip names its games in bot.toml")
    return what.name, content


def _pack(folder: Path) -> bytes:
    """Return a folder as a zip. Links, and what is never part of a program, are left out."""
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        for place, folders, files in os.walk(folder):
            folders[:] = sorted(name for name in folders if name not in IGNORED_NAMES)
            for name in sorted(files):
                path = Path(place, name)
                if name not in IGNORED_NAMES and path.is_file() and not path.is_symlink():
                    archive.write(path, path.relative_to(folder).as_posix())
    return packed.getvalue()


def _hand_in(
    client: PageClient, server: str, bot: str, token: str, file: str, content: bytes, games: dict[str, list[str]]
) -> Version:
    """Send a submission. A bot that the arena does not know is registered first, as by its first connection."""
    path = ("bots", bot, "submissions")
    try:
        with explaining_absence():
            client.fetch(*path)  # a page that refuses a request with a large body may end it before its answer is read
    except PageError as fault:
        if fault.status != HTTPStatus.NOT_FOUND or "no bot called" not in str(fault):
            raise
        asyncio.run(_register(server, bot, token))
    return read_version(client.post(content, *path, file=file, **games))


async def _register(server: str, bot: str, token: str) -> None:
    """Log in once, which registers a new bot. Raise `Fault` if the arena refuses it."""
    connection = await connect(server, scale_timeouts(ClientTimeouts()))
    async with connection:
        await connection.send(MSGPACK.encode(Hello(bot=bot, token=token, client="arena-bot submit")))
        async for frame in connection:
            message = MSGPACK.decode_server(frame)
            if isinstance(message, Welcome):
                return
            if isinstance(message, Error):
                raise Fault(f"{bot}: {escape_unprintable(message.message)}")
    raise Fault(f"{bot}: the arena ended the connection before it answered")


def _follow(client: PageClient, bot: str, number: int) -> Version:
    """Return a version once its check has ended."""
    until = time.monotonic() + CHECK_TIMEOUT_S
    while time.monotonic() < until:
        version = read_version(client.fetch("bots", bot, "submissions", str(number)))
        if version.state not in OPEN_STATES:
            return version
        time.sleep(POLL_INTERVAL_S)
    raise Fault(f"{bot}: version {number} is not checked after {CHECK_TIMEOUT_S:g} s: does the arena have a runner?")
