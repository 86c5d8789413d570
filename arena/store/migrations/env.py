"""What Alembic runs: it is given a connection with a transaction that the caller commits."""

from __future__ import annotations

from alembic import context

from arena.store.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
