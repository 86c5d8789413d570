"""Summary tables that keep pages fast, and the queries that derive them from the results, for some matches or all.

The same queries add a batch, take out matches whose pool changes, and rebuild everything. All values are integers, so
nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy import Connection

from arena.store.dialect import execute
from arena.store.match_numbers import AMONG, among
from arena.store.schema import metadata

_MOST = 2**62
_POOL = "coalesce({0}.pool, {0}.game || '/unrated')"
_BETWEEN = "BETWEEN :first AND :last"
_SAT = f"""WITH sat AS (
    SELECT '' AS scope, seats.* FROM seats WHERE match {_BETWEEN}
    UNION ALL SELECT tournament, seats.* FROM seats WHERE tournament IS NOT NULL AND match {_BETWEEN}
)"""
_COUNTS = f"""WITH ended AS (
    SELECT '' AS scope, matches.* FROM matches WHERE number {_BETWEEN}
    UNION ALL SELECT tournament, matches.* FROM matches WHERE tournament IS NOT NULL AND number {_BETWEEN}
)
SELECT scope, game, {_POOL.format("ended")}, reason, count(*) FROM ended WHERE true GROUP BY 1, 2, 3, 4"""
_TALLIES = f"""{_SAT}
SELECT scope, bot, pool, outcome, reason, seat, count(*),
    coalesce(sum(CASE WHEN thought_ms IS NULL THEN 0 ELSE moves END), 0), coalesce(sum(thought_ms), 0)
FROM sat WHERE true GROUP BY 1, 2, 3, 4, 5, 6"""
_OPPONENTS = f"""{_SAT}
SELECT scope, sat.bot, sat.pool, other.bot, count(*) FILTER (WHERE sat.outcome <> 'void' AND sat.rank < other.rank),
    count(*) FILTER (WHERE sat.outcome <> 'void' AND sat.rank = other.rank),
    count(*) FILTER (WHERE sat.outcome <> 'void' AND sat.rank > other.rank),
    count(*) FILTER (WHERE sat.outcome = 'void')
FROM sat JOIN seats AS other ON other.match = sat.match AND other.seat <> sat.seat WHERE true GROUP BY 1, 2, 3, 4"""
# Squares are split into parts, so that sums fit SQLite's 64-bit integers.
_PAYOFFS = f"""WITH sat AS (
    SELECT '' AS scope, seats.pool AS pool,
        coalesce((SELECT max(first) FROM seasons WHERE seasons.first <= match), 1) AS season,
        match, seat, bot, payoff, rounds
    FROM seats JOIN matches ON matches.number = match
    WHERE payoff IS NOT NULL AND matches.pool IS NOT NULL AND match {_BETWEEN}
    UNION ALL SELECT tournament, pool, 1, match, seat, bot, payoff, rounds
    FROM seats WHERE tournament IS NOT NULL AND payoff IS NOT NULL AND match {_BETWEEN}
), paid AS (SELECT *, CAST(round(payoff * rounds) AS bigint) AS total FROM sat),
parted AS (SELECT *, total / 1000000 AS millions, total % 1000000 AS rest FROM paid)
SELECT scope, parted.pool, season, parted.bot, other.bot, count(*), sum(parted.rounds), sum(total),
    sum(millions * millions), sum(millions * rest), sum(rest * rest),
    sum(total * parted.rounds), sum(parted.rounds * parted.rounds)
FROM parted JOIN seats AS other ON other.match = parted.match AND other.seat <> parted.seat
WHERE true GROUP BY 1, 2, 3, 4, 5"""
_VERSIONS = f"""SELECT bot, pool, version, count(*) FILTER (WHERE outcome = 'won'),
    count(*) FILTER (WHERE outcome = 'drawn'), count(*) FILTER (WHERE outcome = 'lost'),
    count(*) FILTER (WHERE outcome = 'void'), coalesce(sum(CASE WHEN thought_ms IS NULL THEN 0 ELSE moves END), 0),
    coalesce(sum(thought_ms), 0), max(match)
