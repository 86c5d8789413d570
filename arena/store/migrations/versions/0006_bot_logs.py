"""Add the table of the logs of hosted bots."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "bot_logs",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("bot", sa.Integer, sa.ForeignKey("bots.id"), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("match", _short_text(40), nullable=False),
        sa.Column("written", _short_text(32), nullable=False),
        sa.Column("faults", sa.Integer, nullable=False),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
    )
    op.create_index("bot_logs_by_match", "bot_logs", ["bot", "match"])
    op.create_index("bot_logs_by_time", "bot_logs", ["written"])


def _short_text(max_characters: int) -> sa.types.TypeEngine[str]:
    return sa.String(max_characters).with_variant(sa.Text(collation="C"), "postgresql")
