"""Locks that give a command exclusive use of a data folder and its database."""

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
"""Seconds between two checks whether nodes are alive."""


@contextmanager
def hold_data_dir(data: Path, db: str | None) -> Iterator[str]:
    """Lock a data folder, make it private to its owner, and yield the URL of its database. Say so if it was open to
    others.

    Raises `Locked`, `ArenaFault`, `StoreError`.
    """
    where = database(db, data)
    found, ours = database_at(where), False
    with lock(data):
        with suppress(ArenaFault):  # opening it will report what is wrong
            ours = found.file is not None and found.revision() is not None
        open_to_others = restrict_to_owner(data, found.file if ours else None)
        if open_to_others:
            names = ", ".join(map(str, open_to_others))
            say(f"arena: open to other users until now, and from now on yours alone: {names}", err=True)
        yield where


def free_data_dir(data: Path) -> Path:
    """Return the data folder; if another process holds it, a folder beside it, and say so."""
    if not is_held(data):
        return data
    beside = Path(f"{data.resolve()}-test")
    say(f"arena: a server or a tournament runs on {data}: this is kept in {beside} (--data {beside})", err=True)
    return beside


@contextmanager
def exclusively(where: str, data: Path, otherwise: str = "stop them") -> Iterator[Database]:
    """Yield the database while no other process uses the data folder and no node runs. Raises `DatabaseNotFound`, and
    `Locked`, which tells the user what to do about the nodes: `otherwise`.
    """
    found = database_at(where)
    if found.revision() is None:
        raise found.not_found()
    with lock(data) if data.is_dir() else nullcontext():
        if found.file is None:
            refuse_beside_nodes(found, otherwise)
        yield found


def refuse_beside_nodes(found: Database, otherwise: str, within: float = 0.0) -> None:
    """Raise `Locked` if nodes are alive for longer than `within` seconds; `otherwise` tells the user what to do."""
    until = time.monotonic() + within
    with closing(Reader(found, found.reading())) as reader:
        while names := reader.read(nodes_alive):
            if time.monotonic() > until:
                raise Locked(f"{found} is in use by nodes that are alive ({few(names)}): {otherwise}")
            time.sleep(LOOK_AGAIN)
