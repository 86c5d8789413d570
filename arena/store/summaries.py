"""Summary tables, which hold counts for pages, and the queries that compute them from the results of some or all
matches.

The same queries add a batch of matches, subtract matches whose pool changes, and rebuild all tables. All values are
integers, so nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy import Connection

from arena.store.dialect import execute
from arena.store.match_numbers import BEYOND_ALL_MATCHES, IN_NUMBERS_SQL, numbers_parameter
from arena.store.schema import metadata

_POOL_TEMPLATE = "coalesce({0}.pool, {0}.game || '/unrated')"
"""The template of the SQL expression for a match's pool, or for `GAME/unrated` if the match is unrated. `{0}` stands
for the table or subquery that has the match.
"""
_IN_MATCH_RANGE = "BETWEEN :first AND :last"
"""The SQL condition for match numbers from :first to :last."""
_SEATS_BY_SCOPE = f"""WITH sat AS (
    SELECT '' AS scope, seats.* FROM seats WHERE match {_IN_MATCH_RANGE}
    UNION ALL SELECT tournament, seats.* FROM seats WHERE tournament IS NOT NULL AND match {_IN_MATCH_RANGE}
)"""
"""The start of a query. It defines `sat`, which has the seats of some matches by `scope`. Every seat has the scope ''
(all matches). A seat in a tournament match is there a second time, with the tournament as its scope.
"""
_COUNTS_SQL = f"""WITH ended AS (
    SELECT '' AS scope, matches.* FROM matches WHERE number {_IN_MATCH_RANGE}
    UNION ALL SELECT tournament, matches.* FROM matches WHERE tournament IS NOT NULL AND number {_IN_MATCH_RANGE}
)
SELECT scope, game, {_POOL_TEMPLATE.format("ended")}, reason, count(*) FROM ended WHERE true GROUP BY 1, 2, 3, 4"""
_TALLIES_QUERY = f"""{_SEATS_BY_SCOPE}
SELECT scope, bot, pool, outcome, reason, seat, count(*),
    coalesce(sum(CASE WHEN thought_ms IS NULL THEN 0 ELSE moves END), 0), coalesce(sum(thought_ms), 0)
FROM sat WHERE true GROUP BY 1, 2, 3, 4, 5, 6"""
_OPPONENTS_QUERY = f"""{_SEATS_BY_SCOPE}
SELECT scope, sat.bot, sat.pool, other.bot, count(*) FILTER (WHERE sat.outcome <> 'void' AND sat.rank < other.rank),
    count(*) FILTER (WHERE sat.outcome <> 'void' AND sat.rank = other.rank),
    count(*) FILTER (WHERE sat.outcome <> 'void' AND sat.rank > other.rank),
    count(*) FILTER (WHERE sat.outcome = 'void')
FROM sat JOIN seats AS other ON other.match = sat.match AND other.seat <> sat.seat WHERE true GROUP BY 1, 2, 3, 4"""
# Squares are split into parts, so that sums fit SQLite's 64-bit integers.
_PAYOFFS_SQL = f"""WITH sat AS (
    SELECT '' AS scope, seats.pool AS pool,
        coalesce((SELECT max(first) FROM seasons WHERE seasons.first <= match), 1) AS season,
        match, seat, bot, payoff, rounds
    FROM seats JOIN matches ON matches.number = match
    WHERE payoff IS NOT NULL AND matches.pool IS NOT NULL AND match {_IN_MATCH_RANGE}
    UNION ALL SELECT tournament, pool, 1, match, seat, bot, payoff, rounds
    FROM seats WHERE tournament IS NOT NULL AND payoff IS NOT NULL AND match {_IN_MATCH_RANGE}
), paid AS (SELECT *, CAST(round(payoff * rounds) AS bigint) AS total FROM sat),
parted AS (SELECT *, total / 1000000 AS millions, total % 1000000 AS rest FROM paid)
SELECT scope, parted.pool, season, parted.bot, other.bot, count(*), sum(parted.rounds), sum(total),
    sum(millions * millions), sum(millions * rest), sum(rest * rest),
    sum(total * parted.rounds), sum(parted.rounds * parted.rounds)
FROM parted JOIN seats AS other ON other.match = parted.match AND other.seat <> parted.seat
WHERE true GROUP BY 1, 2, 3, 4, 5"""
_VERSIONS_SQL = f"""SELECT bot, pool, version, count(*) FILTER (WHERE outcome = 'won'),
    count(*) FILTER (WHERE outcome = 'drawn'), count(*) FILTER (WHERE outcome = 'lost'),
    count(*) FILTER (WHERE outcome = 'void'), coalesce(sum(CASE WHEN thought_ms IS NULL THEN 0 ELSE moves END), 0),
    coalesce(sum(thought_ms), 0), max(match)
