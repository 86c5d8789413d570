"""The clock that decides when records and names are too old: the database's, which all nodes share.

A wrong clock must not cause irreversible removals. So servers store the clock's time every hour. After an unexplained
jump of the clock, nothing counts as too old until the clock has run steadily for `STEADY_DAYS`.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import Connection

from arena.store.dialect import execute, is_postgresql
from machine.timestamps import format_timestamp, parse_timestamp, utc_now
from machine.units import DAY_S

MAX_STEP_DAYS = 1.0
"""Maximum days by which the clock moves between two hourly readings. If it moves more, it was set or no server ran."""
STEADY_DAYS = 1.0
"""Days after a jump of the clock for which nothing counts as too old, so that the operator can notice a wrong clock."""
NOW_SQL = "to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"
"""The SQL expression for the time of a PostgreSQL server, in the format of `utc_now`."""
_LAST_CLOCK_READING = "SELECT looked, steady_since FROM retention_clock"
_STORE_CLOCK_READING = """INSERT INTO retention_clock (id, looked, steady_since) VALUES (1, :looked, :steady_since)
ON CONFLICT (id) DO UPDATE SET looked = excluded.looked, steady_since = excluded.steady_since"""


def database_now(connection: Connection) -> str:
    """Return the time by the database's clock: the server's, or for SQLite this machine's."""
    if is_postgresql(connection):
        return str(execute(connection, f"SELECT {NOW_SQL}").scalar_one())
    return utc_now()


def days_before_now(connection: Connection, days: float) -> str:
    """Return the time `days` ago by the database's clock."""
    return format_timestamp(datetime.fromisoformat(database_now(connection)) - timedelta(days=days))


def check_clock(connection: Connection) -> str | None:
    """Store the database's time as a reading of its clock. If the clock has not run steadily, nothing counts as too
    old: return a line that says why. Otherwise return None.
    """
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
    """Return whether the database's clock has run steadily, according to its stored readings."""
    row = execute(connection, _LAST_CLOCK_READING).one_or_none()
    if row is None:
        return True
    now = database_now(connection)
    if abs(_days_between(row.looked, now)) > MAX_STEP_DAYS:
        return False
    return row.steady_since is None or _days_between(row.steady_since, now) >= STEADY_DAYS


def _days_between(earlier: str, later: str) -> float:
    return (parse_timestamp(later) - parse_timestamp(earlier)) / DAY_S
