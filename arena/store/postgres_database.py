"""An arena's database on a PostgreSQL server: a schema of tables, a schema of views, and a table lock for writers.

Every writer takes the lock, so match numbers have no gaps and ratings are computed one after another, whichever process
writes. A role that may only use the views cannot name the locked table, and takes no lock on it.
"""

from __future__ import annotations

import select
import shlex
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, DisconnectionError
from sqlalchemy.pool import ConnectionPoolEntry

from arena.store.answer_limit import AnswerLimit, DatabaseTimeouts
from arena.store.database import (
    MAX_READING_CONNECTIONS,
    Database,
    StoreError,
    StoreUnavailable,
    UnrecognizedDatabase,
    disposing,
    first_line,
)
from arena.store.schema import SCHEMA_MARK, enable_partial_indexes_on_postgresql, metadata
from arena.store.views import VIEWS_SCHEMA
from protocol.display import list_first
from protocol.errors import Fault, UsageFault

SCHEMA_NAME = "arena"
"""The schema that holds all of an arena's tables."""
_LOCK_TABLE = f"{SCHEMA_NAME}.alembic_version"
"""The table that every writer locks. All schema revisions have it, and no view reads it."""
_TAKE_WRITE_LOCK = f"""DO $$BEGIN
    IF to_regclass('{_LOCK_TABLE}') IS NOT NULL THEN LOCK TABLE {_LOCK_TABLE} IN EXCLUSIVE MODE; END IF;
END$$"""
"""The statement that takes the lock of writers. That lock blocks no reader, and no reader blocks it."""
_ALREADY_EXISTS_CODES = ("23505", "42P06", "42P07", "42710")
"""The SQLSTATE codes that say that an object exists, because another process has just created it."""
_LOCK_FAILURE_CODES = ("55P03", "40P01")
"""The SQLSTATE codes of a statement that waited too long for a lock or was in a deadlock."""
PROBE_TIMEOUT_S = 4.0
"""The time limit for statements of `PostgresDatabase.query_over_new_connection`."""
TCP_USER_TIMEOUT_MS = 10_000
"""The time for which sent data may stay unacknowledged before TCP closes the connection."""
KEEPALIVE_INTERVAL_S = 5
"""The time without data after which TCP probes a connection, and the interval of further probes."""
MIN_SERVER_VERSION = 140_000
"""The oldest supported server version, as PostgreSQL numbers it: 14, which can end idle sessions."""
_SHOWN_URL_OPTIONS = ("host", "hostaddr", "port", "dbname", "service", "sslmode")
"""The parts of a database URL that are shown to users: only those that say where the database is."""
_UNAVAILABLE_CLASSES = ("08", "25", "40", "53", "55", "57", "58")
"""The SQLSTATE classes of errors whose cause is not the statement: connection, transaction state, conflicts, resources,
locks, operator intervention, system.
"""
_FIND_SCHEMA_SQL = f"""SELECT obj_description(oid, 'pg_namespace') AS mark,
    to_regclass('{SCHEMA_NAME}.alembic_version') AS versions,
    (SELECT count(*) FROM pg_class WHERE relnamespace = pg_namespace.oid) AS relations
FROM pg_namespace WHERE nspname = '{SCHEMA_NAME}'"""
"""The query for the arena's schema: its comment, its version table, and its number of tables and other relations."""
_FOREIGN_VIEWS_SCHEMA = f"""SELECT obj_description(oid, 'pg_namespace') IS DISTINCT FROM '{SCHEMA_MARK}'
FROM pg_namespace WHERE nspname = '{VIEWS_SCHEMA}'"""
"""The query that is true if another program made the schema of the views, and false if an arena did. It has no row if
there is no such schema.
"""
_LOCK_HOLDERS_SQL = f"""WITH held AS (
    SELECT pid, coalesce(usename, '?') AS role, bool_or(mode <> 'AccessShareLock') AS is_strong,
        to_char(xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS since
    FROM pg_locks JOIN pg_class ON pg_class.oid = relation JOIN pg_stat_activity USING (pid)
    WHERE database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname IN ('{SCHEMA_NAME}', '{VIEWS_SCHEMA}'))
        AND (granted OR mode = 'AccessExclusiveLock') AND pid <> pg_backend_pid()
    GROUP BY pid, usename, xact_start
)
SELECT pid, role, since FROM held WHERE is_strong OR NOT (SELECT bool_or(is_strong) FROM held) ORDER BY pid"""
"""The query for the sessions that hold locks on an arena's tables and views. If some of them hold more than a reader's
lock, only these are listed. A session that waits for an exclusive lock counts as holding it, because all others wait
behind it. `since` is the time at which the session's transaction began; null if our role may not see it.
"""
_DATABASE_BYTES_SQL = f"""SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class
WHERE relnamespace = '{SCHEMA_NAME}'::regnamespace AND relkind = 'r'"""

