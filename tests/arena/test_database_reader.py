"""A role of the database that may only read views can't do more to an arena (docs/operating.md, "Who only reads")."""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import Connection

from arena.commands.node_process import _apply_announcements
from arena.server.nodes import ClusterView
from arena.store import announcements
from arena.store.announcements import (
    MAX_ANNOUNCEMENTS,
    MAX_NAMES_PER_ANNOUNCEMENT,
    Announcement,
    AnnouncementBatch,
    announce,
    last_announcement,
    read_announcements_after,
    wake_channel,
)
from arena.store.answer_limit import DatabaseTimeouts
from arena.store.async_store import AsyncStore
from arena.store.database import StoreUnavailable
from arena.store.database_url import open_database_url
from arena.store.dialect import execute
from arena.store.export_rows import export_matches
from arena.store.integrity_check import check_database
from arena.store.match_search import Search
from arena.store.node_store import NodeStore
from arena.store.nodes import list_nodes, mark_stopped, record_heartbeat
from arena.store.postgres_database import PostgresDatabase
from arena.store.registry import find_registered_bot, register_bot
from arena.store.result_queries import iter_results
from arena.store.store import Store
from arena.store.tokens import hash_token
from arena.store.upgrade import upgrade_database
from arena.store.views import VIEW_QUERIES
from databases import alter, asked
from later_schema import FIRST, LATER, use_later_schema
from machine.event_loop import background_task
from postgres import new_database, postgres_server
from protocol.errors import UsageFault
from seasons import finish, result
from timeouts import WITHIN

IMPATIENT = DatabaseTimeouts(lock_timeout_s=0.05)
UNUSABLE_CHANNEL = "x" * 64
"""A name that is too long for a channel, so that every notification on it fails."""
VIEWS = "arena_views.match_results, arena_views.match_seats, arena_views.ladder"


def documented(start: str) -> str:
    """Return the block of SQL in the documents that begins so."""
    text = (Path(__file__).parents[2] / "docs" / "operating.md").read_text()
    (block,) = re.findall(rf"```\n({re.escape(start)}.*?)```", text, re.DOTALL)
    return str(block)


@contextmanager
def role_of(url: str, *blocks: str, other: str | None = None) -> Iterator[psycopg.Connection]:
    """Connect as a new role with the rights of these blocks of the documents.

    Where they close other databases of the server, `other` is closed, if given: those that they name serve other tests.
    """
    other_name = None if other is None else conninfo_to_dict(other)["dbname"]
    closing_others = "" if other is None else f"REVOKE CONNECT ON DATABASE {other_name}"
    role, database = f"reader_{secrets.token_hex(6)}", conninfo_to_dict(url)["dbname"]
    with psycopg.connect(url, autocommit=True) as owner:
        for block in blocks:
            for named, name in (
                (r"\breader\b", role),
                (r"REVOKE CONNECT ON DATABASE postgres, template1", closing_others or r"-- \g<0>"),
                (r"DATABASE arena\b", f"DATABASE {database}"),
                (r"(FOR ROLE|TO) arena\b", r"\1 CURRENT_USER"),
            ):
                block = re.sub(named, name, block)
            owner.execute(block.encode())
        try:
            with psycopg.connect(**(conninfo_to_dict(url) | {"user": role}), autocommit=True) as connection:
                yield connection
        finally:
            owner.execute(f"DROP OWNED BY {role}".encode())
            owner.execute(f"DROP ROLE {role}".encode())


@pytest.fixture
def reader(url: str) -> Iterator[psycopg.Connection]:
    """A connection of a role as the documents make it for the views, in a database made before PostgreSQL 15."""
    alter(url, "GRANT CREATE ON SCHEMA public TO PUBLIC")
    with role_of(url, documented("CREATE ROLE reader ")) as connection:
        yield connection


@pytest.fixture
def full_reader(url: str) -> Iterator[psycopg.Connection]:
    """A connection of a role as the documents make it for all tables, which has no other rights either."""
    with role_of(url, documented("CREATE ROLE reader "), documented("GRANT USAGE ON SCHEMA arena, ")) as connection:
        yield connection


def node(url: str, name: str, stack: ExitStack) -> NodeStore:
    return stack.enter_context(closing(NodeStore.open_as(open_database_url(url), name)))


