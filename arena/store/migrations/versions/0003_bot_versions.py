"""Add the table of the versions of hosted bots."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "bot_versions",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("bot", sa.Integer, sa.ForeignKey("bots.id"), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("digest", _short_text(64), nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.Column("manifest", _long_text(), nullable=False),
        sa.Column("submitted", _short_text(32), nullable=False),
        sa.Column("state", _short_text(8), nullable=False),
        sa.Column("report", _long_text(), nullable=False),
        sa.Column("active_since", _short_text(32)),
        sa.UniqueConstraint("bot", "number", name="one_version_a_number"),
        sa.UniqueConstraint("bot", "digest", name="one_version_a_digest"),
    )
    op.create_index("bot_versions_by_digest", "bot_versions", ["digest"])
    op.create_index("bot_versions_by_state", "bot_versions", ["state"])


def _short_text(max_characters: int) -> sa.types.TypeEngine[str]:
    return sa.String(max_characters).with_variant(sa.Text(collation="C"), "postgresql")


def _long_text() -> sa.types.TypeEngine[str]:
    return sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
