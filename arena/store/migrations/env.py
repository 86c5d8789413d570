"""The script that Alembic runs, with a connection whose transaction the caller commits."""

from __future__ import annotations

from alembic import context

from arena.store.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
