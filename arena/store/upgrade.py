"""A database of an older schema brought up to date, and what follows from its results made anew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sqlalchemy import Connection, Engine

from arena.store import match_log, summaries
from arena.store.backup import back_up
from arena.store.database import Database
from arena.store.rating_rebuild import rebuild_ratings
from arena.store.schema import REVISIONS

MIGRATIONS = Path(__file__).parent / "migrations"
_MADE_ANEW: dict[str, Callable[[Connection], object]] = {"0001": rebuild_ratings, "0002": summaries.rebuild}
"""What follows from the results otherwise than in these schemas."""


def upgrade(database: Database, backup: Path | None = None) -> tuple[str, str]:
    """Bring a database's schema up to date, and its ratings with it; the revisions before and after. A file is copied
    to `backup` before, if there is anything to do.

    Raises `DatabaseNotFound`, `UnrecognizedDatabase`, `SchemaMismatch` or `StoreError`, and what `back_up` does; then
    nothing has changed.
    """
    before = database.revision()
    if before is None:
        raise database.not_found()
    if before != REVISIONS[-1]:
        if backup is not None:
            back_up(database, backup)
        engine = database.connect()
        writer = database.writing(engine)
        try:
            with database.failures():
                migrate(writer, _MADE_ANEW.get(before, lambda connection: None))
        finally:
            writer.dispose()
            engine.dispose()
    return before, REVISIONS[-1]


def migrate(engine: Engine, then: Callable[[Connection], object] = lambda connection: None) -> None:
    """Run the migrations that a database of ours lacks, and `then`, in one transaction of an engine that writes."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        then(connection)
        match_log.append_missing(connection)
