"""Add the table of what hosted bots keep between matches."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "bot_states",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("bot", sa.Integer, sa.ForeignKey("bots.id"), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("written", _short_text(32), nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("bot", "number", name="one_state_a_version"),
    )


def _short_text(max_characters: int) -> sa.types.TypeEngine[str]:
    return sa.String(max_characters).with_variant(sa.Text(collation="C"), "postgresql")
