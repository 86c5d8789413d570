"""The file in the data folder that gives access to the operator's channel: the token, and the running server's URL."""

from __future__ import annotations

import hmac
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta, Struct

from arena.store.data_folder import FILE_MODE, is_held
from arena.store.tokens import generate_token
from machine.atomic_write import replacing_file
from machine.input_file import read_bytes
from machine.text_encoding import decode
from protocol.errors import ArenaFault, UsageFault, os_errors_as
from protocol.messages import MAX_TOKEN_CHARS, MIN_TOKEN_CHARS
from protocol.secret_text import strip_invisible

if TYPE_CHECKING:
    from arena.store.database import Database

FILE_NAME = "operator.json"
"""The name in a data folder of the file with the operator's credentials."""


class Credentials(Struct, frozen=True, kw_only=True):
    """The operator's token, the URL of the operator's socket, and the database that the server uses.

    `public` is the URL for clients. `runner_token` is the token of runners, which operates nothing else.
    """

    token: Annotated[str, Meta(min_length=1)]
    url: str
    database: str
    public: str = ""
    runner_token: str = ""

    def has_database(self, database: Database) -> bool:
        """Return whether the server with these credentials uses this database."""
        if database.file is None:
            return self.database == str(database)
        try:
            return os.path.samefile(self.database, database.file)
        except OSError:
            return False


def read_credentials(folder: Path) -> Credentials | None:
    """Return the credentials in a data folder; None if no server ever ran. Raise `ArenaFault` for an unusable file."""
    file = folder / FILE_NAME
    try:
        return msgspec.json.decode(decode(file.read_bytes()), type=Credentials)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as exc:
        raise ArenaFault(f"{file} can't be read: {exc.strerror}") from exc
    except (msgspec.MsgspecError, UnicodeDecodeError) as exc:
        text = f"{file} has no valid operator's token: remove it, and restart the server"
        raise ArenaFault(text) from exc


def running_credentials(folder: Path) -> Credentials | None:
    """Return the credentials of the server that runs on a data folder, if any. Raise `ArenaFault` for an unusable file.

    If no process holds the folder, another user's process may listen on the port, and that must not get the token.
    """
    found = read_credentials(folder)
    return found if is_held(folder) else None


def read_or_make_token(folder: Path, file: Path | None = None) -> str:
    """Return the operator's token from `file` or, if that is None, from the credentials in the data folder.

    Without credentials, return a new token. Raise `Fault` if a file is unusable.
    """
    if file is None:
        found = read_credentials(folder)
        return generate_token() if found is None else found.token
    with os_errors_as(UsageFault, f"the operator's token can't be read from {file}"):
        token = strip_invisible(decode(read_bytes(file), errors="replace"))
    if not MIN_TOKEN_CHARS <= len(token) <= MAX_TOKEN_CHARS or not token.isascii() or not token.isprintable():
        raise UsageFault(
            f"{file} holds no token: it has {MIN_TOKEN_CHARS} to {MAX_TOKEN_CHARS} letters, digits and signs"
        )
    return token


def runner_token_of(operator_token: str) -> str:
    """Return the token of runners of hosted bots, which follows from the operator's."""
    return hmac.digest(operator_token.encode(), b"runners of hosted bots", "sha256").hex()


def write_credentials(folder: Path, token: str, url: str, database: Database, public: str = "") -> None:
    """Write the credentials, readable only by their owner. Raise `ArenaFault` if that fails."""
    credentials = Credentials(
        token=token,
        url=url,
        database=str(database if database.file is None else database.file.absolute()),
        public=public,
        runner_token=runner_token_of(token),
    )
    file = folder / FILE_NAME
    try:
        with replacing_file(file) as part:
            part.unlink(missing_ok=True)  # left by an interrupted start, perhaps with other permissions
            part.touch(mode=FILE_MODE, exist_ok=False)
            part.write_bytes(msgspec.json.format(msgspec.json.encode(credentials)) + b"\n")
    except OSError as exc:
        raise ArenaFault(f"{file} can't be written: {exc.strerror}") from exc