FROM seats WHERE match {_BETWEEN} GROUP BY 1, 2, 3"""
_ENCOUNTERS = f"""SELECT DISTINCT seats.bot, other.bot, seats.pool, seats.outcome, seats.reason, seats.match
FROM seats JOIN seats AS other ON other.match = seats.match AND other.seat <> seats.seat
WHERE seats.match {_BETWEEN}"""
_HOURS = f"SELECT substr(finished, 1, 13), min(number), max(number) FROM matches WHERE number {_BETWEEN} GROUP BY 1"


_PAID = ("matches", "rounds", "total", "squares", "products", "rest_squares", "weighted", "round_squares")
_ENDED = ("wins", "draws", "losses", "void")
_TABLES = {
    "counts": (_COUNTS, ("matches",), (), ()),
    "tallies": (_TALLIES, ("matches", "moves", "thought_ms"), (), ()),
    "opponents": (_OPPONENTS, _ENDED, (), ()),
    "payoffs": (_PAYOFFS, _PAID, (), ()),
    "versions": (_VERSIONS, (*_ENDED, "moves", "thought_ms"), ("last",), ()),
    "encounters": (_ENCOUNTERS, (), (), ()),
    "hours": (_HOURS, (), ("last",), ("first",)),
}
"""The query of each table for matches :first to :last, and its columns that are sums, maxima and minima."""


def _adding(table: str) -> str:
    query, sums, largest, smallest = _TABLES[table]
    key = ", ".join(column.name for column in metadata.tables[table].primary_key)
    changed = [
        *(f"{column} = {table}.{column} + excluded.{column}" for column in sums),
        *(f"{column} = {_chosen(table, column, '>')}" for column in largest),
        *(f"{column} = {_chosen(table, column, '<')}" for column in smallest),
    ]
    return f"INSERT INTO {table} {query} ON CONFLICT ({key}) DO " + (
        f"UPDATE SET {', '.join(changed)}" if changed else "NOTHING"
    )


def _chosen(table: str, column: str, better: str) -> str:
    """Return SQL for the better of the stored and the new value."""
    return f"CASE WHEN excluded.{column} {better} {table}.{column} THEN excluded.{column} ELSE {table}.{column} END"


def _of_some(statement: str) -> str:
    """Return the statement for match numbers given by `among` in place of a range."""
    return statement.replace(_BETWEEN, AMONG)


_ADD = {table: _adding(table) for table in _TABLES}
_OF_POOLS = [table for table in _TABLES if table != "hours"]
"""The tables that depend on the pools of matches."""
_SHARES = {table: _of_some(_TABLES[table][0]) for table in _OF_POOLS}
_PUT_BACK = [_of_some(_ADD[table]) for table in _OF_POOLS]
# Scans down from the last match; the concatenations keep SQLite from using the pool's index, which is slower here.
_FIND_LAST = _of_some(
    f"""UPDATE versions SET last = (
        SELECT match FROM seats WHERE seats.bot = versions.bot AND match < versions.last AND match NOT {_BETWEEN}
            AND seats.pool || '' = versions.pool AND seats.version || '' = versions.version ORDER BY match DESC LIMIT 1
    ) WHERE last {_BETWEEN} AND (bot, pool) IN (SELECT bot, pool FROM seats WHERE match {_BETWEEN})"""
)
_RIGHT = f"""SELECT seats.match, seats.seat, {_POOL.format("matches")} AS pool, matches.tournament,
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
"""The expected values of seat columns that are derived from their match and earlier ones."""
_SAME = """seats.match = proper.match AND seats.seat = proper.seat AND (
    seats.pool, seats.outcome) = (proper.pool, proper.outcome)
    AND seats.tournament IS proper.tournament AND seats.played IS proper.played"""


def add(connection: Connection, first: int, last: int) -> None:
    """Add newly stored matches with these numbers to the summaries."""
    for statement in _ADD.values():
        execute(connection, statement, {"first": first, "last": last})


def rebuild(connection: Connection) -> int:
    """Rebuild all summaries from the results. Return how many rows differed."""
    stale = _seats(connection)
    if stale:
        _mend_seats(connection)
    for table, (query, *_) in _TABLES.items():
        if wrong := _differences(connection, table, query):
            stale += wrong
            _make_anew(connection, table)
    return stale


def remove(connection: Connection, numbers: Sequence[int]) -> None:
    """Subtract these matches from the summaries before their pool changes. Their hours stay."""
    chosen = among(numbers)
    for table, share in _SHARES.items():
        columns = metadata.tables[table].columns.keys()
        rows = [dict(zip(columns, row, strict=True)) for row in execute(connection, share, chosen)]
        for statement in _taking_from(table) if rows else ():
            execute(connection, statement, rows)
    execute(connection, _FIND_LAST, chosen)


def _taking_from(table: str) -> Iterator[str]:
    """Yield statements that subtract a row from the one with its key, and delete that if nothing is left."""
    sums = _TABLES[table][1]
    key = [f"{column.name} = :{column.name}" for column in metadata.tables[table].primary_key]
    if sums:
        taken = ", ".join(f"{column} = {column} - :{column}" for column in sums)
        yield f"UPDATE {table} SET {taken} WHERE {' AND '.join(key)}"
    yield f"DELETE FROM {table} WHERE {' AND '.join([*key, *(f'{column} = 0' for column in sums)])}"


def put_back(connection: Connection, numbers: Sequence[int]) -> None:
    """Add these matches again after their pool has changed."""
    for statement in _PUT_BACK:
        execute(connection, statement, among(numbers))


def _mend_seats(connection: Connection) -> None:
    execute(
        connection,
        f"""UPDATE seats SET (pool, tournament, outcome, played) =
            (proper.pool, proper.tournament, proper.outcome, proper.played)
        FROM ({_RIGHT}) AS proper
        WHERE seats.match = proper.match AND seats.seat = proper.seat AND NOT ({_SAME})""",
    )


def _make_anew(connection: Connection, table: str) -> None:
    execute(connection, f"DELETE FROM {table}")
    execute(connection, _ADD[table], {"first": 0, "last": _MOST})


def find_problems(connection: Connection) -> Iterator[str]:
    """Yield a line for each table that does not follow from the results."""
    wrong = {"seats": _seats(connection)}
    for table, (query, *_) in _TABLES.items():
        wrong[table] = _differences(connection, table, query)
    for table, rows in wrong.items():
        if rows:
            yield f"{table}: {rows} rows are not what follows from the results: run `arena db rebuild-ratings`"


def _seats(connection: Connection) -> int:
    """Count the seats whose derived columns are wrong."""
    query = f"SELECT count(*) FROM seats, ({_RIGHT}) AS proper WHERE seats.match = proper.match AND "
    query += f"seats.seat = proper.seat AND NOT ({_SAME})"
    return int(execute(connection, query).scalar_one())


def _differences(connection: Connection, table: str, query: str) -> int:
    """Return the number of wrong rows: the larger of the missing and the superfluous ones."""
    right, stored = f"SELECT * FROM ({query}) AS proper", f"SELECT * FROM {table}"
    wrong = 0
    for one, other in ((right, stored), (stored, right)):
        differing = f"SELECT * FROM ({one}) AS one EXCEPT SELECT * FROM ({other}) AS other"
        counted = f"SELECT count(*) FROM ({differing}) AS differing"
        wrong = max(wrong, execute(connection, counted, {"first": 0, "last": _MOST}).scalar_one())
    return wrong
