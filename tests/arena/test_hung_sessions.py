"""Sessions with a database that hang, as its process stands still or a proxy passes nothing on: nobody waits long."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from arena.server.nodes import PROBE_INTERVAL_S, ClusterView, NodeTimeouts
from arena.store import node_store
from arena.store.announcements import Announcement, announce, wake_channel
from arena.store.answer_limit import AnswerLimit, DatabaseTimeouts
from arena.store.async_store import AsyncStore
from arena.store.database import StoreUnavailable
from arena.store.database_url import open_database_url
from arena.store.dialect import execute
from arena.store.node_store import NodeStore, NodeTaken
from arena.store.nodes import NODE_TIMEOUT_S, NodeStatus, list_nodes
from arena.store.postgres_database import PostgresDatabase
from arena.store.result_queries import iter_results
from arena.store.store import Store
from hung_sessions import backend, listening_backends, skipping, stopped, wait_until_ended
from machine.event_loop import background_task
from seasons import finish, result
from silent_proxy import SilentProxy, silent_proxy
from timeouts import WITHIN
from virtual_time import advance

CLOSED = r"no answer for \d+ s: the session is closed"


TIMEOUTS = DatabaseTimeouts(statement_timeout_s=20.0)
"""As a server has them; a machine that is busy changes none, as their clock skips."""


def at(url: str) -> PostgresDatabase:
    found = open_database_url(url, TIMEOUTS)
    assert isinstance(found, PostgresDatabase)
    return found


def node(database: PostgresDatabase, name: str, stack: ExitStack) -> NodeStore:
    return stack.enter_context(closing(NodeStore.open_as(database, name)))


def finished(store: Store) -> list[str]:
    return [one.match for one in store.iterate(iter_results)]


ASKING: dict[str, Callable[[Store], Any]] = {
    "read": lambda store: store.read(backend),
    "iterate": lambda store: list(store.iterate(iter_results)),
    "write": lambda store: store.write(backend),
}


@pytest.mark.parametrize("way", ASKING)
def test_a_session_that_stands_still_is_closed_and_another_one_works(url: str, way: str) -> None:
    database = at(url)
    with closing(Store.open(database)) as store:
        finish(store, result("m1"))
        with stopped(store.write(backend) if way == "write" else store.read(backend)):
            with skipping(database), pytest.raises(StoreUnavailable, match=CLOSED):
                ASKING[way](store)
            ASKING[way](store)
            finish(store, result("m2"))
            assert finished(store) == ["m2", "m1"]


def test_a_session_that_stands_still_in_the_middle_of_a_change_is_closed_and_nothing_of_it_is_done(url: str) -> None:
    database = at(url)

    with closing(Store.open(database)) as store:

        def stand_still(connection: Any) -> None:
            execute(connection, "UPDATE wake_channel SET name = 'changed'")
            held.enter_context(stopped(backend(connection)))
            with skipping(database):
                execute(connection, "SELECT 1")

        channel = store.write(wake_channel)
        with ExitStack() as held, pytest.raises(StoreUnavailable, match=CLOSED):
            store.write(stand_still)
        assert store.write(wake_channel) == channel


@pytest.fixture
def proxy(url: str) -> Iterator[SilentProxy]:
    with silent_proxy(Path(parse_qs(urlsplit(url).query)["host"][0]) / ".s.PGSQL.5432") as proxy:
        yield proxy


def through(proxy: SilentProxy, url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.username}@127.0.0.1:{proxy.port}{parts.path}"


@pytest.mark.parametrize("way", ASKING)
def test_connections_through_a_proxy_that_passes_nothing_on_are_replaced(
    url: str, proxy: SilentProxy, way: str
) -> None:
    database = at(through(proxy, url))
    with closing(Store.open(database)) as store:
        finish(store, result("m1"))
        ASKING[way](store)
        proxy.fall_silent()
        with skipping(database), pytest.raises(StoreUnavailable, match=CLOSED):
            ASKING[way](store)
        ASKING[way](store)
        with skipping(database):
            proxy.fall_silent()
            proxy.is_silent = True
            with pytest.raises(StoreUnavailable):
                ASKING[way](store)
        database.hurry()  # who connects waits less
        with pytest.raises(StoreUnavailable, match="connection timeout expired"):
            ASKING[way](store)


def test_once_a_session_was_closed_all_others_that_were_there_are_replaced_without_being_asked(
    url: str, proxy: SilentProxy
) -> None:
    database = at(through(proxy, url))
    with closing(Store.open(database)) as store:
        finish(store, result("m1"))
        assert finished(store) == ["m1"]
        proxy.fall_silent()
        with skipping(database), pytest.raises(StoreUnavailable, match=CLOSED):
            store.write(backend)
        assert finished(store) == ["m1"]
        finish(store, result("m2"))


def test_who_is_interrupted_while_a_session_stands_still_waits_no_longer(url: str) -> None:
    database = at(url)
    times = iter([0.0, KeyboardInterrupt()])

    def clock() -> float:
        now = next(times, 1.0)
        if isinstance(now, KeyboardInterrupt):
            raise now
        return now

    with closing(Store.open(database)) as store:
        pid = store.read(backend)
        with stopped(pid):
            database.limit.clock = clock
            with pytest.raises(KeyboardInterrupt):
                store.read(list_nodes)
            assert store.read(backend) != pid
        assert database.limit.deadline(1.0) == 1.0 + TIMEOUTS.stop_answer_timeout_s
        wait_until_ended(url, pid)


def test_how_long_an_answer_is_waited_for() -> None:
    now = 1000.0
    limit = AnswerLimit(TIMEOUTS, clock=lambda: now)
    assert (limit.deadline(1000.0), limit.connect_timeout_s()) == (1025.0, 5)
    limit.hurry()
    assert limit.connect_timeout_s() == 2
    assert [limit.deadline(asked) for asked in (980.0, 999.0, 1003.0, 1007.0)] == [1002.5, 1002.5, 1005.5, 1007.5]
    assert AnswerLimit(DatabaseTimeouts(), clock=lambda: now, process_limit=limit).deadline(1003.0) == 1005.5
    now = 1100.0
    limit.hurry()
    assert limit.deadline(1100.0) == 1007.5, "it is about to end since the first time"


async def test_at_the_end_nobody_waits_for_a_session_that_stands_still(url: str) -> None:
    database = at(url)
    with closing(Store.open(database)) as store:
        archive = AsyncStore(store)
        with stopped(store.write(backend)):
            now, looks, waits = 1000.0, itertools.count(), threading.Event()

            def clock() -> float:
                if next(looks) >= 2:  # one is for the pool, one for when it was asked
                    waits.set()
                return now

            database.limit.clock = clock
            asked = asyncio.create_task(archive.write(backend))
            await asyncio.to_thread(waits.wait)
            archive.stop_retrying()
            now += TIMEOUTS.stop_answer_timeout_s + 0.5
            async with asyncio.timeout(WITHIN):
                with pytest.raises(StoreUnavailable, match="no answer for 3 s: the session is closed"):
                    await asked
                await archive.drain()


def test_a_node_whose_session_stands_still_goes_on_under_its_name(url: str, stack: ExitStack) -> None:
    database = at(url)
    a = node(database, "a", stack)
    finish(a, result("m1"))
    pid = a.write(backend)
    with stopped(pid):
        with skipping(database), pytest.raises(StoreUnavailable, match=CLOSED):
            a.write(backend)
        finish(a, result("m2"))
        assert finished(a) == ["m2", "m1"]
        with pytest.raises(NodeTaken, match="a node a runs already"):
            NodeStore.open_as(database, "a")
    wait_until_ended(url, pid)
    finish(a, result("m3"))


def test_a_name_is_taken_over_from_a_process_whose_session_stands_still_for_longer_than_the_database_lets_any(
    url: str, stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = at(url)
    a = node(database, "a", stack)
    pid = a.write(backend)
    with stopped(pid):
        with pytest.raises(NodeTaken, match="a node a runs already") as refused:
            NodeStore.open_as(database, "a")
        assert refused.value.silent_s >= 0
        monkeypatch.setattr(node_store, "NODE_LEASE_S", 0)
        monkeypatch.setattr(node_store, "UNLISTED_DELAY_S", 0)
        b = node(at(url), "a", stack)
        finish(b, result("m1"))
    with pytest.raises((StoreUnavailable, NodeTaken)):  # it ends before it does anything else
        finish(a, result("m2"))
    with pytest.raises(NodeTaken, match="another process has taken the name of this node, a"):
        finish(a, result("m2"))
    assert finished(b) == ["m1"]


def test_a_session_that_waits_for_a_lock_does_not_hang(
    url: str, stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_store, "UNLISTED_DELAY_S", 0)
    a = node(at(url), "a", stack)
    allowed = "UPDATE nodes SET session = split_part(session, ' ', 1) || ' ' || split_part(session, ' ', 2) || ' 0'"
    waiting = threading.Thread(target=lambda: a.write(backend))

    def hold(connection: Any) -> None:
        """Have the lock that each writer needs, until the node waits for it and another process asks for its name."""
        waiting.start()
        look = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        while not execute(connection, look).scalar():
            execute(connection, "SELECT pg_stat_clear_snapshot()")
        with pytest.raises(NodeTaken, match="a node a runs already"):
            NodeStore.open_as(at(url), "a")

    with closing(Store.open(at(url))) as other:
        other.write(lambda connection: execute(connection, allowed))
        other.write(hold)
        waiting.join()


def test_a_new_session_tells_of_nodes_while_another_one_stands_still(url: str, stack: ExitStack) -> None:
    database = at(url)
    a = node(database, "a", stack)
    with stopped(a.read(backend)), stopped(a.write(backend)):
        assert database.query_over_new_connection(list_nodes) == []


class Deaf:
    """In place of the database and the store: it may not answer, and what is sent may not be heard."""

    notifies = True

    def __init__(self) -> None:
        self.limit = AnswerLimit(TIMEOUTS)
        self.nodes = [alive("a"), alive("b")]
        self.answers = asyncio.Event()
        self.answers.set()
        self.hears = True
        self.fault: StoreUnavailable | None = None
        self.anew = 0
        """How often it was asked over a new session."""
        self.listened = 0
        """How often it was listened to."""
        self._sent: asyncio.Queue[str] = asyncio.Queue()

    async def write_first(self, change: Any, number: int, url: str, echo: str | None) -> list[NodeStatus]:
        await self.answers.wait()
        if self.fault is not None:
            raise self.fault
        if echo is not None and self.hears:
            self._sent.put_nowait(echo)
        return [alive("a"), alive("b")]

    async def write(self, change: Any, *words: Any) -> str:
        return "arena_channel"

    async def read_beside(self, query: Any) -> None:
        """Free the queue of notifications, in which nothing is."""

    async def notifications(self, *channels: str) -> AsyncGenerator[str, None]:
        self.listened += 1
        self._sent = sent = asyncio.Queue[str]()
        yield ""
        while True:
            yield await sent.get()

    def query_over_new_connection(self, query: Any) -> list[NodeStatus]:
        self.anew += 1
        if self.fault is not None:
            raise self.fault
        return self.nodes


def alive(name: str, *, alive: bool = True) -> NodeStatus:
    return NodeStatus(name=name, url=f"ws://arena/{name}", seen=None, alive=alive, draining=False, matches=0)


@pytest.fixture
def deaf() -> Any:
    return Deaf()


def nodes_of(deaf: Any, **options: Any) -> ClusterView:
    return ClusterView(deaf, deaf, "a", 1, "ws://arena/a", clock=asyncio.get_running_loop().time, **options)


GAMES = [f"game-{number}" for number in range(40)]


@pytest.mark.virtual_time
@pytest.mark.parametrize("works", [True, False], ids=["new sessions work", "no session works"])
async def test_while_a_session_hangs_bots_are_sent_to_nodes_that_a_new_one_finds_alive(
    deaf: Any, works: bool, caplog: pytest.LogCaptureFixture
) -> None:
    nodes = nodes_of(deaf)
    await nodes.send_heartbeat()
    nodes.changed.clear()
    at_a = [game for game in GAMES if nodes.url_of_other_owner(game) is None]
    assert 0 < len(at_a) < len(GAMES)
    async with background_task(nodes.run()):
        deaf.answers.clear()
        deaf.nodes = [alive("a", alive=False), alive("b")]
        deaf.fault = None if works else StoreUnavailable("connection timeout expired")
        await advance(NODE_TIMEOUT_S - 0.1)
        assert (nodes.database_problem(), nodes.changed.is_set()) == (None, False)
        await advance(1.2)
        assert nodes.database_problem() == "the database is unreachable: it last answered 7 s ago"
        assert "no answer for 6 s; its session is closed after 25 s without an answer" in caplog.text
        assert deaf.anew == 1
        assert [game for game in GAMES if nodes.url_of_other_owner(game) is None] == ([] if works else at_a)
        assert nodes.changed.is_set() is works
        assert nodes.long_database_problem() is None
        await advance(PROBE_INTERVAL_S)
        assert deaf.anew == 2
        assert (
            nodes.long_database_problem()
            == nodes.database_problem()
            == "the database is unreachable: it last answered 12 s ago"
        )
        deaf.fault = None
        deaf.answers.set()
        await advance(0.1)
        assert nodes.database_problem() is None
        assert [game for game in GAMES if nodes.url_of_other_owner(game) is None] == at_a
    assert caplog.text.count("no answer for 6 s") == 1
    assert "the database answers again after" in caplog.text


@pytest.mark.virtual_time
async def test_bots_are_sent_on_too_while_no_session_that_writes_can_be_had(deaf: Any) -> None:
    nodes = nodes_of(deaf)
    await nodes.send_heartbeat()
    async with background_task(nodes.run()):
        deaf.fault = StoreUnavailable("the name is held")
        deaf.nodes = [alive("a", alive=False), alive("b")]
        deaf.query_over_new_connection = lambda query: deaf.nodes
        await advance(NODE_TIMEOUT_S - 0.5)
        assert any(nodes.url_of_other_owner(game) is None for game in GAMES)
        await advance(2.0)
        assert all(nodes.url_of_other_owner(game) == "ws://arena/b" for game in GAMES)


@pytest.mark.virtual_time
async def test_a_node_that_was_given_up_while_its_session_hangs_asks_on(deaf: Any) -> None:
    nodes = nodes_of(deaf)
    await nodes.send_heartbeat()
    async with background_task(nodes.run()):
        deaf.answers.clear()
        deaf.nodes = [alive("b")]
        await advance(30.0)
        assert deaf.anew > 1
        deaf.answers.set()
        await advance(1.0)
        assert nodes.database_problem() is None


@pytest.mark.virtual_time
async def test_a_listening_session_that_hears_no_sign_of_life_is_replaced_and_what_was_announced_is_read(
    deaf: Any,
) -> None:
    nodes = nodes_of(deaf, timeouts=NodeTimeouts(echo_timeout_s=5.0))
    async with background_task(nodes.listen()), background_task(nodes.run()):
        await advance(20.0)
        assert (deaf.listened, nodes.warnings.current()) == (1, [])
        deaf.hears = False
        await advance(6.5)
        assert deaf.listened == 1
        nodes._woken.clear()
        await advance(2.0)
        assert deaf.listened == 2
        assert nodes._woken.is_set()
        (warning,) = nodes.warnings.current()
        assert warning.startswith("the session that wakes this node was deaf for 5 s, and is replaced")
        deaf.hears = True
        await advance(2.0)
        assert nodes.warnings.current() == []
        deaf.answers.clear()  # without signs of life there is nothing to hear
        await advance(60.0)
        assert deaf.listened == 2


@pytest.mark.virtual_time
async def test_a_listening_session_is_not_replaced_while_nobody_can_be_notified(deaf: Any) -> None:
    nodes = nodes_of(deaf, timeouts=NodeTimeouts(echo_timeout_s=5.0))
    async with background_task(nodes.listen()), background_task(nodes.run()):
        await advance(2.0)
        deaf.hears = deaf.notifies = False
        await advance(60.0)
        deaf.hears = deaf.notifies = True
        await advance(2.0)
        assert deaf.listened == 1


async def test_a_listening_session_that_stands_still_is_replaced(url: str, stack: ExitStack) -> None:
    database = at(url)
    a, b = node(database, "a", stack), node(at(url), "b", stack)
    archive = AsyncStore(a)
    now = 0.0
    nodes = ClusterView(archive, database, "a", a.node, "ws://a", clock=lambda: now)
    await nodes.read_announcements()
    assert await nodes.announcements.get() is None
    try:
        async with asyncio.timeout(WITHIN), background_task(nodes.listen()):
            while not (before := listening_backends(url)):
                await nodes._woken.wait()
                await asyncio.sleep(0)
            (pid,) = before
            with stopped(pid):
                b.write(announce, "bots", ["ann"])
                while listening_backends(url) <= before:
                    await nodes.send_heartbeat()
                    now += 6.0
                async with background_task(nodes.read_when_woken()):
                    assert await nodes.announcements.get() == Announcement("bots", ["ann"])
    finally:
        await archive.drain()
