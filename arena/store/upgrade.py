"""A database of an older schema brought up to date, and what follows from its results made anew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sqlalchemy import Connection

from arena.store import database, summaries
from arena.store.rating_rebuild import rebuild_ratings


def upgrade(file: Path) -> tuple[str, str]:
    """Bring a file's schema up to date, and its ratings with it; the revisions before and after.

    Raises `DatabaseNotFound`, `UnrecognizedDatabase`, `SchemaMismatch` or `StoreError`; then nothing has changed.
    """
    return database.upgrade(file, _MADE_ANEW.get(database.revision_of(file), lambda connection: None))


_MADE_ANEW: dict[str | None, Callable[[Connection], object]] = {
    "0001": rebuild_ratings,
    "0002": summaries.rebuild,
}
"""What follows from the results otherwise than in these schemas."""
