"""Add tournament matches that wait to be rated, failures of bots' programs, and the origin of tournaments' dice."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "awaiting",
        sa.Column("match", sa.String(length=40), nullable=False),
        sa.Column("tournament", sa.String(length=40), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("match"),
        sa.UniqueConstraint("tournament", "place", name="one_awaiting_a_place"),
    )
    op.create_table(
        "failures",
        sa.Column("match", sa.Integer(), nullable=False),
        sa.Column("seat", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["match"], ["matches.number"]),
        sa.PrimaryKeyConstraint("match", "seat"),
    )
    op.add_column("tournaments", sa.Column("stem", sa.String(length=40), nullable=True))
    op.add_column("tournaments", sa.Column("prefix", sa.String(length=40), nullable=True))