T = TypeVar("T")
P = ParamSpec("P")


class PostgresDatabase(Database):
    """An arena's database on a PostgreSQL server, given by URL. Raise `StoreError` for a bad URL or without psycopg."""

    def __init__(self, url: str, timeouts: DatabaseTimeouts | None = None) -> None:
        try:
            import psycopg  # noqa: F401 - it is loaded where there is such a database alone
        except ImportError as exc:
            raise StoreError(
                "PostgreSQL is spoken to by psycopg, which is not installed: pip install 'bot-arena[postgres]'"
            ) from exc
        self.limit = AnswerLimit(timeouts or DatabaseTimeouts())
        """The limit on how long this database's sessions wait for answers."""
        self._names_lock_holders = True
        """True if the message about a lock failure names the sessions that hold locks."""
        try:
            self._url = make_url(url).set(drivername="postgresql+psycopg")
        except (ArgumentError, ValueError) as exc:
            raise StoreError(
                "that is no URL of a database, which is like postgresql://USER:PASSWORD@HOST/NAME"
            ) from exc

    def __str__(self) -> str:
        shown = URL.create("postgresql", self._url.username, None, self._url.host, self._url.port, self._url.database)
        where = {name: value for name, value in self._url.query.items() if name in _SHOWN_URL_OPTIONS}
        return shown.set(query=where).render_as_string()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PostgresDatabase) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def _revision(self, *, read_only: bool) -> str | None:
        with disposing(self._engine(1)) as engine, self.translate_errors(), engine.connect() as connection:
            found = connection.exec_driver_sql(_FIND_SCHEMA_SQL).one_or_none()
            if found is None or not found.relations:
                return None
            ours = found.mark == SCHEMA_MARK and found.versions is not None
            revision = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar() if ours else None
            if revision is None:
                raise UnrecognizedDatabase(
                    f"{self} has a schema {SCHEMA_NAME} that is not Bot Arena's: choose another database"
                )
            return str(revision)

    def create(self) -> None:
        with disposing(self.create_writing_engine()) as engine, self.translate_errors():
            try:
                with engine.begin() as connection:
                    self.create_in_transaction(connection)
            except DBAPIError as exc:
                if getattr(exc.orig, "sqlstate", None) not in _ALREADY_EXISTS_CODES:
                    raise
                with engine.begin() as connection:
                    self.create_in_transaction(connection)

    def create_in_transaction(self, connection: Connection) -> None:
        """Create all tables in the current transaction of a writing connection."""
        encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
        if encoding != "UTF8":
            raise StoreError(f"{self} is encoded in {encoding}: make one with ENCODING 'UTF8'")
        connection.exec_driver_sql(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA_NAME}")
        if connection.exec_driver_sql(_FIND_SCHEMA_SQL).one().relations:  # another process was first
            return
        if connection.exec_driver_sql(_FOREIGN_VIEWS_SCHEMA).scalar():
            raise UnrecognizedDatabase(
                f"{self} has a schema {VIEWS_SCHEMA} that is not Bot Arena's: choose another database"
            )
        connection.exec_driver_sql(f"CREATE SCHEMA IF NOT EXISTS {VIEWS_SCHEMA}")
        for schema in (SCHEMA_NAME, VIEWS_SCHEMA):
            connection.exec_driver_sql(f"COMMENT ON SCHEMA {schema} IS '{SCHEMA_MARK}'")
        enable_partial_indexes_on_postgresql()
        self._make_tables(connection)

    def backup_advice(self, to: Path) -> str:
        """Return the shell commands that back up this database to a file and restore it."""
        file, here = shlex.quote(str(to)), shlex.quote(str(self))
        return (
            "a database on a server is backed up by PostgreSQL's own tools: pg_dump --format=custom "
            f"--schema={SCHEMA_NAME} "
            f"--schema={VIEWS_SCHEMA} --file={file} {here}; and restored, while no arena runs on it, by: pg_restore "
            f"--clean --if-exists --single-transaction --dbname={here} {file}"
        )

    def create_reading_engine(self) -> Engine:
        return self._engine(
            MAX_READING_CONNECTIONS, "default_transaction_read_only=on", isolation_level="REPEATABLE READ"
        )

    def connect(self, *, checkpoint: bool = True) -> Engine:
        return self._engine(MAX_READING_CONNECTIONS, isolation_level="REPEATABLE READ")

    def create_writing_engine(self, engine: Engine | None = None) -> Engine:
        writer = self._engine(1)

        @event.listens_for(writer, "begin")
        def begin(connection: Connection) -> None:
            if connection.get_execution_options().get("isolation_level") != "AUTOCOMMIT":
                connection.exec_driver_sql(_TAKE_WRITE_LOCK)

        return writer

    def vacuum(self, engine: Engine) -> int:
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            before = connection.exec_driver_sql(_DATABASE_BYTES_SQL).scalar_one()
            for table in metadata.tables:
                connection.exec_driver_sql(f"VACUUM FULL {table}")
            after = connection.exec_driver_sql(_DATABASE_BYTES_SQL).scalar_one()
        return int(before - after)

    async def notifications(self, *channels: str) -> AsyncGenerator[str, None]:
        """Yield an empty text once the connection listens to `channels`, then the channel of each notification. Raise
        `StoreUnavailable` if the connection fails.
        """
        import psycopg

        from arena.store.bounded_connection import BoundedAsyncConnection

        try:
            words = self._url.set(drivername="postgresql").render_as_string(hide_password=False)
            connection = await BoundedAsyncConnection.connect(words, autocommit=True, **self._connection_words())
            connection.limit = self.limit
            try:
                for channel in channels:
                    await connection.execute(f"LISTEN {channel}".encode())
                yield ""
                connection.patient = True
                async for sent in connection.notifies():
                    yield sent.channel
            finally:
                await connection.close()  # this waits for nothing
        except psycopg.Error as exc:
            raise StoreUnavailable(self.message(exc)) from exc

    def query_over_new_connection(
        self, query: Callable[Concatenate[Connection, P], T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Return the result of `query` over a new connection with short time limits. Raise `StoreError` on failure."""
        timeouts = replace(self.limit.timeouts, statement_timeout_s=PROBE_TIMEOUT_S, answer_timeout_s=1.0)
        asked = PostgresDatabase(self._url.render_as_string(hide_password=False), timeouts)
        asked.limit = AnswerLimit(timeouts, process_limit=self.limit)
        asked._names_lock_holders = False  # otherwise a lock failure here would call this method again
        with (
            disposing(asked.create_reading_engine()) as engine,
            asked.translate_errors(),
            engine.connect() as connection,
        ):
            return query(connection, *args, **kwargs)

    def hurry(self) -> None:
        self.limit.hurry()

    def to_fault(self, exc: DBAPIError) -> Fault:
        if "NUL (0x00)" in str(exc.orig):  # in a search text: nothing stored has a NUL
            return UsageFault("no name and no word here has a NUL in it")
        unavailable = self.is_unavailable(exc)
        return (StoreUnavailable if unavailable else StoreError)(self.message(exc.orig))

    def message(self, exc: BaseException | None) -> str:
        is_lock_failure = getattr(exc, "sqlstate", None) in _LOCK_FAILURE_CODES
        return f"{self}: {_error_line(exc)}" + (
            self._lock_holders() if is_lock_failure and self._names_lock_holders else ""
        )

    def _lock_holders(self) -> str:
        """Return text that says which sessions hold locks and how to end one; empty if the server does not answer."""
        try:
            sessions = self.query_over_new_connection(
                lambda connection: connection.exec_driver_sql(_LOCK_HOLDERS_SQL).all()
            )
        except Fault:
            return ""
        if not sessions:
            return ""
        told = (f"{pid} of role {role}" + (f" since {since}" if since else "") for pid, role, since in sessions)
        return f"; locked by session {list_first(list(told))}: end it by SELECT pg_terminate_backend({sessions[0].pid})"

    def is_unavailable(self, exc: DBAPIError) -> bool:
        state = getattr(exc.orig, "sqlstate", None)
        return super().is_unavailable(exc) if state is None else state.startswith(_UNAVAILABLE_CLASSES)

    def _engine(self, connections: int, *options: str, isolation_level: str = "READ COMMITTED") -> Engine:
        """Return an engine whose transactions use the arena's schema and the time limits."""
        timeouts = self.limit.timeouts
        longest_ms = round(timeouts.statement_timeout_s * 1000)
        # The wait for a lock counts towards both limits.
        lock_ms = round(min(timeouts.lock_timeout_s * 1000, longest_ms / 2))
        asked = (
            f"search_path={SCHEMA_NAME}",
            f"lock_timeout={lock_ms}",
            f"statement_timeout={longest_ms}",
            "synchronous_commit=on",
            "jit=off",
            *options,
        )
        engine = create_engine(
            self._url,
            connect_args={"options": " ".join(f"-c{option}" for option in asked)},
            pool_size=connections,
            max_overflow=0,
            pool_use_lifo=True,  # few queries then share one connection, which has prepared them
            isolation_level=isolation_level,
            use_native_hstore=False,  # otherwise each connection would query for it
        )
        event.listen(engine, "do_connect", lambda _, __, given, named: self._connect(*given, **named))
        event.listen(engine, "connect", lambda raw, _: self._prepare_connection(raw))
        event.listen(engine, "checkout", lambda raw, record, _: _check_connection(raw, record))
        return engine

    def _connect(self, *given: Any, **named: Any) -> Any:
        from arena.store.bounded_connection import BoundedConnection

        raw = BoundedConnection.connect(*given, **(named | self._connection_words()))
        raw.limit = self.limit
        return raw

    def _connection_words(self) -> dict[str, Any]:
        return {
            "application_name": "bot-arena",
            "connect_timeout": self.limit.connect_timeout_s(),
            "tcp_user_timeout": TCP_USER_TIMEOUT_MS,
            "keepalives_idle": KEEPALIVE_INTERVAL_S,
            "keepalives_interval": KEEPALIVE_INTERVAL_S,
            "keepalives_count": 2,
        }

    def _prepare_connection(self, raw: Any) -> None:
        """Prepare a new connection: check the server's version, and make JSON load as text, as it does from SQLite."""
        from psycopg.types.string import TextLoader

        if raw.info.server_version < MIN_SERVER_VERSION:
            raise StoreError(
                f"{self} is PostgreSQL {raw.info.server_version // 10000}: {MIN_SERVER_VERSION // 10000} or "
                "newer is needed"
            )
        raw.adapters.register_loader("json", TextLoader)


def _check_connection(raw: Any, record: ConnectionPoolEntry) -> None:
    """Check a connection before its use. Discard it if the server has ended it, or if it was last used before another
    connection was found to hang. A new connection then replaces it. If the server has ended a connection that was just
    made, raise `OperationalError`.
    """
    from psycopg import OperationalError

    used_at = record.info.get("used_at")
    used = used_at is not None
    record.info["used_at"] = raw.limit.clock()
    if not raw.closed and not (used and used_at <= raw.limit.last_closed_at):
        news = select.poll()
        news.register(raw.fileno(), select.POLLIN)
        if not news.poll(0):
            return
    raise DisconnectionError if used else OperationalError("the server has ended a connection that was just made")


def _error_line(exc: BaseException | None) -> str:
    """Return the first line of an error's message, without psycopg's prefixes."""
    return first_line(exc).removeprefix("connection failed: ").removeprefix("connection is bad: ")
