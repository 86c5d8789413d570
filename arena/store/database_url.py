"""Which database a path or a URL stands for."""

from __future__ import annotations

from pathlib import Path

from arena.store.database import Database, StoreError
from arena.store.postgres_database import PostgresDatabase
from arena.store.sqlite_database import SqliteDatabase

SERVER_SCHEMES = ("postgresql", "postgres")


def is_on_server(where: str) -> bool:
    """Whether a path or a URL is that of a database on a server, and in no file."""
    return where.partition("://")[0] in SERVER_SCHEMES


def database_at(where: str | Path) -> Database:
    """The database of a path, a `sqlite:///FILE` or a `postgresql://…` URL. Raises `StoreError` for any other URL."""
    text = str(where)
    scheme, separator, rest = text.partition("://")
    if not separator:
        return SqliteDatabase(Path(text))
    if scheme in SERVER_SCHEMES:
        return PostgresDatabase(text)
    if scheme != "sqlite" or not rest.startswith("/") or len(rest) == 1:
        raise StoreError(f"a database URL is sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME, not {scheme}://…")
    return SqliteDatabase(Path(rest[1:]))
