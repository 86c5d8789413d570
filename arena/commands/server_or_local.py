"""How a command has something done: by the server that runs on the data folder, or, where none does, by itself."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from arena.commands.data_dir import exclusively
from arena.operator.client import NoServer, asked
from arena.operator.requests import Request
from arena.store.database import database_path
from arena.store.store import Store

T = TypeVar("T")


def by_server(file: Path, data: Path, request: Request, answer: type[T]) -> T:
    """What the server answers that has this database open: that of the data folder, or of the database's folder.

    Raises `NoServer` and what else `asked` does.
    """
    try:
        return asked(data, request, answer, file)
    except NoServer:
        if file.absolute().parent == data.absolute():
            raise
        return asked(file.parent, request, answer, file)


def by_server_or_here(where: str, data: Path, request: Request, answer: type[T], here: Callable[[Store], T]) -> T:
    """What the server answers that has the database open, or what `here` makes of the store. Raises `Fault`."""
    try:
        return by_server(database_path(where), data, request, answer)
    except NoServer:
        with closing(Store.open(where, create=False, checkpoint=False)) as store:
            return here(store)


def by_server_or_alone(where: str, data: Path, request: Request, answer: type[T], here: Callable[[Store], T]) -> T:
    """The same where nobody else may run on the data folder meanwhile. Raises `Locked` where somebody does."""
    try:
        return by_server(database_path(where), data, request, answer)
    except NoServer:
        with exclusively(where, data), closing(Store.open(where, create=False)) as store:
            return here(store)
