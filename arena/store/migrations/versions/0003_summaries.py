"""Add seat columns for moves, time, pool and outcome, and the summaries of results that pages query."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_KEYS: dict[str, sa.types.TypeEngine[str] | sa.types.TypeEngine[int]] = {
    "tournament": sa.String(length=40),
    "game": sa.String(length=64),
    "bot": sa.Integer(),
    "opponent": sa.Integer(),
    "pool": sa.String(length=128),
    "outcome": sa.String(length=8),
    "reason": sa.String(length=32),
    "seat": sa.Integer(),
    "version": sa.String(length=64),
    "match": sa.Integer(),
    "hour": sa.String(length=13),
}
"""The type of each key column of the summary tables, by its name."""
_TABLES = {
    "counts": ("tournament game pool reason", "matches"),
    "tallies": ("tournament bot pool outcome reason seat", "matches moves thought_ms"),
    "opponents": ("tournament bot pool opponent", "wins draws losses void"),
    "versions": ("bot pool version", "wins draws losses void moves thought_ms last"),
    "encounters": ("bot opponent pool outcome reason match", ""),
    "hours": ("hour", "first last"),
}
"""The key columns and the number columns of each summary table, by its name."""


def upgrade() -> None:
    """Add the columns and tables, empty. The caller of the migrations fills them from the results."""
    op.add_column("seats", sa.Column("moves", sa.Integer(), nullable=True))
    op.add_column("seats", sa.Column("thought_ms", sa.Integer(), nullable=True))
    op.add_column("seats", sa.Column("pool", sa.String(length=128), server_default="", nullable=False))
    op.add_column("seats", sa.Column("outcome", sa.String(length=8), server_default="", nullable=False))
    op.add_column("seats", sa.Column("tournament", sa.String(length=40), nullable=True))
    op.add_column("seats", sa.Column("played", sa.Integer(), nullable=True))
    for name, (keys, numbers) in _TABLES.items():
        op.create_table(
            name,
            *(sa.Column(key, _KEYS[key], nullable=False) for key in keys.split()),
            *(sa.Column(number, sa.Integer(), nullable=False) for number in numbers.split()),
            sa.PrimaryKeyConstraint(*keys.split()),
            sqlite_with_rowid=False,
        )
    _index()


def _index() -> None:
    in_tournaments = sa.text("tournament IS NOT NULL")
    op.create_index("matches_by_ending", "matches", ["game", "pool", "reason", "number"])
    op.create_index(
        "matches_by_tournament", "matches", ["tournament", "pool", "reason", "number"], sqlite_where=in_tournaments
    )
    op.create_index("seats_by_ending", "seats", ["bot", "pool", "outcome", "reason", "match"])
    op.create_index(
        "seats_by_tournament",
        "seats",
        ["tournament", "bot", "pool", "outcome", "reason", "match"],
        sqlite_where=in_tournaments,
    )
    op.create_index(
        "seats_by_played", "seats", ["bot", "pool", "played", "mu_after"], sqlite_where=sa.text("played IS NOT NULL")
    )
    op.create_index("ratings_by_pool", "ratings", ["pool", "mu", "sigma"])
    op.create_index("versions_by_last", "versions", ["bot", "last"])
