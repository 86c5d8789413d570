"""Sends a command's request to the server of the data folder. If none runs, carries it out in this process."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TypeVar

from arena.commands.data_dir import exclusive_database
from arena.operator.client import NoServer, ask_server
from arena.operator.requests import COMMAND_LINE_ORIGIN, Request
from arena.store.actions import log_action
from arena.store.database import Database
from arena.store.database_url import open_database_url
from arena.store.store import Store

_NODES_ADVICE = "stop them, or give the data folder of one with --data"
"""The advice to a user whose command needs the database for itself, but nodes use it."""
T = TypeVar("T")
L = TypeVar("L")


def run_on_server(database: Database, data: Path, request: Request, answer: type[T]) -> T:
    """Send a request to the server that uses this database, and return its answer. Raise the errors of `ask_server`.

    The server is found by its data folder, or by the folder of the database file.
    """
    try:
        return ask_server(data, request, answer, database)
    except NoServer:
        file = database.file
        if file is None or file.absolute().parent == data.absolute():
            raise
        return ask_server(file.parent, request, answer, database)


def ask_server_or_run(
    where: str,
    data: Path,
    request: Request,
    answer: type[T],
    local: Callable[[Store], L],
    *,
    exclusive: bool = False,
    create: bool = False,
) -> T | L:
    """Send a request to the server and return its answer. If no server runs, return the result of `local` on the store.

    With `exclusive`, lock the data folder while `local` runs; with `create`, create a missing database. Raise
    `DataFolderInUse` if another process holds the data folder.
    """
    try:
        return run_on_server(open_database_url(where), data, request, answer)
    except NoServer:
        with (
            exclusive_database(where, data, _NODES_ADVICE) if exclusive else nullcontext(),
            closing(Store.open(where, create=create, checkpoint=exclusive)) as store,
        ):
            done = local(store)
            concerns = request.changed_names()
            if concerns is not None:
                store.write(log_action, COMMAND_LINE_ORIGIN, request.action_name(), concerns)
            return done
