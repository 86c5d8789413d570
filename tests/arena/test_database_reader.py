"""A role of the database that may only read views can't do more to an arena (docs/operating.md, "Who only reads")."""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from arena.commands.node_process import _hear
from arena.server.nodes import Nodes
from arena.store.announcements import (
    MAX_ANNOUNCEMENTS,
    MAX_NAMES,
    Announced,
    Announcement,
    announce,
    announced_after,
    last_announcement,
    wake_channel,
)
from arena.store.database_url import database_at
from arena.store.dialect import execute
from arena.store.node_store import NodeStore
from arena.store.nodes import beat, leave
from arena.store.postgres_database import PostgresDatabase
from arena.store.registry import register_bot, registered_bot
from arena.store.result_queries import iter_results
from arena.store.store import Store
from arena.store.tokens import hash_token
from machine.event_loop import running
from postgres import give_back, new_database
from protocol.errors import UsageFault
from seasons import finish, result
from timeouts import WITHIN

VIEWS = "arena.match_results, arena.match_seats, arena.ladder"


@pytest.fixture
def url() -> Iterator[str]:
    url = new_database()
    yield url
    give_back(url)


def documented(start: str) -> str:
    """Return the block of SQL in the documents that begins so."""
    text = (Path(__file__).parents[2] / "docs" / "operating.md").read_text()
    (block,) = re.findall(rf"```\n({re.escape(start)}.*?)```", text, re.DOTALL)
    return str(block)


@pytest.fixture
def reader(url: str) -> Iterator[psycopg.Connection]:
    """A connection of a role as the documents make it, to which the three views are granted, and no more."""
    role, database = f"reader_{secrets.token_hex(6)}", conninfo_to_dict(url)["dbname"]
    make = documented("CREATE ROLE reader ").replace("ROLE reader", f"ROLE {role}")
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute(make.replace("DATABASE arena", f"DATABASE {database}").encode())
        owner.execute(f"GRANT USAGE ON SCHEMA arena TO {role}".encode())
        owner.execute(f"GRANT SELECT ON {VIEWS} TO {role}".encode())
        try:
            with psycopg.connect(**(conninfo_to_dict(url) | {"user": role}), autocommit=True) as connection:
                yield connection
        finally:
            owner.execute(f"GRANT TEMPORARY ON DATABASE {database} TO PUBLIC".encode())
            owner.execute(f"DROP OWNED BY {role}".encode())
            owner.execute(f"DROP ROLE {role}".encode())


def node(url: str, name: str, stack: ExitStack) -> NodeStore:
    return stack.enter_context(closing(NodeStore.open_as(database_at(url), name)))


def test_it_reads_the_views_and_no_table(url: str, reader: psycopg.Connection) -> None:
    with closing(Store.open(database_at(url), create=False)) as store:
        finish(store, result("m1"))
    assert reader.execute("SELECT match FROM arena.match_results").fetchall() == [("m1",)]
    for table in ("bots", "nodes", "announcements", "wake_channel", "under_way", "log_keys"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            reader.execute(f"SELECT * FROM arena.{table}".encode())


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO arena.announcements (at, kind, names) VALUES (0, 'ratings', '[]')",
        "UPDATE arena.nodes SET seen = '2099-01-01T00:00:00.000Z', url = 'ws://reader'",
        "DELETE FROM arena.wake_channel",
        "SELECT 1 FROM arena.nodes FOR UPDATE",
        "BEGIN; LOCK TABLE arena.alembic_version IN EXCLUSIVE MODE",
        "BEGIN; LOCK TABLE arena.match_results IN ROW SHARE MODE",
        "CREATE TABLE arena.nodes_2 ()",
    ],
)
def test_it_forges_no_announcement_and_no_sign_of_life_and_takes_no_lock(
    url: str, reader: psycopg.Connection, statement: str
) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        reader.execute(statement.encode())


def test_whatever_locks_it_holds_nodes_begin_and_write(url: str, reader: psycopg.Connection) -> None:
    with ExitStack() as stack:
        for lock in ("(1651471457)", *(f"({0x6E6F6465}, {number})" for number in range(1, 5))):
            reader.execute(f"SELECT pg_advisory_lock{lock}".encode())
        reader.execute(b"BEGIN")
        for view in VIEWS.split(", "):
            reader.execute(f"LOCK TABLE {view} IN ACCESS SHARE MODE".encode())
            reader.execute(f"SELECT * FROM {view}".encode())
        a, b = node(url, "a", stack), node(url, "b", stack)
        finish(a, result("m1"))
        finish(b, result("m2"))
        assert [one.match for one in a.iterate(iter_results)] == ["m2", "m1"]


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


