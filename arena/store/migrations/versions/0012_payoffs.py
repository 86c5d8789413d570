"""Add payoffs per round of seats, and payoffs of bots against each other."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

_MATCH_SEATS = """CREATE VIEW match_seats AS
SELECT seats.match AS number, matches.id AS match, matches.game, matches.pool, seats.seat, bots.name AS bot,
    seats.version, seats.rank, seats.outcome,
    CASE WHEN seats.outcome <> 'void' THEN
        (SELECT (sum(other.rank > seats.rank) + sum(other.rank = seats.rank) / 2.0) / count(*) FROM seats AS other
            WHERE other.match = seats.match AND other.seat <> seats.seat)
    END AS points,
    seats.reason, seats.moves, seats.thought_ms, seats.mu_before, seats.sigma_before, seats.mu_after, seats.sigma_after,
    seats.payoff, seats.rounds
FROM seats JOIN matches ON matches.number = seats.match JOIN bots ON bots.id = seats.bot"""
"""The statement that creates the view `match_seats`."""
_LADDER = """CREATE VIEW ladder AS
WITH paid AS (
    SELECT pool, bot, round(avg(total * 1.0 / rounds), 9) AS payoff FROM payoffs
    WHERE tournament = '' AND season = (SELECT coalesce(max(first), 1) FROM seasons) GROUP BY pool, bot
)
SELECT ratings.pool,
    row_number() OVER (
        PARTITION BY ratings.pool ORDER BY paid.payoff DESC NULLS LAST,
        iif(paid.payoff IS NULL, ratings.mu - 3 * ratings.sigma, 0) DESC, bots.key
    ) AS place,
    bots.name AS bot, ratings.mu - 3 * ratings.sigma AS score, ratings.mu, ratings.sigma, ratings.matches AS played,
    ratings.wins AS won, ratings.draws AS drawn, ratings.losses AS lost, ratings.version, paid.payoff
FROM ratings JOIN bots ON bots.id = ratings.bot
    LEFT JOIN paid ON paid.pool = ratings.pool AND paid.bot = ratings.bot"""
"""The statement that creates the view `ladder`."""


def upgrade() -> None:
    op.add_column("seats", sa.Column("payoff", sa.Float(), nullable=True))
    op.add_column("seats", sa.Column("rounds", sa.Integer(), nullable=True))
    op.create_table(
        "payoffs",
        sa.Column("tournament", sa.String(length=40), nullable=False),
        sa.Column("pool", sa.String(length=128), nullable=False),
        sa.Column("season", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("bot", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("opponent", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("matches", sa.Integer(), nullable=False),
        sa.Column("rounds", sa.Integer(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("squares", sa.Integer(), nullable=False),
        sa.Column("products", sa.Integer(), nullable=False),
        sa.Column("rest_squares", sa.Integer(), nullable=False),
        sa.Column("weighted", sa.Integer(), nullable=False),
        sa.Column("round_squares", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("tournament", "pool", "season", "bot", "opponent"),
        sqlite_with_rowid=False,
    )
    for name, statement in (("match_seats", _MATCH_SEATS), ("ladder", _LADDER)):
        op.execute(f"DROP VIEW {name}")
        op.execute(statement)
