"""The clock that decides the age of records and names: the database's, shared by all nodes, while it runs steadily.

A wrong clock must not cause irreversible removals. So servers store the clock's time every hour. After an unexplained
step, nothing counts as too old until the clock has run steadily for `STEADY_DAYS`.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import Connection

from arena.store.dialect import execute, is_postgresql
from machine.timestamps import format_timestamp, parse_timestamp, utc_now

MAX_STEP_DAYS = 1.0
"""Maximum step between two hourly checks. After a larger one, the clock was set or no server ran meanwhile."""
STEADY_DAYS = 1.0
"""After a step, the operator has this long to notice that the clock is wrong."""
DAY_S = 86400.0
NOW_SQL = "to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"
"""SQL for the server's time, in the format of `utc_now`."""
_LAST_CLOCK_READING = "SELECT looked, steady_since FROM retention_clock"
_STORE_CLOCK_READING = """INSERT INTO retention_clock (id, looked, steady_since) VALUES (1, :looked, :steady_since)
ON CONFLICT (id) DO UPDATE SET looked = excluded.looked, steady_since = excluded.steady_since"""


def database_now(connection: Connection) -> str:
    """Return the database's time: the server's, or this machine's for SQLite."""
    if is_postgresql(connection):
        return str(execute(connection, f"SELECT {NOW_SQL}").scalar_one())
    return utc_now()


def days_before_now(connection: Connection, days: float) -> str:
    """Return the time `days` ago by the database's clock."""
    return format_timestamp(datetime.fromisoformat(database_now(connection)) - timedelta(days=days))


def check_clock(connection: Connection) -> str | None:
    """Store the database's time. Return a line that says why nothing ages out now, or None if it does."""
    now = database_now(connection)
    row = execute(connection, _LAST_CLOCK_READING).one_or_none()
    since = None if row is None else row.steady_since
    step = 0.0 if row is None else _days_between(row.looked, now)
    if abs(step) > MAX_STEP_DAYS:
        since = now
    execute(connection, _STORE_CLOCK_READING, {"looked": now, "steady_since": since})
    if since is None or _days_between(since, now) >= STEADY_DAYS:
        return None
    return (
        f"the clock of the database was set, or no server ran for more than {MAX_STEP_DAYS:g} day, before {since}: no "
        f"record is removed for its age, and no name is free again, until it has run for {STEADY_DAYS:g} day since"
    )


def is_steady(connection: Connection) -> bool:
    """Return whether the database's clock has run steadily, as far as servers have checked."""
    row = execute(connection, _LAST_CLOCK_READING).one_or_none()
    if row is None:
        return True
    now = database_now(connection)
    if abs(_days_between(row.looked, now)) > MAX_STEP_DAYS:
        return False
    return row.steady_since is None or _days_between(row.steady_since, now) >= STEADY_DAYS


def _days_between(earlier: str, later: str) -> float:
    return (parse_timestamp(later) - parse_timestamp(earlier)) / DAY_S