FROM seats WHERE match {_IN_MATCH_RANGE} GROUP BY 1, 2, 3"""
_ENCOUNTERS_SQL = f"""SELECT DISTINCT seats.bot, other.bot, seats.pool, seats.outcome, seats.reason, seats.match
FROM seats JOIN seats AS other ON other.match = seats.match AND other.seat <> seats.seat
WHERE seats.match {_IN_MATCH_RANGE}"""
"""The query that computes rows of the table `encounters`. A row is a pair of bots that met in a match, with the outcome
and the reason for the first bot.
"""
_HOURS_SQL = (
    f"SELECT substr(finished, 1, 13), min(number), max(number) FROM matches WHERE number {_IN_MATCH_RANGE} GROUP BY 1"
)
"""The query that computes rows of the table `hours`: the smallest and the largest number of the matches that ended in
an hour.
"""


_PAYOFF_SUM_COLUMNS = ("matches", "rounds", "total", "squares", "products", "rest_squares", "weighted", "round_squares")
_OUTCOME_COUNT_COLUMNS = ("wins", "draws", "losses", "void")
_SUMMARY_TABLES = {
    "counts": (_COUNTS_SQL, ("matches",), (), ()),
    "tallies": (_TALLIES_QUERY, ("matches", "moves", "thought_ms"), (), ()),
    "opponents": (_OPPONENTS_QUERY, _OUTCOME_COUNT_COLUMNS, (), ()),
    "payoffs": (_PAYOFFS_SQL, _PAYOFF_SUM_COLUMNS, (), ()),
    "versions": (_VERSIONS_SQL, (*_OUTCOME_COUNT_COLUMNS, "moves", "thought_ms"), ("last",), ()),
    "encounters": (_ENCOUNTERS_SQL, (), (), ()),
    "hours": (_HOURS_SQL, (), ("last",), ("first",)),
}
"""The query that computes each summary table, and three tuples of its columns: those that are sums, those that are
maxima, and those that are minima. The keys are the names of the tables.
"""


def _upsert_statement(table: str) -> str:
    query, sums, largest, smallest = _SUMMARY_TABLES[table]
    key = ", ".join(column.name for column in metadata.tables[table].primary_key)
    changed = [
        *(f"{column} = {table}.{column} + excluded.{column}" for column in sums),
        *(f"{column} = {_better_value(table, column, '>')}" for column in largest),
        *(f"{column} = {_better_value(table, column, '<')}" for column in smallest),
    ]
    return f"INSERT INTO {table} {query} ON CONFLICT ({key}) DO " + (
        f"UPDATE SET {', '.join(changed)}" if changed else "NOTHING"
    )


def _better_value(table: str, column: str, better: str) -> str:
    """Return the SQL expression for the larger (`>`) or the smaller (`<`) of two values of a column: stored and new."""
    return f"CASE WHEN excluded.{column} {better} {table}.{column} THEN excluded.{column} ELSE {table}.{column} END"


def _for_numbers(statement: str) -> str:
    """Convert a statement for a range of match numbers to one for the match numbers in `numbers_parameter`."""
    return statement.replace(_IN_MATCH_RANGE, IN_NUMBERS_SQL)


_ADD_STATEMENTS = {table: _upsert_statement(table) for table in _SUMMARY_TABLES}
"""The statement that adds a range of matches to each summary table, by table name."""
_POOL_DEPENDENT_TABLES = [table for table in _SUMMARY_TABLES if table != "hours"]
"""The names of the summary tables that depend on the pools of matches."""
_CONTRIBUTION_QUERIES = {table: _for_numbers(_SUMMARY_TABLES[table][0]) for table in _POOL_DEPENDENT_TABLES}
"""The query for the rows that some matches add to each summary table, by table name."""
_RE_ADD_STATEMENTS = [_for_numbers(_ADD_STATEMENTS[table]) for table in _POOL_DEPENDENT_TABLES]
"""The statements that add matches to the summary tables again, after their pool has changed."""
# The scan goes down from the last match. `|| ''` keeps SQLite from using the pool's index, which is slower here.
_FIND_LAST_OF_VERSION = _for_numbers(f"""UPDATE versions SET last = (
        SELECT match FROM seats WHERE seats.bot = versions.bot AND match < versions.last AND match NOT {_IN_MATCH_RANGE}
            AND seats.pool || '' = versions.pool AND seats.version || '' = versions.version ORDER BY match DESC LIMIT 1
    ) WHERE last {_IN_MATCH_RANGE} AND (bot, pool) IN (SELECT bot, pool FROM seats WHERE match {_IN_MATCH_RANGE})""")
"""The statement that corrects the table `versions` when some matches are removed from it. If the last match of a
version is one of them, the latest of the version's other matches takes its place.
"""
_EXPECTED_SEATS = f"""SELECT seats.match, seats.seat, {_POOL_TEMPLATE.format("matches")} AS pool, matches.tournament,
    CASE
        WHEN matches.reason = 'void' THEN 'void'
        WHEN seats.rank <> 1 THEN 'lost'
        WHEN count(*) FILTER (WHERE seats.rank = 1) OVER (PARTITION BY seats.match) = 1 THEN 'won'
        ELSE 'drawn'
    END AS outcome,
    CASE WHEN matches.pool IS NOT NULL AND seats.match >= season.first THEN
        row_number() OVER (
            PARTITION BY seats.bot, matches.pool, seats.match >= season.first ORDER BY seats.match, seats.seat
        )
    END AS played
