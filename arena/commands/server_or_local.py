"""Sends a command's request to the server that runs on the data folder, or carries it out locally if none runs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TypeVar

from arena.commands.data_dir import exclusively
from arena.operator.client import NoServer, asked
from arena.operator.requests import COMMAND_LINE, Request
from arena.store.actions import note_action
from arena.store.database import Database
from arena.store.database_url import database_at
from arena.store.store import Store

_ASK_A_NODE = "stop them, or name the data folder of one with --data"
T = TypeVar("T")
L = TypeVar("L")


def by_server(database: Database, data: Path, request: Request, answer: type[T]) -> T:
    """Send a request to the server that uses this database, found by its data folder or by the folder of the database
    file.

    Raises `NoServer` and the errors of `asked`.
    """
    try:
        return asked(data, request, answer, database)
    except NoServer:
        file = database.file
        if file is None or file.absolute().parent == data.absolute():
            raise
        return asked(file.parent, request, answer, database)


def by_server_or_local(
    where: str,
    data: Path,
    request: Request,
    answer: type[T],
    local: Callable[[Store], L],
    *,
    alone: bool = False,
    create: bool = False,
) -> T | L:
    """Send a request to the server and return its answer; if no server runs, return the result of `local` on the store.

    With `alone`, lock the data folder for a local change; with `create`, create a missing database. Raises `Fault`, and
    `Locked` if another process holds the data folder.
    """
    try:
        return by_server(database_at(where), data, request, answer)
    except NoServer:
        with (
            exclusively(where, data, _ASK_A_NODE) if alone else nullcontext(),
            closing(Store.open(where, create=create, checkpoint=alone)) as store,
        ):
            done = local(store)
            concerns = request.concerns()
            if concerns is not None:
                store.write(note_action, COMMAND_LINE, request.action_name(), concerns)
            return done