def test_it_reads_the_views_and_no_table(url: str, reader: psycopg.Connection) -> None:
    with closing(Store.open(open_database_url(url), create=False)) as store:
        finish(store, result("m1"))
    assert reader.execute("SELECT match FROM arena_views.match_results").fetchall() == [("m1",)]
    for table in ("bots", "nodes", "announcements", "wake_channel", "under_way", "log_keys"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            reader.execute(f"SELECT * FROM arena.{table}".encode())


FORBIDDEN = (
    "INSERT INTO arena.announcements (at, kind, names) VALUES (0, 'ratings', '[]')",
    "UPDATE arena.nodes SET seen = '2099-01-01T00:00:00.000Z', url = 'ws://reader'",
    "DELETE FROM arena.wake_channel",
    "SELECT 1 FROM arena.nodes FOR UPDATE",
    "BEGIN; LOCK TABLE arena.alembic_version IN EXCLUSIVE MODE",
    "BEGIN; LOCK TABLE arena_views.match_results IN ROW SHARE MODE",
    "CREATE TABLE arena.nodes_2 ()",
    "BEGIN; PREPARE p AS DELETE FROM arena.alembic_version",
    "BEGIN; PREPARE p AS SELECT 1 FROM arena.alembic_version FOR KEY SHARE",
    "BEGIN; PREPARE p AS SELECT 1 FROM arena.nodes",
    "ALTER INDEX arena.nodes DEPENDS ON EXTENSION plpgsql",
    "ALTER INDEX arena.nodes_pkey DEPENDS ON EXTENSION plpgsql",
    "SELECT count(pg_advisory_lock(g)) FROM generate_series(1, 5) g",
    "SELECT count(pg_try_advisory_xact_lock_shared(1, g)) FROM generate_series(1, 5) g",
    "SELECT lo_create(0)",
    "SELECT lo_creat(-1)",
    "SELECT lo_from_bytea(0, 'large')",
    "SELECT lo_put(1, 0, 'large')",
    "SELECT lowrite(0, 'large')",
    "DO $$BEGIN END$$",
    "SELECT pg_get_object_address('function', '{now}', '{}')",
    "SELECT pg_logical_emit_message(false, 'x', 'large')",
    "SELECT pg_logical_emit_message(true, 'x', 'large'::bytea)",
    "CREATE TABLE public.large ()",
    "CREATE FUNCTION public.now() RETURNS int LANGUAGE sql AS 'SELECT 1'",
)
"""Statements with which a role would change what is not its own, or take a lock."""


def test_it_forges_no_announcement_and_no_sign_of_life_and_takes_no_lock(reader: psycopg.Connection) -> None:
    def is_refused(statement: str) -> bool:
        try:
            reader.execute(statement.encode())
        except psycopg.errors.InsufficientPrivilege:
            return True
        finally:
            reader.execute(b"ROLLBACK")
        return False

    assert [statement for statement in FORBIDDEN if not is_refused(statement)] == []


def test_whatever_locks_it_holds_nodes_begin_and_write(url: str, reader: psycopg.Connection) -> None:
    alter(url, f"GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA pg_catalog TO {reader.info.user}")
    with ExitStack() as stack:
        for lock in ("(1651471457)", *(f"({0x6E6F6465}, {number})" for number in range(1, 5))):
            reader.execute(f"SELECT pg_advisory_lock{lock}".encode())
        reader.execute(b"BEGIN")
        for at, view in enumerate(VIEWS.split(", ")):
            reader.execute(f"LOCK TABLE {view} IN ACCESS SHARE MODE".encode())
            reader.execute(f"PREPARE locks_{at} AS SELECT * FROM {view} FOR UPDATE".encode())
        reader.execute(b"PREPARE removal AS DELETE FROM arena_views.match_results")
        a, b = node(url, "a", stack), node(url, "b", stack)
        finish(a, result("m1"))
        finish(b, result("m2"))
        own = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
        assert a.write(lambda connection: execute(connection, own).scalar()) == 0, "any role can take those"
        assert [one.match for one in a.iterate(iter_results)] == ["m2", "m1"]


def test_what_queues_for_a_view_delays_no_match_and_no_export(url: str, reader: psycopg.Connection) -> None:
    words: Any = conninfo_to_dict(reader.info.dsn)
    with ExitStack() as stack:
        a = node(url, "a", stack)
        reader.execute(f"BEGIN; PREPARE p AS SELECT 1 FROM {VIEWS}".encode())
        for view in VIEWS.split(", ")[:2]:
            second = stack.enter_context(closing(psycopg.connect(**words)))
            second.pgconn.send_query(f"ALTER INDEX {view} DEPENDS ON EXTENSION plpgsql".encode())
        while asked(url, "SELECT count(*) AS queued FROM pg_locks WHERE NOT granted") != [{"queued": 2}]:
            pass
        finish(a, result("m1"))
        (batch,) = a.iterate(export_matches, Search())
        assert len(batch.matches) == 1
        reader.execute(b"ROLLBACK")


@pytest.mark.parametrize("mode", ["DELETE FROM arena.alembic_version", "SELECT 1 FROM arena.alembic_version FOR SHARE"])
def test_a_node_that_starts_says_which_session_has_the_lock(
    url: str, full_reader: psycopg.Connection, mode: str
) -> None:
    full_reader.execute(f"BEGIN; PREPARE p AS {mode}".encode())
    info = full_reader.info
    expected = (
        rf"locked by session {info.backend_pid} of role {info.user} since \d{{4}}-\S+Z: "
        rf"end it by SELECT pg_terminate_backend\({info.backend_pid}\)$"
    )
    with pytest.raises(StoreUnavailable, match=expected):
        NodeStore.open_as(open_database_url(url, IMPATIENT), "a")


def test_a_lock_is_waited_for_less_long_than_a_statement_may_take(url: str) -> None:
    with closing(Store.open(open_database_url(url, DatabaseTimeouts(statement_timeout_s=5.0)))) as store:
        assert store.read(lambda connection: execute(connection, "SHOW lock_timeout").scalar()) == "2500ms"


def test_a_probe_that_waits_for_a_lock_starts_no_second_probe(url: str) -> None:
    database = open_database_url(url, IMPATIENT)
    assert isinstance(database, PostgresDatabase)
    with psycopg.connect(url) as holder:
        holder.execute(b"LOCK TABLE arena.nodes IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(StoreUnavailable, match=r"canceling statement due to lock timeout$"):
            database.query_over_new_connection(list_nodes)


def test_an_upgrade_names_the_reader_that_it_waits_for_and_keeps_its_rights(
    url: str, reader: psycopg.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_later_schema(monkeypatch, tmp_path / "migrations")
    reader.execute(b"BEGIN; SELECT * FROM arena_views.ladder")
    named = rf"locked by session {reader.info.backend_pid} of role {reader.info.user} since "
    with pytest.raises(StoreUnavailable, match=named):
        upgrade_database(open_database_url(url, IMPATIENT))
    assert open_database_url(url).revision() == FIRST
    reader.execute(b"COMMIT")
    assert upgrade_database(open_database_url(url)) == (FIRST, LATER)
    for view in VIEWS.split(", "):
        assert reader.execute(f"SELECT * FROM {view}".encode()).fetchall() == []
    with closing(Store.open(url)) as store:
        assert list(store.iterate(check_database)) == []


def test_a_change_names_the_reader_with_which_it_was_deadlocked(url: str, reader: psycopg.Connection) -> None:
    first, second = VIEWS.split(", ")[:2]
    alter(url, f"ALTER ROLE {reader.info.user} SET deadlock_timeout = '1h'")  # so that it finds none itself
    words: Any = conninfo_to_dict(reader.info.dsn)
    with closing(Store.open(url)) as store, closing(psycopg.connect(**words)) as other:
        other.execute(f"SELECT 1 FROM {first}".encode())

        def drop_both(connection: Connection) -> None:
            execute(connection, "SET LOCAL deadlock_timeout = '1ms'")
            execute(connection, f"DROP VIEW {second}")
            other.pgconn.send_query(f"SELECT 1 FROM {second}".encode())
            while not asked(url, f"SELECT 1 FROM pg_locks WHERE NOT granted AND pid = {other.info.backend_pid}"):
                pass
            execute(connection, f"DROP VIEW {first}")

        named = rf"deadlock detected; locked by session {other.info.backend_pid} of role {other.info.user} since "
        with pytest.raises(StoreUnavailable, match=named):
            store.write(drop_both)


def test_a_check_needs_no_right_to_make_anything(url: str, full_reader: psycopg.Connection) -> None:
    with closing(Store.open(url)) as store:
        finish(store, result("m1"))
    words = conninfo_to_dict(url)
    with closing(Store.open(url.replace(f"//{words['user']}@", f"//{full_reader.info.user}@"), create=False)) as store:
        assert list(store.iterate(check_database)) == []
        assert [one.match for one in store.iterate(iter_results)] == ["m1"]
        alter(url, "CREATE OR REPLACE VIEW match_seats AS " + VIEW_QUERIES["match_seats"].replace("'void'", "'won'"))
        alter(url, "ALTER VIEW ladder RENAME COLUMN score TO points", "DROP VIEW match_results")
        assert list(store.iterate(check_database)) == [
            "view match_results is missing",
            "view match_seats is not the one of this version",
            "view ladder is not the one of this version",
        ]


def test_a_change_is_kept_when_nobody_can_be_notified_of_it(
    url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with ExitStack() as stack:
        a = node(url, "a", stack)
        with monkeypatch.context() as patch:
            patch.setattr(announcements, "_WAKE_NODES_SQL", f"SELECT pg_notify('{UNUSABLE_CHANNEL}', '')")
            a.write(announce, "ratings")
        assert [one.kind for one in a.read(read_announcements_after, 0).announcements or ()] == ["ratings"]
        assert not a.notifies
        a.write(record_heartbeat, a.node, "ws://a", UNUSABLE_CHANNEL)
        assert [one.url for one in a.read(list_nodes)] == ["ws://a"]
        assert caplog.text.count("other nodes can't be notified") == 1, "it is said once"
        a.write(announce, "ratings")
        assert a.notifies


async def test_a_node_frees_a_queue_that_a_reader_filled_once_nobody_has_to_read_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(announcements, "_WAKE_NODES_SQL", f"SELECT pg_notify('{UNUSABLE_CHANNEL}', '')")
    with postgres_server() as server, ExitStack() as stack:
        url = server.url("postgres")
        a = node(url, "a", stack)
        with psycopg.connect(url, autocommit=True) as listener:
            listener.execute(b"LISTEN anything")
            listener.execute(b"BEGIN")
            alter(url, "SELECT pg_notify('x', repeat('x', 7000) || number) FROM generate_series(1, 200) AS number")
            listener.execute(b"ROLLBACK")
            listener.execute(b"UNLISTEN *")
        files = "SELECT count(*) AS files FROM pg_ls_dir('pg_notify')"
        assert asked(url, files) != [{"files": 1}], "the server keeps it, though nobody listens any more"
        database = open_database_url(url)
        assert isinstance(database, PostgresDatabase)
        store = AsyncStore(a)
        nodes = ClusterView(store, database, "a", a.node, "ws://a")
        await store.write(announce, "ratings")
        await nodes.send_heartbeat()
        await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})
        await store.drain()
        assert asked(url, files) == [{"files": 1}]


def test_a_change_that_fails_notifies_nobody(url: str) -> None:
    def fail(connection: Connection) -> None:
        announce(connection, "ratings")
        raise UsageFault("it can't be done")

    with closing(Store.open(url)) as store, psycopg.connect(url, autocommit=True) as listener:
        channel = store.write(wake_channel)
        listener.execute(f"LISTEN {channel}".encode())
        with pytest.raises(UsageFault):
            store.write(fail)
        store.write(lambda connection: None)
        listener.execute(b"SELECT pg_notify('" + channel.encode() + b"', 'last')")
        assert [one.payload for one in listener.notifies(timeout=0)] == ["last"]


def test_it_has_no_more_connections_and_temporary_files_than_the_documents_give_it(reader: psycopg.Connection) -> None:
    words: Any = conninfo_to_dict(reader.info.dsn)
    with ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(psycopg.connect(**words))
        with pytest.raises(psycopg.OperationalError, match="too many connections for role"):
            psycopg.connect(**words)
    assert reader.execute("SHOW temp_file_limit").fetchone() == ("1GB",)
    for statement in ("SET temp_file_limit = -1", "CREATE TEMPORARY TABLE large (line text)"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            reader.execute(statement.encode())


def test_it_gets_into_no_other_database_of_the_server(url: str) -> None:
    other = new_database(made=False)
    words: Any = conninfo_to_dict(other)
    refused = pytest.raises(psycopg.OperationalError, match="permission denied for database")
    with role_of(url, documented("CREATE ROLE reader "), other=other) as connection, refused:
        psycopg.connect(**(words | {"user": connection.info.user}))


class Direct:
    """In place of the asynchronous store: what is asked is asked at once."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.has_read = asyncio.Event()

    async def read(self, query: Any, *words: Any) -> Any:
        if query is read_announcements_after:
            self.has_read.set()
        return self.store.read(query, *words)

    async def write(self, change: Any, *words: Any) -> Any:
        return self.store.write(change, *words)


async def test_what_it_sends_over_channels_is_not_heard_and_what_the_arena_announces_is(
    url: str, reader: psycopg.Connection
) -> None:
    database = open_database_url(url)
    assert isinstance(database, PostgresDatabase)
    with ExitStack() as stack:
        a, b = node(url, "a", stack), node(url, "b", stack)
        for store in (a, b):
            store.write(record_heartbeat, store.node, f"ws://{store.name}")
        channel = a.write(wake_channel)
        assert channel == b.write(wake_channel)
        assert channel != "arena"
        direct: Any = Direct(a)
        nodes = ClusterView(direct, database, "a", a.node, "ws://a")
        await nodes.read_announcements()
        assert nodes.announcements.get_nowait() is None
        async with background_task(nodes.listen()), background_task(nodes.read_when_woken()), asyncio.timeout(WITHIN):
            await direct.has_read.wait()  # as soon as it listens; from then on only a wake has it read
            b.write(announce, "ratings")
            assert await nodes.announcements.get() == Announcement("ratings")
            for payload in ('["called",["victim"],"ws://reader"]', '["bots",["a\\u0000b"]]', "not json", "[" * 7900):
                for told in ("arena", channel):  # even if it knew that
                    reader.execute("SELECT pg_notify(%s, %s)", (told, payload))
            b.write(announce, "called", ["ann"], b.node)
            assert await nodes.announcements.get() == Announcement("called", ["ann"], "ws://b")


def test_bots_are_called_to_nodes_that_are_alive_alone(url: str) -> None:
    with ExitStack() as stack:
        a = node(url, "a", stack)
        a.write(record_heartbeat, a.node, "ws://a")
        for number in (a.node, a.node + 7, None):
            a.write(announce, "called", ["ann"], number)
        urls = [one.url for one in a.read(read_announcements_after, 0).announcements or ()]
        assert urls == ["ws://a", "", ""]
        a.write(mark_stopped, a.node)
        assert [one.url for one in a.read(read_announcements_after, 0).announcements or ()] == ["", "", ""]


def test_what_is_not_known_or_too_much_has_all_read_anew(url: str) -> None:
    with closing(Store.open(open_database_url(url), create=False)) as store:
        many = [f"b{number}" for number in range(MAX_NAMES_PER_ANNOUNCEMENT + 1)]
        store.write(announce, "bots", many)
        found = store.read(read_announcements_after, 0)
        assert [one.names for one in found.announcements or ()] == [
            many[:MAX_NAMES_PER_ANNOUNCEMENT],
            many[MAX_NAMES_PER_ANNOUNCEMENT:],
        ]
        assert store.read(read_announcements_after, found.position) == AnnouncementBatch([], found.position)
        for kind, names in (("flown", "[]"), ("bots", "{}"), ("bots", "[1]")):
            words = {"kind": kind, "names": names}
            statement = "INSERT INTO announcements (at, kind, names) VALUES (0, :kind, :names)"
            store.write(lambda connection, statement=statement, words=words: execute(connection, statement, words))
            last = store.read(last_announcement)
            assert store.read(read_announcements_after, last - 1) == AnnouncementBatch(None, last)
        store.write(announce, "bots", [])
        old = "SELECT count(*) FROM announcements WHERE at = 0"
        assert store.read(lambda connection: execute(connection, old).scalar()) == 0
        last = store.read(last_announcement)
        assert store.read(read_announcements_after, last - 1) == AnnouncementBatch([Announcement("bots", [])], last)
        assert store.read(read_announcements_after, found.position) == AnnouncementBatch(None, last), (
            "old ones were removed unread"
        )
        store.write(announce, "bots", many[:1] * MAX_NAMES_PER_ANNOUNCEMENT * (MAX_ANNOUNCEMENTS + 1))
        last = store.read(last_announcement)
        assert store.read(read_announcements_after, 0) == AnnouncementBatch(None, last)


async def test_no_announcement_ends_a_node(caplog: pytest.LogCaptureFixture) -> None:
    done: asyncio.Queue[str] = asyncio.Queue()

    class Faulty:
        async def on_announcement(self, announcement: Announcement) -> None:
            done.put_nowait(announcement.kind)
            raise UsageFault("no name has a NUL in it") if announcement.kind == "bots" else ZeroDivisionError

    arena: Any = Faulty()
    announced: asyncio.Queue[Announcement | None] = asyncio.Queue()
    for kind in ("bots", "ratings", "bots"):
        announced.put_nowait(Announcement(kind))  # type: ignore[arg-type]
    async with background_task(_apply_announcements(arena, announced)), asyncio.timeout(WITHIN):
        assert [await done.get() for _ in range(3)] == ["bots", "ratings", "bots"]
    assert caplog.text.count("is ignored") >= 2


def test_a_name_is_free_when_another_session_has_the_number_of_the_process_that_held_it(
    url: str,
) -> None:
    with ExitStack() as stack:
        a = node(url, "a", stack)
        a.write(register_bot, "ann", hash_token("ann"))
        forged = "UPDATE nodes SET session = split_part(session, ' ', 1) || ' 12.5'"
        a.write(lambda connection: execute(connection, forged))
        b = node(url, "a", stack)  # of a server that was started anew, and gave the number to another session
        assert b.read(find_registered_bot, "ann") is not None
