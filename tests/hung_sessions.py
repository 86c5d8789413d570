"""Sessions with a database that stand still: the server's process is stopped, and says nothing any more."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import time
from collections.abc import Iterator

import psycopg
from sqlalchemy import Connection

from arena.store.dialect import execute
from arena.store.postgres_database import PostgresDatabase
from timeouts import WITHIN

STEP_S = 10.0
"""What passes by a skipping clock whenever somebody looks at it."""
MOMENT_S = 0.05


@contextlib.contextmanager
def stopped(pid: int) -> Iterator[None]:
    """Have a process stand still inside."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


@contextlib.contextmanager
def skipping(database: PostgresDatabase) -> Iterator[None]:
    """Have a database that does not answer be given up soon: time passes whenever somebody looks at the clock."""
    clock = database.limit.clock
    database.limit.clock = itertools.count(time.monotonic(), STEP_S).__next__
    try:
        yield
    finally:
        database.limit.clock = clock


def backend(connection: Connection) -> int:
    """Return the id of the server's process of a connection."""
    return int(execute(connection, "SELECT pg_backend_pid()").scalar_one())


def listening_backends(url: str) -> set[int]:
    """Return the ids of the server's processes whose sessions listen."""
    query = b"SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN %'"
    with psycopg.connect(url, autocommit=True) as connection:
        return {pid for (pid,) in connection.execute(query)}


def wait_until_ended(url: str, pid: int) -> None:
    """Return once a process of the server has ended its session."""
    ends = time.monotonic() + WITHIN
    with psycopg.connect(url, autocommit=True) as connection:
        while connection.execute("SELECT FROM pg_stat_activity WHERE pid = %s", (pid,)).fetchone() is not None:
            assert time.monotonic() < ends, f"process {pid} goes on"
            time.sleep(MOMENT_S)
