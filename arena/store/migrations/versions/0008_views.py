"""Add stable views for external queries."""

from __future__ import annotations

from alembic import op

revision = "0008"
down_revision = "0007"
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
    )) AS bots,
    (SELECT group_concat(rank, ' ') FROM (
        SELECT seats.rank FROM seats WHERE seats.match = matches.number ORDER BY seats.seat
    )) AS ranks,
    matches.plies, matches.started, matches.finished, matches.tournament, matches.place, matches.luck, matches.luck_by,
    matches.digest
FROM matches"""
"""The statement that creates the view `match_results`."""
_MATCH_SEATS = """CREATE VIEW match_seats AS
SELECT seats.match AS number, matches.id AS match, matches.game, matches.pool, seats.seat, bots.name AS bot,
    seats.version, seats.rank, seats.outcome,
    CASE WHEN seats.outcome <> 'void' THEN
        (SELECT (sum(other.rank > seats.rank) + sum(other.rank = seats.rank) / 2.0) / count(*) FROM seats AS other
            WHERE other.match = seats.match AND other.seat <> seats.seat)
    END AS points,
    seats.reason, seats.moves, seats.thought_ms, seats.mu_before, seats.sigma_before, seats.mu_after, seats.sigma_after
FROM seats JOIN matches ON matches.number = seats.match JOIN bots ON bots.id = seats.bot"""
"""The statement that creates the view `match_seats`."""
_LADDER = """CREATE VIEW ladder AS
SELECT ratings.pool,
    row_number() OVER (PARTITION BY ratings.pool ORDER BY ratings.mu - 3 * ratings.sigma DESC, bots.key) AS place,
    bots.name AS bot, ratings.mu - 3 * ratings.sigma AS score, ratings.mu, ratings.sigma, ratings.matches AS played,
    ratings.wins AS won, ratings.draws AS drawn, ratings.losses AS lost, ratings.version
FROM ratings JOIN bots ON bots.id = ratings.bot"""
"""The statement that creates the view `ladder`."""


def upgrade() -> None:
    for statement in (_MATCH_RESULTS, _MATCH_SEATS, _LADDER):
        op.execute(statement)
