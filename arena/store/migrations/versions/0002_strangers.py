"""What is known of bots that strangers bring: when they last came in, and whether the operator approved them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("bots", sa.Column("seen", sa.String(length=32), nullable=True))
    op.add_column("bots", sa.Column("approved", sa.Boolean(), server_default=sa.text("0"), nullable=False))
