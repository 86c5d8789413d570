"""A PostgreSQL server of the tests' own, as Debian installs it, and a new database on it for who asks."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import psycopg

from arena.store.database_url import database_at
from programs import missing

USER = "postgres"
"""Who runs it where root runs the tests, whom the server refuses."""
_TEMPLATE = "arena_as_made"
_HASTY = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
_SETTINGS = {
    "listen_addresses": "",  # a socket in its folder is all
    "shared_buffers": "32MB",
    "max_connections": "200",
}


def program(name: str) -> str:
    """Where a program of the server is. Where there is none the test is skipped, in CI it fails."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(found[-1]) if found else missing("PostgreSQL is not installed; on Debian: apt-get install postgresql")


class PostgresServer:
    """A server in a folder of its own, to be started and stopped as often as one likes, and to be removed; a `durable`
    one writes to the disk what others only say they have written.
    """

    def __init__(self, *, durable: bool = False) -> None:
        self.folder = folder = Path(tempfile.mkdtemp(prefix="arena-postgres-"))  # where other users get to
        self._data = folder / "data"
        folder.chmod(0o755)
        if os.geteuid() == 0:
            shutil.chown(folder, USER)
        words = ["--username", USER, "--auth", "trust", "--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync"]
        self._run([program("initdb"), "--pgdata", str(self._data), *words])
        lines = [f"{name} = '{value}'" for name, value in (_SETTINGS | ({} if durable else _HASTY)).items()]
        with (self._data / "postgresql.conf").open("a") as settings:
            settings.write("\n".join([*lines, f"unix_socket_directories = '{folder}'", ""]))

    def _run(self, command: Sequence[str]) -> None:
        user = USER if os.geteuid() == 0 else None
        done = subprocess.run(command, user=user, cwd=self.folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        self._run(
            [program("pg_ctl"), "--pgdata", str(self._data), "--wait", "--log", str(self.folder / "log"), "start"]
        )

    def stop(self, how: str = "immediate") -> None:
        """Stop it; as a crash would, unless `how` is another."""
        self._run([program("pg_ctl"), "--pgdata", str(self._data), "--wait", "--mode", how, "stop"])

    def remove(self) -> None:
        """Stop it, if it runs, and forget all that it had."""
        with contextlib.suppress(AssertionError):
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database: str) -> str:
        """The URL of a database on it."""
        return f"postgresql://{USER}@/{database}?host={self.folder}"

    def execute(self, statement: str, database: str = "postgres") -> None:
        """Have something done there."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            connection.execute(statement.encode())


@contextlib.contextmanager
def postgres_server(*, durable: bool = False) -> Iterator[PostgresServer]:
    """A server of one's own that runs inside, to be stopped and started as often as one likes."""
    server = PostgresServer(durable=durable)
    try:
        server.start()
        yield server
    finally:
        server.remove()


@functools.cache
def shared_server() -> PostgresServer:
    """The server of this process, which ends with it; a database on it is as an arena's is when it was made."""
    program("initdb")
    server = PostgresServer()
    atexit.register(server.remove)
    server.start()
    server.execute(f"CREATE DATABASE {_TEMPLATE}")
    database_at(server.url(_TEMPLATE)).create()
    return server


_made = iter(range(1, 1_000_000))


def new_database(*, made: bool = True) -> str:
    """The URL of a new database on the shared server: an arena's without anything in it, or, not `made`, empty."""
    server = shared_server()
    name = f"arena_{next(_made)}"
    server.execute(f"CREATE DATABASE {name} TEMPLATE {_TEMPLATE if made else 'template0'}")
    return server.url(name)


def drop_database(url: str) -> None:
    """Forget a database of the shared server, whoever is connected to it."""
    shared_server().execute(f"DROP DATABASE {psycopg.conninfo.conninfo_to_dict(url)['dbname']} WITH (FORCE)")
