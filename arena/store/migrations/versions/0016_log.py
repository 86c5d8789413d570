"""Add the log of results, its signing key, and the start position that the matches of a pair share."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from arena.store.dialect import is_postgresql, translate

revision = "0016"
down_revision = "0015"
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
    matches.digest,
    CASE WHEN (
            SELECT instr(arguments, '"paired":' || 'true') FROM tournaments WHERE tournaments.id = matches.tournament
        ) > 0 THEN matches.tournament || '/' || (
            matches.place / (SELECT count(*) FROM seats WHERE seats.match = matches.number)
        )
    END AS start
FROM matches"""
"""The statement that creates the view `match_results`."""


def upgrade() -> None:
    op.create_table(
        "match_log",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("hashes", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["number"], ["matches.number"]),
        sa.PrimaryKeyConstraint("number"),
    )
    op.create_table(
        "log_keys",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("secret", sa.LargeBinary(), nullable=False),
        sa.Column("created", sa.String(length=32).with_variant(sa.Text(collation="C"), "postgresql"), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.execute("DROP VIEW match_results")
    connection = op.get_bind()
    connection.exec_driver_sql(translate(_MATCH_RESULTS) if is_postgresql(connection) else _MATCH_RESULTS)
