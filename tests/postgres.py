"""PostgreSQL servers for tests, as Debian installs them, and databases on the one that all tests of a run share."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict

import budget
import postgres_guard
from arena.store.database_url import open_database_url
from arena.store.postgres_database import SCHEMA_NAME
from arena.store.schema import SCHEMA_REVISIONS
from programs import missing

USER = "postgres"
"""The user who runs the server where root runs the tests: PostgreSQL refuses to run as root."""
MEMORY_FOLDER = Path("/dev/shm")
MIN_FREE_BYTES = 2**30
"""Servers are kept in memory if at least this much of it is free."""
TEMPLATE = "arena_template"
"""The database on the shared server that new ones are copied from."""
_GUARD = "guard"
"""The file in the folder of the shared server with the process id of its guard."""
_READY = "ready"
"""The file in the folder of the shared server that says that databases can be made there."""
_VOLATILE_SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",  # it would start at moments that no test knows
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "256MB",  # of the memory in which it lies
    "checkpoint_timeout": "1d",
}
_SETTINGS = {
    "listen_addresses": "",  # a socket in its folder is all
    "shared_buffers": "32MB",
    "max_connections": "200",
}


def program(name: str) -> str:
    """Return the path of one of the server's programs. Without PostgreSQL the test is skipped; in CI it fails."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(found[-1]) if found else missing("PostgreSQL is not installed; on Debian: apt-get install postgresql")


def server_folder() -> Path:
    """Return the folder for the files of servers: in memory if there is room, where no sync waits for a disk."""
    with contextlib.suppress(OSError):
        if os.access(MEMORY_FOLDER, os.W_OK) and shutil.disk_usage(MEMORY_FOLDER).free > MIN_FREE_BYTES:
            return MEMORY_FOLDER
    return Path(tempfile.gettempdir())


