"""Add the luck of a match, and the value function that measured it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("matches", sa.Column("luck", sa.Float(), nullable=True))
    op.add_column("matches", sa.Column("luck_by", sa.String(length=32), nullable=True))