FROM seats JOIN matches ON matches.number = seats.match
    CROSS JOIN (SELECT coalesce(max(first), 0) AS first FROM seasons) AS season"""
"""The query for the correct values of the computed columns of `seats`: pool, tournament, outcome and `played`."""
_IS_EXPECTED_SEAT = """seats.match = proper.match AND seats.seat = proper.seat AND (
    seats.pool, seats.outcome) = (proper.pool, proper.outcome)
    AND seats.tournament {is} proper.tournament AND seats.played {is} proper.played"""
"""The SQL condition that a row of `seats` has the correct values. The row `proper` of `_EXPECTED_SEATS` has these
values.
"""


def add_matches(connection: Connection, first: int, last: int) -> None:
    """Add the matches from number `first` to `last`, which were just stored, to the summary tables."""
    for statement in _ADD_STATEMENTS.values():
        execute(connection, statement, {"first": first, "last": last})


def rebuild(connection: Connection) -> int:
    """Rebuild all summary tables from the results. Return how many stored rows were wrong."""
    stale = _count_wrong_seats(connection)
    if stale:
        _correct_seats(connection)
    for table, (query, *_) in _SUMMARY_TABLES.items():
        if wrong := _count_differences(connection, table, query):
            stale += wrong
            _rebuild_table(connection, table)
    return stale


def remove_matches(connection: Connection, numbers: Sequence[int]) -> None:
    """Subtract matches from the summary tables, before a change of their pool. The table `hours` does not change."""
    chosen = numbers_parameter(numbers)
    for table, share in _CONTRIBUTION_QUERIES.items():
        columns = metadata.tables[table].columns.keys()
        rows = [dict(zip(columns, row, strict=True)) for row in execute(connection, share, chosen)]
        for statement in _subtraction_statements(table) if rows else ():
            execute(connection, statement, rows)
    execute(connection, _FIND_LAST_OF_VERSION, chosen)


def _subtraction_statements(table: str) -> Iterator[str]:
    """Yield the statements that subtract a row's numbers from the stored row with the same key, and delete the stored
    row if all its numbers are 0.
    """
    sums = _SUMMARY_TABLES[table][1]
    key = [f"{column.name} = :{column.name}" for column in metadata.tables[table].primary_key]
    if sums:
        taken = ", ".join(f"{column} = {column} - :{column}" for column in sums)
        yield f"UPDATE {table} SET {taken} WHERE {' AND '.join(key)}"
    yield f"DELETE FROM {table} WHERE {' AND '.join([*key, *(f'{column} = 0' for column in sums)])}"


def add_again(connection: Connection, numbers: Sequence[int]) -> None:
    """Add matches to the summary tables again, after `remove_matches` and a change of their pool."""
    for statement in _RE_ADD_STATEMENTS:
        execute(connection, statement, numbers_parameter(numbers))


def _correct_seats(connection: Connection) -> None:
    execute(
        connection,
        f"""UPDATE seats SET (pool, tournament, outcome, played) =
            (proper.pool, proper.tournament, proper.outcome, proper.played)
        FROM ({_EXPECTED_SEATS}) AS proper
        WHERE seats.match = proper.match AND seats.seat = proper.seat AND NOT ({_IS_EXPECTED_SEAT})""",
    )


def _rebuild_table(connection: Connection, table: str) -> None:
    execute(connection, f"DELETE FROM {table}")
    execute(connection, _ADD_STATEMENTS[table], {"first": 0, "last": BEYOND_ALL_MATCHES})


def find_problems(connection: Connection) -> Iterator[str]:
    """Yield a line for the table `seats` and for each summary table that has wrong rows."""
    wrong = {"seats": _count_wrong_seats(connection)}
    for table, (query, *_) in _SUMMARY_TABLES.items():
        wrong[table] = _count_differences(connection, table, query)
    for table, rows in wrong.items():
        if rows:
            yield f"{table}: {rows} rows do not follow from the results: run `arena db rebuild-ratings`"


def _count_wrong_seats(connection: Connection) -> int:
    query = f"SELECT count(*) FROM seats, ({_EXPECTED_SEATS}) AS proper WHERE seats.match = proper.match AND "
    query += f"seats.seat = proper.seat AND NOT ({_IS_EXPECTED_SEAT})"
    return int(execute(connection, query).scalar_one())


def _count_differences(connection: Connection, table: str, query: str) -> int:
    """Return the number of wrong rows in a table: of missing rows or of superfluous rows, whichever are more."""
    right, stored = f"SELECT * FROM ({query}) AS proper", f"SELECT * FROM {table}"
    wrong = 0
    for one, other in ((right, stored), (stored, right)):
        differing = f"SELECT * FROM ({one}) AS one EXCEPT SELECT * FROM ({other}) AS other"
        counted = f"SELECT count(*) FROM ({differing}) AS differing"
        wrong = max(wrong, execute(connection, counted, {"first": 0, "last": BEYOND_ALL_MATCHES}).scalar_one())
    return wrong
