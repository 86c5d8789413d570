"""Create the first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    _create_bots()
    _create_matches()
    _create_tournaments()
    _create_ratings()
    _create_records()
    _create_seats()


def _create_bots() -> None:
    op.create_table(
        "bots",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("key", sa.String(length=32), nullable=False),
        sa.Column("token_hash", sa.String(length=64), nullable=True),
        sa.Column("revoked", sa.Boolean(), nullable=False),
        sa.Column("created", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("key"),
    )


def _create_matches() -> None:
    op.create_table(
        "matches",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("game", sa.String(length=64), nullable=False),
        sa.Column("config", sa.Text(), nullable=False),
        sa.Column("rated", sa.Boolean(), nullable=False),
        sa.Column("reason", sa.String(length=32), nullable=False),
        sa.Column("plies", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("started", sa.String(length=32), nullable=False),
        sa.Column("finished", sa.String(length=32), nullable=False),
        sa.Column("tournament", sa.String(length=40), nullable=True),
        sa.Column("place", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("number"),
        sa.UniqueConstraint("id"),
        sa.UniqueConstraint("tournament", "place", name="one_match_a_place"),
    )
    op.create_index("matches_by_game", "matches", ["game", "number"], unique=False)


def _create_tournaments() -> None:
    op.create_table(
        "tournaments",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("arguments", sa.Text(), nullable=False),
        sa.Column("seed", sa.Text(), nullable=False),
        sa.Column("started", sa.String(length=32), nullable=False),
        sa.Column("finished", sa.String(length=32), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )


def _create_ratings() -> None:
    op.create_table(
        "ratings",
        sa.Column("bot", sa.Integer(), nullable=False),
        sa.Column("game", sa.String(length=64), nullable=False),
        sa.Column("mu", sa.Float(), nullable=False),
        sa.Column("sigma", sa.Float(), nullable=False),
        sa.Column("matches", sa.Integer(), nullable=False),
        sa.Column("wins", sa.Integer(), nullable=False),
        sa.Column("draws", sa.Integer(), nullable=False),
        sa.Column("losses", sa.Integer(), nullable=False),
        sa.Column("version", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(
            ["bot"],
            ["bots.id"],
        ),
        sa.PrimaryKeyConstraint("bot", "game"),
    )


def _create_records() -> None:
    op.create_table(
        "records",
        sa.Column("match", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["match"],
            ["matches.number"],
        ),
        sa.PrimaryKeyConstraint("match"),
    )


def _create_seats() -> None:
    op.create_table(
        "seats",
        sa.Column("match", sa.Integer(), nullable=False),
        sa.Column("seat", sa.Integer(), nullable=False),
        sa.Column("bot", sa.Integer(), nullable=False),
        sa.Column("version", sa.String(length=64), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("reason", sa.String(length=32), nullable=False),
        sa.Column("mu_before", sa.Float(), nullable=True),
        sa.Column("sigma_before", sa.Float(), nullable=True),
        sa.Column("mu_after", sa.Float(), nullable=True),
        sa.Column("sigma_after", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(
            ["bot"],
            ["bots.id"],
        ),
        sa.ForeignKeyConstraint(
            ["match"],
            ["matches.number"],
        ),
        sa.PrimaryKeyConstraint("match", "seat"),
    )
    op.create_index("seats_by_bot", "seats", ["bot", "match"], unique=False)
