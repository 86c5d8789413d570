"""Add the tables of activations, of frozen entrants and of planned tournaments."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "bot_activations",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("bot", sa.Integer, sa.ForeignKey("bots.id"), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("digest", _short_text(64), nullable=False),
        sa.Column("since", _short_text(32), nullable=False),
    )
    op.create_index("bot_activations_by_bot", "bot_activations", ["bot", "since"])
    op.execute(
        "INSERT INTO bot_activations (bot, number, digest, since) SELECT bot, number, digest, active_since "
        "FROM bot_versions WHERE active_since IS NOT NULL ORDER BY active_since, id"
    )
    op.create_table(
        "entrants",
        sa.Column("tournament", _short_text(40), primary_key=True),
        sa.Column("bot", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("digest", _short_text(64), nullable=False),
        sa.Column("late", sa.Boolean, nullable=False),
    )
    op.create_index("entrants_by_bot", "entrants", ["bot", "digest"])
    op.create_table(
        "planned_tournaments",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("title", _short_text(80), nullable=False),
        sa.Column("terms", _long_text(), nullable=False),
        sa.Column("closes", _short_text(32), nullable=False),
        sa.Column("starts", _short_text(32), nullable=False),
        sa.Column("nightly", sa.Boolean, nullable=False),
        sa.Column("state", _short_text(8), nullable=False),
        sa.Column("tournament", _short_text(40)),
        sa.Column("note", _long_text(), nullable=False),
    )
    op.create_index("planned_tournaments_by_state", "planned_tournaments", ["state"])


def _short_text(max_characters: int) -> sa.types.TypeEngine[str]:
    return sa.String(max_characters).with_variant(sa.Text(collation="C"), "postgresql")


def _long_text() -> sa.types.TypeEngine[str]:
    return sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
