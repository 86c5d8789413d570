"""Add readings of the database's clock, the count of rating decisions, and announcements between nodes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

_TIME = sa.String(length=32).with_variant(sa.Text(collation="C"), "postgresql")
"""The type of columns with a time."""
_SESSION = sa.String(length=64).with_variant(sa.Text(collation="C"), "postgresql")
"""The type of the column with a node's database session."""


def upgrade() -> None:
    op.create_table(
        "retention_clock",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("looked", _TIME, nullable=False),
        sa.Column("steady_since", _TIME, nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "rating_decisions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "announcements",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("kind", sa.String(length=32).with_variant(sa.Text(collation="C"), "postgresql"), nullable=False),
        sa.Column("names", sa.Text().with_variant(sa.Text(collation="C"), "postgresql"), nullable=False),
        sa.Column("node", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "wake_channel",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=63).with_variant(sa.Text(collation="C"), "postgresql"), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.add_column("nodes", sa.Column("session", _SESSION, nullable=True))
