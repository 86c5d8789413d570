"""Add a rating pool per preset, and columns for bots that register themselves."""

from __future__ import annotations

import functools
import json

import sqlalchemy as sa
from alembic import op

from protocol.errors import BotFault
from protocol.games import load_game

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("bots", sa.Column("seen", sa.String(length=32), nullable=True))
    op.add_column("bots", sa.Column("approved", sa.Boolean(), server_default=sa.text("0"), nullable=False))
    op.add_column("matches", sa.Column("pool", sa.String(length=128), nullable=True))
    op.create_index("matches_by_finish", "matches", ["finished"])
    _find_pools()
    op.drop_column("matches", "rated")
    op.drop_table("ratings")
    _create_ratings()


def _find_pools() -> None:
    connection = op.get_bind()
    rated = connection.execute(sa.text("SELECT number, game, config FROM matches WHERE rated"))
    found = [{"number": number, "pool": _pool(game, config)} for number, game, config in rated]
    if found:
        connection.execute(sa.text("UPDATE matches SET pool = :pool WHERE number = :number"), found)


@functools.lru_cache(maxsize=256)
def _pool(game: str, config: str) -> str:
    """Return the pool of a match: that of its preset, or the game's if the preset no longer exists."""
    try:
        return next(iter(load_game(game, json.loads(config)).pools), game)
    except (BotFault, ValueError):
        return game


def _create_ratings() -> None:
    """Create the table `ratings`, empty. The caller of the migrations computes the ratings from the results."""
    op.create_table(
        "ratings",
        sa.Column("bot", sa.Integer(), nullable=False),
        sa.Column("pool", sa.String(length=128), nullable=False),
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
        sa.PrimaryKeyConstraint("bot", "pool"),
    )
