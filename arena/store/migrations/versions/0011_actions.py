"""Add the audit log of operator actions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "actions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.String(length=32), nullable=False),
        sa.Column("by", sa.String(length=100), nullable=False),
        sa.Column("do", sa.String(length=32), nullable=False),
        sa.Column("concerns", sa.Text(), nullable=False),
        sa.Column("more", sa.Integer(), nullable=False),
        sa.Column("fault", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
