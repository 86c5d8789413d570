"""Add the table of brought games."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "games",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("game", _short_text(64), nullable=False),
        sa.Column("version", _short_text(32), nullable=False),
        sa.Column("digest", _short_text(64), nullable=False),
        sa.Column("file", sa.Text().with_variant(sa.Text(collation="C"), "postgresql"), nullable=False),
        sa.Column("source", sa.LargeBinary, nullable=False),
        sa.Column("beside", sa.LargeBinary, nullable=False),
        sa.Column("added", _short_text(32), nullable=False),
        sa.Column("offered", sa.Boolean, nullable=False),
        sa.UniqueConstraint("game", "version", name="one_source_a_version"),
    )
    op.create_index("games_by_digest", "games", ["digest"])


def _short_text(max_characters: int) -> sa.types.TypeEngine[str]:
    return sa.String(max_characters).with_variant(sa.Text(collation="C"), "postgresql")
