"""The views of the database that stay as they are from version to version: what others may ask it. docs/data.md tells
their columns.
"""

from __future__ import annotations

# SQLite drops no column that a view names, and renames no table under one: a migration that does drops the views first.

_MATCH_RESULTS = """
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
_MATCH_SEATS = """
SELECT seats.match AS number, matches.id AS match, matches.game, matches.pool, seats.seat, bots.name AS bot,
    seats.version, seats.rank, seats.outcome,
    CASE WHEN seats.outcome <> 'void' THEN
        (SELECT (sum(other.rank > seats.rank) + sum(other.rank = seats.rank) / 2.0) / count(*) FROM seats AS other
            WHERE other.match = seats.match AND other.seat <> seats.seat)
    END AS points,
    seats.reason, seats.moves, seats.thought_ms, seats.mu_before, seats.sigma_before, seats.mu_after, seats.sigma_after,
    seats.payoff, seats.rounds
FROM seats JOIN matches ON matches.number = seats.match JOIN bots ON bots.id = seats.bot"""
_LADDER = """
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
VIEWS = {
    name: f"CREATE VIEW {name} AS{query}"
    for name, query in (("match_results", _MATCH_RESULTS), ("match_seats", _MATCH_SEATS), ("ladder", _LADDER))
}
"""How each is made, by its name."""
