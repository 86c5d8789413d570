"""Add what owners of hosted bots choose (pause, games, published sources), and the records of checks."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("bot_versions", sa.Column("check_records", sa.LargeBinary))
    op.add_column("bot_versions", sa.Column("source_file", _long_text()))
    op.add_column("bot_versions", sa.Column("source_digest", _short_text(64)))
    op.add_column("bot_versions", sa.Column("chosen_games", _long_text()))
    op.add_column("bot_versions", sa.Column("published", sa.Boolean, nullable=False, server_default=sa.false()))
    op.create_table(
        "paused_bots",
        sa.Column("bot", sa.Integer, sa.ForeignKey("bots.id"), primary_key=True),
        sa.Column("since", _short_text(32), nullable=False),
    )


def _short_text(max_characters: int) -> sa.types.TypeEngine[str]:
    return sa.String(max_characters).with_variant(sa.Text(collation="C"), "postgresql")


def _long_text() -> sa.types.TypeEngine[str]:
    return sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
