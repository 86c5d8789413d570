"""`arena-bot submit`: hands a program in, which the arena checks and runs; or says how its check went."""

from __future__ import annotations

import os
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any

import typer

from bots.agents.page import check_page
from bots.client.settings import DEFAULT_URL, check_name, check_url, read_token
from bots.commands.hosted_versions import read_versions, show_report, show_versions
from bots.commands.owner_client import PageOption, ServerOption, TokenOption
from bots.submission import BotSubmissions, hand_in_and_follow
from protocol.errors import UsageFault, os_errors_as
from protocol.submissions import MAX_SUBMISSION_LIMIT_BYTES, is_clutter, is_zip

MANIFEST_FILE = "bot.toml"
"""The name of the file in a folder that is handed in that says which games its program plays."""
IGNORED_NAMES = frozenset({"__pycache__", "node_modules", ".git", ".venv"})
"""The names of files and folders that are left out of a folder that is handed in."""
CREDENTIAL_FILE_PREFIX = ".arena-token-"
"""The start of the names of files in which clients keep tokens beside a program."""


def submit(
    what: Annotated[Path | None, typer.Argument(metavar="FILE|FOLDER", help="The program, or its folder.")] = None,
    server: ServerOption = DEFAULT_URL,
    name: Annotated[str | None, typer.Option(help="The name of the bot [that of the file].")] = None,
    game: Annotated[
        list[str] | None, typer.Option(metavar="GAME", help="A game that the file plays; repeat it for more.")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Follow the check; the exit code is 1 if it fails.")] = False,
    status: Annotated[bool, typer.Option("--status", help="Show the versions and the newest check's report.")] = False,
    version: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="With --status: the report of this version [the newest].")
    ] = None,
    token: TokenOption = None,
    page: PageOption = None,
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
    check_name(bot, "the name of the file, which --name replaces," if name is None and what else "the bot's name")
    secret = None if token is None else read_token(token)
    submissions = BotSubmissions(server, bot, secret, None if page is None else check_page(page))
    if status:
        told = read_versions(submissions.fetch())
        show_versions(bot, told)
        show_report(bot, told, version)
        return
    assert what is not None
    file, content = _read(what, game or ())
    hand_in_and_follow(submissions, bot, file, content, game or (), wait=wait)


def _read(what: Path, games: Any) -> tuple[str, bytes]:
    """Return the name of the file that is sent, and its content. A folder is packed as a zip."""
    with os_errors_as(UsageFault, f"{what} can't be read"):
        if what.is_dir():
            if games:
                raise UsageFault("--game is for a single file: a folder names its games in bot.toml")
            return "bot.zip", _pack(what)
        if what.exists() and not what.is_file():
            raise UsageFault(f"{what} is no file: hand in a program, or its folder")
        with what.open("rb") as program:
            content = program.read(MAX_SUBMISSION_LIMIT_BYTES + 1)
    _check_size(what, len(content))
    if not content:
        raise UsageFault(f"{what} is empty: hand in a program")
    if not is_zip(what.name) and not games:
        raise UsageFault("which game does it play? Name it with --game")
    if is_zip(what.name) and games:
        raise UsageFault("--game is for a single file: a zip names its games in bot.toml")
    return what.name, content


def _check_size(what: Path, size: int) -> None:
    if size > MAX_SUBMISSION_LIMIT_BYTES:
        raise UsageFault(f"{what} has more than {MAX_SUBMISSION_LIMIT_BYTES} bytes, which is too much for any arena")


def _pack(folder: Path) -> bytes:
    """Return a folder as a zip. Links, and what is never part of a program, are left out. Raise `UsageFault` if it has
    no manifest, as another folder than that of a program, or is too large for any arena.
    """
    if not (folder / MANIFEST_FILE).is_file():
        raise UsageFault(
            f"there is no {MANIFEST_FILE} in {folder}: add one beside the program, with lines like "
            'language = "python" and games = ["GAME"]'
        )
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        for place, folders, files in os.walk(folder):
            folders[:] = sorted(name for name in folders if not _is_ignored(name))
            for name in sorted(files):
                path = Path(place, name)
                if not _is_ignored(name) and path.is_file() and not path.is_symlink():
                    archive.write(path, path.relative_to(folder).as_posix())
                    _check_size(folder, packed.tell())
    return packed.getvalue()


def _is_ignored(name: str) -> bool:
    return name in IGNORED_NAMES or is_clutter(name) or name.startswith(CREDENTIAL_FILE_PREFIX)
