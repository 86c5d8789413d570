"""Add the display names of bots."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    text = sa.String(length=48).with_variant(sa.Text(collation="C"), "postgresql")
    op.add_column("bots", sa.Column("display", text, nullable=True))
    some = sa.text("display IS NOT NULL")
    op.create_index("bots_with_display", "bots", ["id"], sqlite_where=some, postgresql_where=some)
