"""Locks that give a command exclusive use of a data folder and its database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path

from arena.commands.settings import database_url
from arena.store.answer_limit import server_timeouts
from arena.store.data_folder import LOCK_FILE, DataFolderInUse, is_held, lock, restrict_to_owner
from arena.store.database import Database
from arena.store.database_url import open_database_url
from arena.store.nodes import live_nodes
from arena.store.store import Reader, Store
from machine.backoff import Backoff, Retry
from machine.terminal import say
from protocol.display import list_first
from protocol.errors import ArenaFault

NODE_CHECK_INTERVAL_S = 0.2
"""Seconds between two checks whether nodes are alive."""


@contextmanager
def hold_data_dir(data: Path, db: str | None) -> Iterator[str]:
    """Lock a data folder, make it private to its owner, and yield the URL of its database.

    Print a message if other users could read the folder before. Raise `DataFolderInUse` if it is locked already, or the
    database is in another data folder that is.
    """
    where = database_url(db, data)
    found, ours = open_database_url(where), False
    with lock(data), _lock_folder_of(found, data):
        with suppress(ArenaFault):  # opening it will report what is wrong
            ours = found.file is not None and found.revision() is not None
        open_to_others = restrict_to_owner(data, found.file if ours else None)
        if open_to_others:
            names = ", ".join(map(str, open_to_others))
            say(f"arena: other users could read these until now; now only you can: {names}", err=True)
        yield where


@contextmanager
def open_data_dir(data: Path, db: str | None) -> Iterator[Store]:
    """Do what `hold_data_dir` does, and yield the opened store of its database."""
    with hold_data_dir(data, db) as where, closing(Store.open(open_database_url(where, server_timeouts()))) as store:
        yield store


def find_free_data_dir(data: Path) -> Path:
    """Return the folder `data` if no other process holds it. Otherwise print that, and return `DATA-test`."""
    if not is_held(data):
        return data
    beside = Path(f"{data.resolve()}-test")
    say(f"arena: a server or a tournament is using {data}: results go to {beside} (--data {beside})", err=True)
    return beside


@contextmanager
def exclusive_database(where: str, data: Path, advice: str = "stop them") -> Iterator[Database]:
    """Lock the data folder, and that of the database, and yield the database. Raise `DatabaseNotFound` if there is
    none.

    Raise `DataFolderInUse` if another process has a lock or nodes use the database; `advice` then tells the user what
    to do about the nodes.
    """
    found = open_database_url(where)
    if found.revision() is None:
        raise found.not_found_error()
    with lock(data) if data.is_dir() else nullcontext(), _lock_folder_of(found, data):
        if found.file is None:
            refuse_beside_nodes(found, advice)
        yield found


@contextmanager
def _lock_folder_of(database: Database, data: Path) -> Iterator[None]:
    """Lock the folder of a database's file, if it is another data folder than `data`: a server may run on it."""
    folder = None if database.file is None else database.file.absolute().parent
    if folder is None or not (folder / LOCK_FILE).exists() or (data.is_dir() and folder.samefile(data)):
        yield
        return
    with lock(folder):
        yield


def refuse_beside_nodes(database: Database, advice: str, timeout_s: float = 0.0) -> None:
    """Wait until no node is alive. Raise `DataFolderInUse` if one still is after `timeout_s` seconds.

    The message of the error ends with `advice`, which tells the user what to do.
    """

    def check() -> None:
        if names := reader.read(live_nodes):
            raise DataFolderInUse(f"{database} is in use by running nodes ({list_first(names)}): {advice}")

    with closing(Reader(database, database.create_reading_engine())) as reader:
        Retry(DataFolderInUse, Backoff(NODE_CHECK_INTERVAL_S), timeout_s).run_blocking(check)
