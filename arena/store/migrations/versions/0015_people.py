"""Add the mark for names of people."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("bots", sa.Column("person", sa.Boolean(), server_default=sa.false(), nullable=False))
