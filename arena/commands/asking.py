"""How a command has something done: by the server that runs on the data folder, or, where none does, by itself."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from arena.operator.client import NoServer, asked
from arena.operator.requests import Request
from arena.store.database import file_of
from arena.store.store import Store

T = TypeVar("T")


def by_server_or_here(where: str, data: Path, request: Request, answer: type[T], here: Callable[[Store], T]) -> T:
    """What the server answers that has the database open, or what `here` makes of the store. Raises `Fault`."""
    try:
        return asked(data, request, answer, file_of(where))
    except NoServer:
        with closing(Store.open(where, create=False, checkpoint=False)) as store:
            return here(store)
