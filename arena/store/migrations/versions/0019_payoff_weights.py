"""The view `ladder` weighs opponents by rounds, and puts bots with few rounds or opponents below the others."""

from __future__ import annotations

from alembic import op

from arena.store.dialect import is_postgresql, translate

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

_WEIGHT = "CASE WHEN rounds < 200 THEN rounds ELSE 200 END"
"""The SQL expression for the weight of one opponent in a bot's mean payoff."""
_LADDER = f"""CREATE VIEW ladder AS
WITH paid AS (
    SELECT pool, bot, CAST(round(CAST(
        sum(CAST({_WEIGHT} AS float) * total / rounds) / sum({_WEIGHT})
    AS numeric), 9) AS float) AS payoff,
    CASE WHEN count(*) >= 3 AND sum(rounds) >= 600
        AND max({_WEIGHT}) <= 0.5 * sum({_WEIGHT})
    THEN 1 ELSE 0 END AS ranked
    FROM payoffs WHERE tournament = '' AND season = (SELECT coalesce(max(first), 1) FROM seasons) GROUP BY pool, bot
)
SELECT ratings.pool,
    row_number() OVER (
        PARTITION BY ratings.pool ORDER BY paid.ranked DESC NULLS LAST, paid.payoff DESC NULLS LAST,
        CASE WHEN paid.payoff IS NULL THEN ratings.mu - 3 * ratings.sigma ELSE 0 END DESC, bots.key
    ) AS place,
    bots.name AS bot, ratings.mu - 3 * ratings.sigma AS score, ratings.mu, ratings.sigma, ratings.matches AS played,
    ratings.wins AS won, ratings.draws AS drawn, ratings.losses AS lost, ratings.version, paid.payoff
FROM ratings JOIN bots ON bots.id = ratings.bot
    LEFT JOIN paid ON paid.pool = ratings.pool AND paid.bot = ratings.bot"""
"""The statement that creates the view `ladder`."""


def upgrade() -> None:
    connection = op.get_bind()
    if is_postgresql(connection):
        # Replaced, a view keeps what roles were granted on it.
        connection.exec_driver_sql(translate(_LADDER).replace("CREATE VIEW", "CREATE OR REPLACE VIEW"))
    else:
        op.execute("DROP VIEW ladder")
        connection.exec_driver_sql(_LADDER)