class PostgresServer:
    """A server in a folder of its own, which a test starts, stops and removes.

    It is stopped and removed at the latest when the process `owner` ends, however that ends. A `durable` server syncs
    its files to a disk; other servers only claim to.
    """

    def __init__(self, *, durable: bool = False, folder: Path | None = None, owner: int | None = None) -> None:
        if folder is None:  # not tmp_path, which other users can't reach
            folder = Path(tempfile.mkdtemp(prefix="arena-postgres-", dir=None if durable else server_folder()))
        self.folder = folder
        self._data = folder / "data"
        folder.chmod(0o755)
        if os.geteuid() == 0:
            shutil.chown(folder, USER)
        self._guard = subprocess.Popen(
            [sys.executable, "-I", "-S", postgres_guard.__file__, str(owner or os.getpid()), str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # out of reach of Ctrl-C
        )
        words = ["--username", USER, "--auth", "trust", "--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync"]
        self._run([program("initdb"), "--pgdata", str(self._data), *words])
        lines = [f"{name} = '{value}'" for name, value in (_SETTINGS | ({} if durable else _VOLATILE_SETTINGS)).items()]
        with (self._data / "postgresql.conf").open("a") as settings:
            settings.write("\n".join([*lines, f"unix_socket_directories = '{folder}'", ""]))

    def _run(self, command: Sequence[str]) -> None:
        user = USER if os.geteuid() == 0 else None
        done = subprocess.run(command, user=user, cwd=self.folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    def start(self) -> None:
        """Start it, and return once it accepts connections."""
        self._run(
            [program("pg_ctl"), "--pgdata", str(self._data), "--wait", "--log", str(self.folder / "log"), "start"]
        )

    def stop(self, how: str = "immediate") -> None:
        """Stop it in one of the modes of pg_ctl; the default stops it as a crash would."""
        self._run([program("pg_ctl"), "--pgdata", str(self._data), "--wait", "--mode", how, "stop"])

    def remove(self) -> None:
        """Stop it, if it runs, and remove its files."""
        postgres_guard.remove_server(self.folder)
        self._guard.kill()
        self._guard.wait()

    def url(self, database: str) -> str:
        return server_url(self.folder, database)

    def execute(self, statement: str, database: str = "postgres") -> None:
        execute(self.folder, statement, database)


def server_url(folder: Path, database: str) -> str:
    return f"postgresql://{USER}@/{database}?host={folder}"


def execute(folder: Path, statement: str, database: str = "postgres") -> None:
    with psycopg.connect(server_url(folder, database), autocommit=True) as connection:
        connection.execute(statement.encode())


@contextlib.contextmanager
def postgres_server(*, durable: bool = False) -> Iterator[PostgresServer]:
    """Run a server that the caller may stop and start."""
    server = PostgresServer(durable=durable)
    try:
        server.start()
        yield server
    finally:
        server.remove()


_RUN_PROCESS = os.getpid()
"""The process that imported this module: the run itself, from which workers may be forked."""
_SHARED_NAME = f"arena-postgres-{_RUN_PROCESS}-{secrets.token_hex(4)}"
"""The name of the folder of the shared server, which all workers know without having to be told."""


@functools.cache
def shared_folder() -> Path:
    """Return the folder of the server that all workers of this run share.

    The first worker that asks starts it; others that ask meanwhile wait. It ends with the run.
    """
    program("initdb")
    folder = server_folder() / _SHARED_NAME
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / _READY).exists():
            with budget.shared_cost():
                _start_shared_server(folder)
            (folder / _READY).touch()
    return folder


def _start_shared_server(folder: Path) -> None:
    """Start the shared server with a template for databases, in which every change of more than rows is noted."""
    server = PostgresServer(folder=folder, owner=_RUN_PROCESS)
    _shared_servers.append(server)
    (folder / _GUARD).write_text(str(server._guard.pid))
    server.start()
    server.execute(f"CREATE DATABASE {TEMPLATE}")
    open_database_url(server.url(TEMPLATE)).create()
    for statement in _NOTE_ALTERATIONS:
        server.execute(statement, TEMPLATE)


_shared_servers: list[PostgresServer] = []
"""The shared server, in the process that started it: its guard is a child of that process."""


def remove_shared_server() -> None:
    """Stop the shared server, where one was started, at the end of a run that was not killed."""
    folder = server_folder() / _SHARED_NAME
    if os.getpid() != _RUN_PROCESS or not (folder / _GUARD).exists():
        return
    guard = int((folder / _GUARD).read_text())
    postgres_guard.remove_server(folder)
    os.kill(guard, signal.SIGKILL)
    postgres_guard.wait_for_end(guard)
    for server in _shared_servers:
        server._guard.wait()


_NOTE_ALTERATIONS = (
    "CREATE TABLE public.alterations (command text)",
    "CREATE FUNCTION public.note_alteration() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER AS "
    "$$BEGIN INSERT INTO public.alterations VALUES (tg_tag); END$$",
    "CREATE EVENT TRIGGER note_alteration ON ddl_command_end EXECUTE FUNCTION public.note_alteration()",
)
END_OTHER_SESSIONS = (
    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)
"""Ends all other sessions on a database, and waits for that."""
_ALTERED = f"""SELECT EXISTS (SELECT FROM public.alterations)
    OR (SELECT array_agg(version_num) FROM {SCHEMA_NAME}.alembic_version)
        IS DISTINCT FROM ARRAY['{SCHEMA_REVISIONS[-1]}'::varchar]
    OR EXISTS (SELECT FROM pg_db_role_setting)"""
_FILLED_TABLES = f"""SELECT oid::regclass::text FROM pg_class WHERE relnamespace = '{SCHEMA_NAME}'::regnamespace
    AND relkind = 'r' AND relname <> 'alembic_version' AND pg_relation_size(oid) > 0"""
_RESTART_SEQUENCES = f"""SELECT setval(format('%I.%I', schemaname, sequencename), start_value, false)
    FROM pg_sequences WHERE schemaname = '{SCHEMA_NAME}' AND last_value IS NOT NULL"""

_made = iter(range(1, 1_000_000))
_empty: list[str] = []
"""The names of databases that tests no longer use, emptied."""
os.register_at_fork(after_in_child=_empty.clear)  # they stay the parent's


def new_database(*, made: bool = True) -> str:
    """Return the URL of a new database on the shared server, in which is an arena without data, or, not `made`,
    nothing.
    """
    sys.audit(budget.TEST_DATABASE_EVENT)
    folder = shared_folder()
    if made and _empty:
        return server_url(folder, _empty.pop())
    name = f"arena_{os.getpid()}_{next(_made)}"
    execute(folder, f"CREATE DATABASE {name} TEMPLATE {TEMPLATE if made else 'template0'} STRATEGY FILE_COPY")
    return server_url(folder, name)


def give_back(url: str) -> None:
    """Take back a database that was made with an arena in it, whoever is still connected to it.

    It is emptied and used again, as making one costs several times as much, unless a test changed more than rows.
    """
    name = str(conninfo_to_dict(url)["dbname"])
    if _try_empty(url):
        _empty.append(name)
    else:
        execute(shared_folder(), f"DROP DATABASE {name} WITH (FORCE)")


def _try_empty(url: str) -> bool:
    """Remove all rows from a database; False if that would not make it like a new one."""
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(END_OTHER_SESSIONS.encode())
            if connection.execute(_ALTERED.encode()).fetchone() != (False,):
                return False
            if tables := [table for (table,) in connection.execute(_FILLED_TABLES.encode())]:
                connection.execute(f"TRUNCATE {', '.join(tables)} CASCADE".encode())
            connection.execute(_RESTART_SEQUENCES.encode())
    except psycopg.Error:
        return False
    return True
