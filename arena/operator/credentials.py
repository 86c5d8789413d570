"""What opens the operator's channel: a token and where the running server listens, kept in the data folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from arena.store.data_folder import FILE, is_held
from arena.store.database import Database
from arena.store.tokens import new_token
from machine.atomic_write import in_place_of
from machine.input_file import read_bytes
from machine.text_encoding import decode
from protocol.errors import ArenaFault, UsageFault, os_errors_as
from protocol.messages import LONGEST_TOKEN, SHORTEST_TOKEN
from protocol.secret_text import strip_invisible

NAME = "operator.json"


class Credentials(Struct, frozen=True, kw_only=True):
    """The operator's token, the URL of the server's own socket for it, and the database that the server has open.

    `public` is the URL at which it takes clients.
    """

    token: Annotated[str, Meta(min_length=1)]
    url: str
    database: str
    public: str = ""

    def is_of(self, database: Database) -> bool:
        """Whether the server's database is this one."""
        if database.file is None:
            return self.database == str(database)
        try:
            return os.path.samefile(self.database, database.file)
        except OSError:
            return False


def read(folder: Path) -> Credentials | None:
    """Those of a data folder; None where no server ever ran. Raises `ArenaFault` for a file that can't be used."""
    file = folder / NAME
    try:
        return msgspec.json.decode(decode(file.read_bytes()), type=Credentials)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as exc:
        raise ArenaFault(f"{file} can't be read: {exc.strerror}") from exc
    except (msgspec.MsgspecError, UnicodeDecodeError) as exc:
        text = f"{file} holds no operator's token any more: remove it, and start the server anew"
        raise ArenaFault(text) from exc


def of_running(folder: Path) -> Credentials | None:
    """Those of the server that runs on a data folder now; None where none does. Raises `ArenaFault`.

    Where nobody holds the folder, what listens there is somebody else's, who is not to see the token.
    """
    found = read(folder)
    return found if is_held(folder) else None


def token_of(folder: Path, file: Path | None = None) -> str:
    """The token that a file holds; without one that of a data folder, made now if there is none. Raises `Fault`."""
    if file is None:
        found = read(folder)
        return new_token() if found is None else found.token
    with os_errors_as(UsageFault, f"the operator's token can't be read from {file}"):
        token = strip_invisible(decode(read_bytes(file), errors="replace"))
    if not SHORTEST_TOKEN <= len(token) <= LONGEST_TOKEN or not token.isascii() or not token.isprintable():
        raise UsageFault(f"{file} holds no token: it has {SHORTEST_TOKEN} to {LONGEST_TOKEN} letters, digits and signs")
    return token


def write(folder: Path, token: str, url: str, database: Database, public: str = "") -> None:
    """Keep them, for the owner's eyes only. Raises `ArenaFault`."""
    credentials = Credentials(
        token=token,
        url=url,
        database=str(database if database.file is None else database.file.absolute()),
        public=public,
    )
    file = folder / NAME
    try:
        with in_place_of(file) as part:
            part.unlink(missing_ok=True)  # of a start that was cut off, whoever may read it
            part.touch(mode=FILE, exist_ok=False)
            part.write_bytes(msgspec.json.format(msgspec.json.encode(credentials)) + b"\n")
    except OSError as exc:
        raise ArenaFault(f"{file} can't be written: {exc.strerror}") from exc
