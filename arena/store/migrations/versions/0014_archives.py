"""Add the archive files of old records."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "archives",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("path", sa.Text().with_variant(sa.Text(collation="C"), "postgresql"), nullable=False),
        sa.Column("records", sa.Integer(), nullable=False),
        sa.Column("bytes", sa.Integer().with_variant(sa.BigInteger(), "postgresql"), nullable=False),
        sa.PrimaryKeyConstraint("number"),
        sa.UniqueConstraint("path"),
    )
    op.add_column("matches", sa.Column("archive", sa.Integer(), nullable=True))
    some = sa.text("archive IS NOT NULL")
    op.create_index("matches_by_archive", "matches", ["archive"], sqlite_where=some, postgresql_where=some)
