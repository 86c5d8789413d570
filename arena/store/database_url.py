"""Choosing the database class for a path or a URL."""

from __future__ import annotations

from pathlib import Path

from arena.store.answer_limit import DatabaseTimeouts
from arena.store.database import Database, StoreError
from arena.store.postgres_database import PostgresDatabase
from arena.store.server_url import is_server_url
from arena.store.sqlite_database import SqliteDatabase


def open_database_url(location: str | Path, timeouts: DatabaseTimeouts | None = None) -> Database:
    """Return the database at a path, a `sqlite:///FILE` or a `postgresql://…` URL. `timeouts` apply to PostgreSQL.

    Raise `StoreError` for any other URL.
    """
    text = str(location)
    scheme, separator, rest = text.partition("://")
    if not separator:
        return SqliteDatabase(Path(text))
    if is_server_url(text):
        return PostgresDatabase(text, timeouts)
    if scheme != "sqlite" or not rest.startswith("/") or len(rest) == 1:
        raise StoreError(f"a database URL is sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME, not {scheme}://…")
    return SqliteDatabase(Path(rest[1:]))
