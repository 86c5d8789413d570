"""Add nodes and their matches in progress, and rewrite views in SQL for both SQLite and PostgreSQL."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

_MATCH_RESULTS = """CREATE VIEW match_results AS
SELECT matches.number, matches.id AS match, matches.game, matches.config, matches.pool,
    matches.pool IS NOT NULL AS rated, matches.annulled,
    coalesce(
        (SELECT name FROM seasons WHERE seasons.first <= matches.number ORDER BY seasons.id DESC LIMIT 1), 'first'
    ) AS season,
    matches.reason,
    (SELECT bots.name FROM seats JOIN bots ON bots.id = seats.bot
        WHERE seats.match = matches.number AND seats.outcome = 'won') AS winner,
    (SELECT count(*) FROM seats WHERE seats.match = matches.number) AS seats,
    (SELECT group_concat(name, ' ') FROM (
        SELECT bots.name FROM seats JOIN bots ON bots.id = seats.bot WHERE seats.match = matches.number
        ORDER BY seats.seat
    ) AS seated) AS bots,
    (SELECT group_concat(rank, ' ') FROM (
        SELECT seats.rank FROM seats WHERE seats.match = matches.number ORDER BY seats.seat
    ) AS seated) AS ranks,
    matches.plies, matches.started, matches.finished, matches.tournament, matches.place, matches.luck, matches.luck_by,
    matches.digest
FROM matches"""
"""The statement that creates the view `match_results`."""
_MATCH_SEATS = """CREATE VIEW match_seats AS
SELECT seats.match AS number, matches.id AS match, matches.game, matches.pool, seats.seat, bots.name AS bot,
    seats.version, seats.rank, seats.outcome,
    CASE WHEN seats.outcome <> 'void' THEN
        (SELECT CAST(
            sum(CASE WHEN other.rank > seats.rank THEN 2 WHEN other.rank = seats.rank THEN 1 ELSE 0 END) AS float
        ) / (2 * count(*)) FROM seats AS other
            WHERE other.match = seats.match AND other.seat <> seats.seat)
    END AS points,
    seats.reason, seats.moves, seats.thought_ms, seats.mu_before, seats.sigma_before, seats.mu_after, seats.sigma_after,
    seats.payoff, seats.rounds
FROM seats JOIN matches ON matches.number = seats.match JOIN bots ON bots.id = seats.bot"""
"""The statement that creates the view `match_seats`."""
_LADDER = """CREATE VIEW ladder AS
WITH paid AS (
    SELECT pool, bot, CAST(round(CAST(avg(CAST(total AS float) / rounds) AS numeric), 9) AS float) AS payoff
    FROM payoffs WHERE tournament = '' AND season = (SELECT coalesce(max(first), 1) FROM seasons) GROUP BY pool, bot
)
SELECT ratings.pool,
    row_number() OVER (
        PARTITION BY ratings.pool ORDER BY paid.payoff DESC NULLS LAST,
        CASE WHEN paid.payoff IS NULL THEN ratings.mu - 3 * ratings.sigma ELSE 0 END DESC, bots.key
    ) AS place,
    bots.name AS bot, ratings.mu - 3 * ratings.sigma AS score, ratings.mu, ratings.sigma, ratings.matches AS played,
    ratings.wins AS won, ratings.draws AS drawn, ratings.losses AS lost, ratings.version, paid.payoff
FROM ratings JOIN bots ON bots.id = ratings.bot
    LEFT JOIN paid ON paid.pool = ratings.pool AND paid.bot = ratings.bot"""
"""The statement that creates the view `ladder`."""


def upgrade() -> None:
    op.create_table(
        "nodes",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("url", sa.String(length=200), nullable=False),
        sa.Column("seen", sa.String(length=32), nullable=True),
        sa.Column("draining", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("holder", sa.Integer(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )
    op.create_table(
        "under_way",
        sa.Column("match", sa.String(length=40), nullable=False),
        sa.Column("node", sa.Integer(), nullable=False),
        sa.Column("header", sa.Text(), nullable=False),
        sa.Column("secret", sa.String(length=64), nullable=False),
        sa.Column("bots", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["node"], ["nodes.id"]),
        sa.PrimaryKeyConstraint("match"),
    )
    op.create_index("under_way_by_node", "under_way", ["node"])
    op.add_column("matches", sa.Column("node", sa.Integer(), nullable=True))
    positions = op.get_bind().exec_driver_sql("SELECT position FROM feed").scalars().all()
    op.drop_table("feed")
    fed = op.create_table(
        "feed",
        sa.Column("node", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("node"),
    )
    op.bulk_insert(fed, [{"node": 0, "position": position} for position in positions])
    op.drop_index("matches_by_record", "matches")
    op.create_index(
        "matches_by_record",
        "matches",
        [sa.text("(coalesce(pool, annulled) IS NULL)"), "finished", "record_bytes"],
        sqlite_where=sa.text("record_bytes IS NOT NULL AND tournament IS NULL"),
    )
    for name, statement in (("match_results", _MATCH_RESULTS), ("match_seats", _MATCH_SEATS), ("ladder", _LADDER)):
        op.execute(f"DROP VIEW {name}")
        op.execute(statement)
