"""The script that Alembic runs to migrate a database. The caller passes a connection and commits its transaction."""

from __future__ import annotations

from alembic import context

from arena.store.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