class Direct:
    """In place of the asynchronous store: what is asked is asked at once."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.has_read = asyncio.Event()

    async def read(self, query: Any, *words: Any) -> Any:
        if query is announced_after:
            self.has_read.set()
        return self.store.read(query, *words)

    async def write(self, change: Any, *words: Any) -> Any:
        return self.store.write(change, *words)


async def test_what_it_sends_over_channels_is_not_heard_and_what_the_arena_announces_is(
    url: str, reader: psycopg.Connection
) -> None:
    database = database_at(url)
    assert isinstance(database, PostgresDatabase)
    with ExitStack() as stack:
        a, b = node(url, "a", stack), node(url, "b", stack)
        for store in (a, b):
            store.write(beat, store.node, f"ws://{store.name}")
        channel = a.write(wake_channel)
        assert channel == b.write(wake_channel)
        assert channel != "arena"
        direct: Any = Direct(a)
        nodes = Nodes(direct, database, "a", a.node, "ws://a")
        heard: asyncio.Queue[Announcement | None] = asyncio.Queue()
        nodes.heard = heard.put_nowait
        await nodes.read_announcements()
        assert heard.get_nowait() is None
        async with running(nodes.listen()), running(nodes.hear()), asyncio.timeout(WITHIN):
            await direct.has_read.wait()  # as soon as it listens; from then on only a wake has it read
            b.write(announce, "ratings")
            assert await heard.get() == Announcement("ratings")
            for payload in ('["called",["victim"],"ws://reader"]', '["bots",["a\\u0000b"]]', "not json", "[" * 7900):
                for told in ("arena", channel):  # even if it knew that
                    reader.execute("SELECT pg_notify(%s, %s)", (told, payload))
            b.write(announce, "called", ["ann"], b.node)
            assert await heard.get() == Announcement("called", ["ann"], "ws://b")


def test_bots_are_called_to_nodes_that_are_alive_alone(url: str) -> None:
    with ExitStack() as stack:
        a = node(url, "a", stack)
        a.write(beat, a.node, "ws://a")
        for number in (a.node, a.node + 7, None):
            a.write(announce, "called", ["ann"], number)
        urls = [one.url for one in a.read(announced_after, 0).announcements or ()]
        assert urls == ["ws://a", "", ""]
        a.write(leave, a.node)
        assert [one.url for one in a.read(announced_after, 0).announcements or ()] == ["", "", ""]


def test_what_is_not_known_or_too_much_has_all_read_anew(url: str) -> None:
    with closing(Store.open(database_at(url), create=False)) as store:
        many = [f"b{number}" for number in range(MAX_NAMES + 1)]
        store.write(announce, "bots", many)
        found = store.read(announced_after, 0)
        assert [one.names for one in found.announcements or ()] == [many[:MAX_NAMES], many[MAX_NAMES:]]
        assert store.read(announced_after, found.position) == Announced([], found.position)
        for kind, names in (("flown", "[]"), ("bots", "{}"), ("bots", "[1]")):
            words = {"kind": kind, "names": names}
            statement = "INSERT INTO announcements (at, kind, names) VALUES (0, :kind, :names)"
            store.write(lambda connection, statement=statement, words=words: execute(connection, statement, words))
            last = store.read(last_announcement)
            assert store.read(announced_after, last - 1) == Announced(None, last)
        store.write(announce, "bots", [])
        assert len(store.read(announced_after, found.position).announcements or ()) == 1, "old ones are removed"
        store.write(announce, "bots", many[:1] * MAX_NAMES * (MAX_ANNOUNCEMENTS + 1))
        last = store.read(last_announcement)
        assert store.read(announced_after, 0) == Announced(None, last)


async def test_no_announcement_ends_a_node(caplog: pytest.LogCaptureFixture) -> None:
    done: asyncio.Queue[str] = asyncio.Queue()

    class Faulty:
        async def heard(self, announcement: Announcement) -> None:
            done.put_nowait(announcement.kind)
            raise UsageFault("no name has a NUL in it") if announcement.kind == "bots" else ZeroDivisionError

    arena: Any = Faulty()
    announced: asyncio.Queue[Announcement | None] = asyncio.Queue()
    for kind in ("bots", "ratings", "bots"):
        announced.put_nowait(Announcement(kind))  # type: ignore[arg-type]
    async with running(_hear(arena, announced)), asyncio.timeout(WITHIN):
        assert [await done.get() for _ in range(3)] == ["bots", "ratings", "bots"]
    assert caplog.text.count("is left out") >= 2


def test_a_name_is_free_when_another_session_has_the_number_of_the_process_that_held_it(
    url: str,
) -> None:
    with ExitStack() as stack:
        a = node(url, "a", stack)
        a.write(register_bot, "ann", hash_token("ann"))
        forged = "UPDATE nodes SET session = split_part(session, ' ', 1) || ' 12.5'"
        a.write(lambda connection: execute(connection, forged))
        b = node(url, "a", stack)  # of a server that was started anew, and gave the number to another session
        assert b.read(registered_bot, "ann") is not None
