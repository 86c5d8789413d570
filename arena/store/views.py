"""The views of the database for outside queries. They stay the same across schema revisions. docs/data.md documents
their columns.

On PostgreSQL the views have their own schema. PostgreSQL takes some locks on a table before it checks the right to use
the table. But a role that may only use the schema of the views cannot name a table at all. So it takes no lock that
stops the arena.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection

from arena.store.dialect import execute, is_postgresql, prepare_for_sqlite
from arena.store.pool_payoffs import MEAN_SQL, RANKED_SQL

VIEWS_SCHEMA = "arena_views"
"""The schema that holds the views on PostgreSQL."""
_MAX_PLANNINGS = 3
"""Maximum attempts to get equal query plans for two queries, which the server plans one after the other. A table that
grows between the two plannings can change the second plan.
"""

# SQLite cannot drop a column that a view uses, nor rename its table, so such a migration drops the views first.

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
    (SELECT {group_concat}(name, ' ') FROM (
        SELECT bots.name FROM seats JOIN bots ON bots.id = seats.bot WHERE seats.match = matches.number
        ORDER BY seats.seat
    ) AS seated) AS bots,
    (SELECT {group_concat}(CAST(rank AS text), ' ') FROM (
        SELECT seats.rank FROM seats WHERE seats.match = matches.number ORDER BY seats.seat
    ) AS seated) AS ranks,
    matches.plies, matches.started, matches.finished, matches.tournament, matches.place, matches.luck, matches.luck_by,
    matches.digest,
    CASE WHEN (
            SELECT {instr}(arguments, '"paired":' || 'true') FROM tournaments WHERE tournaments.id = matches.tournament
        ) > 0 THEN matches.tournament || '/' || (
            matches.place / (SELECT count(*) FROM seats WHERE seats.match = matches.number)
        )
    END AS start
FROM matches"""
_MATCH_SEATS = """
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
_LADDER = f"""
WITH paid AS (
    SELECT pool, bot, {MEAN_SQL} AS payoff,
    {RANKED_SQL} AS ranked
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
VIEW_QUERIES = {"match_results": _MATCH_RESULTS, "match_seats": _MATCH_SEATS, "ladder": _LADDER}
"""The query of each view, by the name of the view."""
VIEW_STATEMENTS = {name: prepare_for_sqlite(f"CREATE VIEW {name} AS{query}") for name, query in VIEW_QUERIES.items()}
"""The statement that creates each view in SQLite, by the name of the view."""


def create_views(connection: Connection) -> None:
    """Create the views in a database that has none. On PostgreSQL, their schema must exist."""
    place = f"{VIEWS_SCHEMA}." if is_postgresql(connection) else ""
    for name, query in VIEW_QUERIES.items():
        execute(connection, f"CREATE VIEW {place}{name} AS{query}")


def find_problems(connection: Connection) -> Iterator[str]:
    """Yield a line for each view that is missing or is not the one that this version makes."""
    look = _postgresql_definitions if is_postgresql(connection) else _sqlite_definitions
    for name in VIEW_QUERIES:
        found, right = look(connection, name)
        if found is None:
            yield f"view {name} is missing"
        elif found != right:
            yield f"view {name} is not the one of this version"


def _sqlite_definitions(connection: Connection, name: str) -> tuple[object, object]:
    """Return two definitions of a view in a SQLite file: the stored one (None if missing) and the correct one."""
    query = "SELECT sql FROM sqlite_schema WHERE type = 'view' AND name = :name"
    return execute(connection, query, {"name": name}).scalar(), VIEW_STATEMENTS[name]


def _postgresql_definitions(connection: Connection, name: str) -> tuple[object, object]:
    """Return two descriptions of a view: the columns and the query plan that it has (None if it is missing), and those
    that it should have.

    The stored definition cannot be compared with the correct query, because the server rewrites it in a form that
    depends on the server's version. The server shows the correct query in this form only if a view of it is created,
    which a role that only reads cannot do.
    """
    place = f"{VIEWS_SCHEMA}.{name}"
    if execute(connection, "SELECT to_regclass(:place)", {"place": place}).scalar() is None:
        return None, None
    expected = f"({VIEW_QUERIES[name]}) AS {name}"
    for _ in range(_MAX_PLANNINGS):
        found, right = _reading(connection, place), _reading(connection, expected)
        if found == right:
            break
    return found, right


def _reading(connection: Connection, source: str) -> tuple[list[str], list[str]]:
    plan = execute(connection, f"EXPLAIN (VERBOSE, COSTS OFF) SELECT * FROM {source}").scalars()
    columns = execute(connection, f"SELECT * FROM {source} LIMIT 0").keys()
    return list(columns), list(plan)
