"""Move the views to a schema of their own on PostgreSQL, so that readers need no right on the schema of the tables.

Without that right a role cannot even name a table, and PostgreSQL takes some locks before it checks other rights.
"""

from __future__ import annotations

from alembic import op

from arena.store.database import StoreError
from arena.store.dialect import is_postgresql

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

_FOREIGN = """SELECT obj_description(oid, 'pg_namespace') IS DISTINCT FROM 'Bot Arena'
FROM pg_namespace WHERE nspname = 'arena_views'"""
"""The query for whether the schema `arena_views` belongs to another program; no row if there is no such schema."""
_READERS = """SELECT DISTINCT CASE WHEN grantee = 0 THEN 'PUBLIC' ELSE grantee::regrole::text END
FROM pg_class, aclexplode(relacl)
WHERE relnamespace = 'arena_views'::regnamespace AND privilege_type = 'SELECT' AND grantee <> relowner"""
"""The query for the roles that may read the views."""


def upgrade() -> None:
    connection = op.get_bind()
    if not is_postgresql(connection):
        return
    if connection.exec_driver_sql(_FOREIGN).scalar():
        raise StoreError("the database has a schema arena_views that is not Bot Arena's: rename that schema")
    connection.exec_driver_sql("CREATE SCHEMA IF NOT EXISTS arena_views")
    connection.exec_driver_sql("COMMENT ON SCHEMA arena_views IS 'Bot Arena'")
    for name in ("match_results", "match_seats", "ladder"):
        # Moved, a view keeps what roles were granted on it.
        connection.exec_driver_sql(f"ALTER VIEW IF EXISTS arena.{name} SET SCHEMA arena_views")
    for role in connection.exec_driver_sql(_READERS).scalars().all():
        connection.exec_driver_sql(f"GRANT USAGE ON SCHEMA arena_views TO {role}")
