"""Add the position of the event feed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "feed",
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("position"),
    )
