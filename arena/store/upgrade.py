"""A database of an older schema brought up to date, and what follows from its results made anew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sqlalchemy import Connection, Engine

from arena.store import database, summaries
from arena.store.backup import back_up
from arena.store.database import DatabaseNotFound
from arena.store.rating_rebuild import rebuild_ratings
from arena.store.schema import REVISIONS

MIGRATIONS = Path(__file__).parent / "migrations"
_MADE_ANEW: dict[str, Callable[[Connection], object]] = {"0001": rebuild_ratings, "0002": summaries.rebuild}
"""What follows from the results otherwise than in these schemas."""


def upgrade(file: Path, backup: Path | None = None) -> tuple[str, str]:
    """Bring a file's schema up to date, and its ratings with it; the revisions before and after. It is copied to
    `backup` before, if there is anything to do.

    Raises `DatabaseNotFound`, `UnrecognizedDatabase`, `SchemaMismatch` or `StoreError`, and what `back_up` does; then
    nothing has changed.
    """
    before = database.revision_of(file)
    if before is None:
        raise DatabaseNotFound(f"there is no database {file}: start `arena serve` or `arena tournament` first")
    if before != REVISIONS[-1]:
        if backup is not None:
            back_up(file, backup)
        engine = database.connect(file)
        try:
            with database.failures(file):
                migrate(engine, _MADE_ANEW.get(before, lambda connection: None))
        finally:
            engine.dispose()
    return before, REVISIONS[-1]


def migrate(engine: Engine, then: Callable[[Connection], object] = lambda connection: None) -> None:
    """Run the migrations that a database of ours lacks, and `then`, in one transaction."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    with database.writing(engine).begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        then(connection)
