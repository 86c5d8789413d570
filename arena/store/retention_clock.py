"""The clock by which records and names grow old: the database's, which all nodes share, while it runs steadily.

A clock that was set wrong must not remove what can't be brought back. So servers note every hour what the clock says.
After a step that nobody saw it pass, nothing grows too old until the clock has run steadily for `STEADY_DAYS` again.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import Connection

from arena.store.dialect import execute, is_postgresql
from machine.timestamps import seconds_of, utc, written

MAX_STEP_DAYS = 1.0
"""Servers look every hour. A clock that is further on, or back, was set, or no server ran meanwhile."""
STEADY_DAYS = 1.0
"""After a step the operator has this long to find out that the clock is wrong."""
DAY_S = 86400.0
NOW = "to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"
"""The time of a server's clock, as `utc` has that of this machine."""
_LOOKED = "SELECT looked, steady_since FROM retention_clock"
_NOTE = """INSERT INTO retention_clock (id, looked, steady_since) VALUES (1, :looked, :steady_since)
ON CONFLICT (id) DO UPDATE SET looked = excluded.looked, steady_since = excluded.steady_since"""


def database_now(connection: Connection) -> str:
    """Return the time of the database's clock: of its server, or of this machine where it is a file."""
    if is_postgresql(connection):
        return str(execute(connection, f"SELECT {NOW}").scalar_one())
    return utc()


def days_before_now(connection: Connection, days: float) -> str:
    """Return the time so many days ago, by the database's clock."""
    return written(datetime.fromisoformat(database_now(connection)) - timedelta(days=days))


def look_at_clock(connection: Connection) -> str | None:
    """Note what the database's clock says.

    Return in a line why nothing grows too old by it now, None where it does.
    """
    now = database_now(connection)
    row = execute(connection, _LOOKED).one_or_none()
    since = None if row is None else row.steady_since
    step = 0.0 if row is None else _days_between(row.looked, now)
    if abs(step) > MAX_STEP_DAYS:
        since = now
    execute(connection, _NOTE, {"looked": now, "steady_since": since})
    if since is None or _days_between(since, now) >= STEADY_DAYS:
        return None
    return (
        f"the clock of the database was set, or no server ran for more than {MAX_STEP_DAYS:g} day, before {since}: no "
        f"record is removed for its age, and no name is free again, until it has run for {STEADY_DAYS:g} day since"
    )


def is_steady(connection: Connection) -> bool:
    """Return whether the database's clock has run steadily of late, as far as servers have looked."""
    row = execute(connection, _LOOKED).one_or_none()
    if row is None:
        return True
    now = database_now(connection)
    if abs(_days_between(row.looked, now)) > MAX_STEP_DAYS:
        return False
    return row.steady_since is None or _days_between(row.steady_since, now) >= STEADY_DAYS


def _days_between(earlier: str, later: str) -> float:
    return (seconds_of(later) - seconds_of(earlier)) / DAY_S
