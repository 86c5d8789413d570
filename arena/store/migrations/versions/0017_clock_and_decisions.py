"""When servers last looked at the clock by which records and names grow old; how often it was decided what is rated."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

_TIME = sa.String(length=32).with_variant(sa.Text(collation="C"), "postgresql")


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
