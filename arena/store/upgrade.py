"""Upgrading a database from an older schema revision."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Engine

from arena.store.backup import back_up
from arena.store.database import Database, disposing
from arena.store.schema import SCHEMA_REVISIONS

MIGRATIONS_FOLDER = Path(__file__).parent / "migrations"
"""The folder of the migrations of the schema."""


def upgrade_database(database: Database, backup: Path | None = None) -> tuple[str, str]:
    """Upgrade a database's schema. Return the schema revisions before and after.

    If the schema is old, first copy the database to `backup`, if given. On an error, the database has not changed.
    Raise `DatabaseNotFound`, `UnrecognizedDatabase`, `SchemaMismatch`, `StoreError` or any error of `back_up`.
    """
    before = database.revision()
    if before is None:
        raise database.not_found_error()
    if before != SCHEMA_REVISIONS[-1]:
        if backup is not None:
            back_up(database, backup)
        with (
            disposing(database.connect()) as engine,
            disposing(database.create_writing_engine(engine)) as writer,
            database.translate_errors(),
        ):
            _migrate(writer)
    return before, SCHEMA_REVISIONS[-1]


def _migrate(engine: Engine) -> None:
    """Run the missing migrations in one writing transaction."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS_FOLDER).replace("%", "%%"))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
