"""Add annulled matches and seasons."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("matches", sa.Column("annulled", sa.String(length=128), nullable=True))
    op.add_column("matches", sa.Column("rerated", sa.Boolean(), server_default=sa.text("0"), nullable=False))
    op.create_table(
        "seasons",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("key", sa.String(length=32), nullable=False),
        sa.Column("started", sa.String(length=32), nullable=False),
        sa.Column("first", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("key"),
    )
