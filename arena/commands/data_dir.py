"""How commands hold a data folder that nobody else may use meanwhile."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path

from arena.commands.settings import database
from arena.store.data_folder import Locked, is_held, lock, restrict_to_owner
from arena.store.database import Database
from arena.store.database_url import database_at
from arena.store.nodes import nodes_alive
from arena.store.store import Reader
from machine.terminal import say
from protocol.display import few
from protocol.errors import ArenaFault

LOOK_AGAIN = 0.2
"""Seconds."""


@contextmanager
def hold_data_dir(data: Path, db: str | None) -> Iterator[str]:
    """Hold a data folder and close it to other users, which is said where it was open; its database.

    Raises `Locked`, `ArenaFault`, `StoreError`.
    """
    where = database(db, data)
    found, ours = database_at(where), False
    with lock(data):
        with suppress(ArenaFault):  # what is wrong with it is said when it is opened
            ours = found.file is not None and found.revision() is not None
        open_to_others = restrict_to_owner(data, found.file if ours else None)
        if open_to_others:
            names = ", ".join(map(str, open_to_others))
            say(f"arena: open to other users until now, and from now on yours alone: {names}", err=True)
        yield where


def free_data_dir(data: Path) -> Path:
    """A data folder, or the one beside it where somebody runs on it now, which is said."""
    if not is_held(data):
        return data
    beside = Path(f"{data.resolve()}-test")
    say(f"arena: a server or a tournament runs on {data}: this is kept in {beside} (--data {beside})", err=True)
    return beside


@contextmanager
def exclusively(where: str, data: Path, otherwise: str = "stop them") -> Iterator[Database]:
    """The database, with nobody else on the data folder, and no node on a server. Raises `DatabaseNotFound`, and
    `Locked` with what to do about nodes `otherwise`.
    """
    found = database_at(where)
    if found.revision() is None:
        raise found.not_found()
    with lock(data) if data.is_dir() else nullcontext():
        if found.file is None:
            refuse_beside_nodes(found, otherwise)
        yield found


def refuse_beside_nodes(found: Database, otherwise: str, within: float = 0.0) -> None:
    """Raises `Locked`, with what to do `otherwise`, for a database on a server on which nodes are alive, and still are
    after so many seconds.
    """
    until = time.monotonic() + within
    with closing(Reader(found, found.reading())) as reader:
        while names := reader.read(nodes_alive):
            if time.monotonic() > until:
                raise Locked(f"{found} is in use by nodes that are alive ({few(names)}): {otherwise}")
            time.sleep(LOOK_AGAIN)
