"""Add columns for the size of records, for removed records, and for renamed bots."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("bots", sa.Column("renamed", sa.String(length=32), nullable=True))
    op.add_column("matches", sa.Column("record_bytes", sa.Integer(), nullable=True))
    op.execute(
        """UPDATE matches SET record_bytes =
            coalesce((SELECT length(data) FROM records WHERE records.match = matches.number), 0)"""
    )
    op.create_index(
        "matches_by_record",
        "matches",
        [sa.text("coalesce(pool, annulled) IS NULL"), "finished", "record_bytes"],
        sqlite_where=sa.text("record_bytes IS NOT NULL AND tournament IS NULL"),
    )
