"""A node's name is a lock in the database: one process has it, and who had it before writes no more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path

import msgspec
import pytest

from arena.commands.node_process import _claim_retry
from arena.commands.nodes import declare_lost, show_nodes
from arena.commands.nodes import drain as drain_by_command
from arena.commands.serve import upgrade_if_older
from arena.operator.requests import COMMAND_LINE_ORIGIN
from arena.replay.verify import verify_record
from arena.store.actions import actions_page
from arena.store.answer_limit import DatabaseTimeouts
from arena.store.data_folder import DataFolderInUse
from arena.store.database import StoreUnavailable
from arena.store.database_url import open_database_url
from arena.store.integrity_check import check_database
from arena.store.node_store import NodeStore, NodeTaken
from arena.store.nodes import (
    MatchInProgress,
    begin_matches,
    drain_node,
    end_matches,
    forget_node,
    list_nodes,
    mark_stopped,
    matches_of,
    node_urls,
    record_heartbeat,
    url_of_match,
    urls_of_bot,
)
from arena.store.registry import StillPlaying, anonymize_bot, find_registered_bot, register_bot, rename_bot
from arena.store.result_queries import iter_results, record_of
from arena.store.store import Store
from arena.store.tokens import hash_token
from arena.web.admin.log import ACTION_WORDS
from commands import call
from databases import alter
from hung_sessions import backend, wait_until_ended
from later_schema import use_later_schema
from postgres import END_OTHER_SESSIONS, postgres_server
from protocol.dice import SEED_BYTES
from protocol.errors import UsageFault
from referee import record_reader
from referee_table import header
from seasons import finish, result


def node(url: str, name: str, stack: ExitStack) -> NodeStore:
    return stack.enter_context(closing(NodeStore.open_as(open_database_url(url), name)))


@contextmanager
def passing_node(url: str, name: str) -> Iterator[NodeStore]:
    """A node that gives its name up at the end: the server knows of that once its process has ended."""
    with closing(NodeStore.open_as(open_database_url(url), name)) as store:
        pid = store.write(backend)
        yield store
    wait_until_ended(url, pid)


def live_node(url: str, name: str, stack: ExitStack) -> NodeStore:
    """A node at an address with its name, which stays alive however long the test takes."""
    opened = node(url, name, stack)
    opened.write(record_heartbeat, opened.node, f"ws://{name}")
    keep_alive(url)
    return opened


def keep_alive(url: str) -> None:
    """Let the nodes that are alive stay so until they stop or send another heartbeat."""
    alter(url, "UPDATE nodes SET seen = '2999-01-01T00:00:00.000Z' WHERE seen IS NOT NULL")


def end_sessions(url: str) -> None:
    """Have the server end all sessions on a database, as it does with those that it hears nothing of."""
    alter(url, END_OTHER_SESSIONS)


def under_way(
    store: NodeStore, match: str, bots: tuple[str, str] = ("ann", "Bob"), tournament: str | None = None
) -> MatchInProgress:
    seed = match.encode().ljust(SEED_BYTES, b"-")
    made = header(match=match, bots=bots, seed=seed, rated=tournament is None, tournament=tournament)
    return MatchInProgress(store.node, match, msgspec.json.encode(made).decode(), seed.hex(), bots)


def begin(store: NodeStore, matches: list[MatchInProgress]) -> None:
    """Have matches noted that begin, between bots that are registered."""
    for bot in {bot for match in matches for bot in match.bots}:
        if store.read(find_registered_bot, bot) is None:
            store.write(register_bot, bot, hash_token(bot))
    assert store.write(begin_matches, matches) == {}


def test_a_name_is_had_by_one_process_at_a_time(url: str, stack: ExitStack) -> None:
    with passing_node(url, "a"):
        node(url, "b", stack)
        with pytest.raises(NodeTaken, match="a node a runs already: give this one another name with --node"):
            NodeStore.open_as(open_database_url(url), "a")
    node(url, "a", stack)


def test_a_node_whose_session_was_ended_goes_on_under_its_name(url: str, stack: ExitStack) -> None:
    a = node(url, "a", stack)
    finish(a, result("m1"))
    end_sessions(url)
    finish(a, result("m2"))
    assert [found.match for found in a.iterate(iter_results)] == ["m2", "m1"]


def test_a_node_writes_no_more_once_another_process_had_its_name(url: str, stack: ExitStack) -> None:
    a = node(url, "a", stack)
    end_sessions(url)
    NodeStore.open_as(open_database_url(url), "a").close()
    with pytest.raises(NodeTaken, match="another process has taken the name of this node, a"):
        finish(a, result("m1"))
    assert list(a.iterate(iter_results)) == []


def test_a_server_that_crashed_is_away_for_a_moment_and_has_all_that_was_stored(stack: ExitStack) -> None:
    server = stack.enter_context(postgres_server())
    server.execute("CREATE DATABASE arena TEMPLATE template0")
    stores = node(server.url("arena"), "a", stack), stack.enter_context(closing(Store.open(server.url("arena"))))
    finish(stores[0], result("m1"))
    stores[1].read(list_nodes)
    server.stop()
    for store in stores:
        with pytest.raises(StoreUnavailable):
            finish(store, result("m2"))
        with pytest.raises(StoreUnavailable):
            store.read(list_nodes)
    server.start()
    for number, store in enumerate(stores, 2):
        finish(store, result(f"m{number}"))
    assert [found.match for found in stores[1].iterate(iter_results)] == ["m3", "m2", "m1"]


def test_who_plays_on_another_node_is_neither_renamed_nor_deleted(url: str, stack: ExitStack) -> None:
    a, b = node(url, "a", stack), node(url, "b", stack)
    for store, name in ((a, "ann"), (a, "an"), (b, "cid")):
        store.write(register_bot, name, hash_token(name))
    begin(a, [under_way(a, "m1", ("ann", "Bob"))])
    for change in (partial(rename_bot, old="ANN", new="anna"), partial(anonymize_bot, name="ANN")):
        with pytest.raises(
            StillPlaying, match=r"ANN plays in a match under way at node a: it can be (renamed|deleted)"
        ):
            b.write(change)
    b.write(rename_bot, "an", "anne")
    assert b.read(find_registered_bot, "ann") is not None
    a.write(end_matches, ["m1"])
    b.write(rename_bot, "ann", "anna")
    assert b.read(find_registered_bot, "ann") is None


@pytest.mark.parametrize("change", [partial(rename_bot, old="ANN", new="anna"), partial(anonymize_bot, name="ann")])
def test_a_match_does_not_begin_whose_bot_was_renamed_or_deleted_after_it_was_paired(
    url: str, stack: ExitStack, change: Callable[..., object]
) -> None:
    a, b = node(url, "a", stack), node(url, "b", stack)
    for name in ("ann", "Bob", "cid"):
        a.write(register_bot, name, hash_token(name))
    paired = [under_way(a, "m1", ("Ann", "bob")), under_way(a, "m2", ("cid", "Bob"))]
    b.write(change)
    gone = a.write(begin_matches, paired)
    assert {match: str(fault) for match, fault in gone.items()} == {
        "m1": "the match does not start, because Ann was renamed or deleted a moment ago"
    }
    assert [one.match for one in b.read(matches_of, "a")] == ["m2"]


def test_nodes_see_each_other_and_what_is_under_way_where(url: str, stack: ExitStack) -> None:
    a, b = live_node(url, "a", stack), node(url, "b", stack)
    begin(a, [under_way(a, "m1")])
    nodes = b.write(record_heartbeat, b.node, "ws://b")
    assert [(one.name, one.url, one.alive, one.matches) for one in nodes] == [
        ("a", "ws://a", True, 1),
        ("b", "ws://b", True, 0),
    ]
    keep_alive(url)
    assert (b.read(url_of_match, "m1"), b.read(url_of_match, "m2")) == ("ws://a", None)
    assert b.read(node_urls) == ["ws://a", "ws://b"]
    assert b.read(urls_of_bot, b.node, "bob") == ["ws://a"]
    assert b.read(urls_of_bot, b.node, "b_b") == []
    assert a.read(urls_of_bot, a.node, "bob") == []
    a.write(mark_stopped, a.node)
    assert [one.state for one in b.read(list_nodes)] == ["stopped", "alive"]


def test_a_match_that_is_stored_is_under_way_no_more(url: str, stack: ExitStack) -> None:
    a = node(url, "a", stack)
    begin(a, [under_way(a, name) for name in ("m1", "m2")])
    finish(a, result("m1"))
    assert [match.match for match in a.read(matches_of, "a")] == ["m2"]


def test_the_matches_of_a_lost_node_are_void_with_records_that_verify(
    url: str, stack: ExitStack, capsys: pytest.CaptureFixture[str]
) -> None:
    with passing_node(url, "a") as a:
        a.write(record_heartbeat, a.node, "ws://a")
        begin(a, [under_way(a, "m1"), under_way(a, "m2"), under_way(a, "t1", tournament="t")])
        finish(a, result("m2", ("ann", "Bob")))
    declare_lost(url, "a")
    assert capsys.readouterr().out == "voided 1 match of a; of tournaments, to be played again: 1\n  m1: ann - Bob\n"
    with closing(Store.open(url)) as store:
        assert [(found.match, found.reason) for found in store.iterate(iter_results)] == [("m1", "void"), ("m2", "win")]
        record = store.read(record_of, "m1")
        assert record is not None
        verify_record(record_reader.read_record(record, "m1"))
        assert list(store.iterate(check_database)) == []
        assert store.read(matches_of, "a") == []


def test_a_node_that_is_given_up_is_listed_no_more_until_it_comes_again(url: str, stack: ExitStack) -> None:
    b = node(url, "b", stack)
    with passing_node(url, "a") as a:
        for one in (a, b):
            one.write(record_heartbeat, one.node, "ws://arena")
        keep_alive(url)
        begin(a, [under_way(a, "m1")])
        a.write(forget_node, "a", COMMAND_LINE_ORIGIN)
        assert [one.name for one in b.read(list_nodes)] == ["a", "b"], "its match is under way still"
    declare_lost(url, "a")
    assert [one.name for one in b.read(list_nodes)] == ["b"]
    with pytest.raises(UsageFault, match="there is no node 'a': b"):
        drain_by_command(url, "a", undo=False, wait=False)
    a = node(url, "a", stack)
    a.write(record_heartbeat, a.node, "ws://arena")
    keep_alive(url)
    assert [(one.name, one.state) for one in b.read(list_nodes)] == [("a", "alive"), ("b", "alive")]


def test_a_node_that_runs_is_not_given_up(url: str, stack: ExitStack) -> None:
    live_node(url, "a", stack)
    with pytest.raises(UsageFault, match="node a is running: drain it"):
        declare_lost(url, "a")
    with pytest.raises(UsageFault, match="there is no node 'b': a"):
        declare_lost(url, "b")


def test_nodes_are_listed_and_drained(url: str, stack: ExitStack, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = live_node(url, "a", stack), live_node(url, "b", stack)
    b.write(mark_stopped, b.node)
    begin(a, [under_way(a, "m1")])
    drain_by_command(url, "a", undo=False, wait=False)
    assert capsys.readouterr().out == "a takes no new matches; 1 match is under way there\n"
    show_nodes(url, json=False)
    assert capsys.readouterr().out.split() == [
        *("node", "state", "matches", "url"),
        *("a", "draining", "1", "ws://a"),
        *("b", "stopped", "0", "ws://b"),
    ]
    drain_by_command(url, "a", undo=True, wait=False)
    assert not a.read(list_nodes)[0].draining
    with pytest.raises(UsageFault, match="there is no node 'c'"):
        drain_by_command(url, "c", undo=False, wait=False)


def test_who_drained_a_node_took_that_back_or_gave_it_up_is_kept(url: str) -> None:
    with passing_node(url, "a") as a:
        a.write(record_heartbeat, a.node, "ws://a")
        drain_by_command(url, "a", undo=False, wait=False)
        drain_by_command(url, "a", undo=True, wait=False)
    declare_lost(url, "a")
    with closing(Store.open(url)) as store:
        kept = store.read(actions_page).rows
    assert [(one.by, one.do, one.concerns) for one in kept] == [
        ("command line", do, ["a"]) for do in ("lost_node", "undo_drain_node", "drain_node")
    ]
    assert {one.do for one in kept} <= ACTION_WORDS.keys()


@pytest.mark.parametrize(
    ("seen", "how"), [("NULL", "has stopped"), ("'2026-11-26T17:05:12.000Z'", "is gone since 2026-11-26 17:05")]
)
def test_a_node_that_does_not_run_is_not_drained(url: str, stack: ExitStack, seen: str, how: str) -> None:
    a = live_node(url, "a", stack)
    begin(a, [under_way(a, "m1")])
    alter(url, f"UPDATE nodes SET seen = {seen}")
    says = f"node a {how}, with 1 match under way: start it, or void them with `arena node lost a`"
    with pytest.raises(UsageFault, match=says):
        drain_by_command(url, "a", undo=False, wait=False)
    assert a.read(actions_page).rows == []


def test_who_waits_until_a_node_is_drained_is_told_for_which_matches(
    url: str, stack: ExitStack, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    a = live_node(url, "a", stack)
    begin(a, [under_way(a, "m1"), under_way(a, "m2")])
    monkeypatch.setattr("arena.commands.nodes.MESSAGE_INTERVAL_S", 0.0)
    ends = [["m2"], ["m1"]]
    monkeypatch.setattr("arena.commands.nodes.sleep", lambda seconds: a.write(end_matches, ends.pop()))
    drain_by_command(url, "a", undo=False, wait=True)
    rest = "those that are not in its journal, of which `arena status` warns, never end: stop a then, and "
    rest += "`arena node lost a` calls them off"
    assert capsys.readouterr().out.splitlines()[1:] == [
        f"waiting for 2 matches: m1, m2; {rest}",
        f"waiting for 1 match: m2; {rest}",
        "a has no match under way",
    ]


def test_who_waits_until_a_node_is_drained_is_told_that_it_is_drained_no_more(
    url: str, stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = live_node(url, "a", stack)
    begin(a, [under_way(a, "m1")])
    monkeypatch.setattr(
        "arena.commands.nodes.sleep", lambda seconds: a.write(drain_node, "a", COMMAND_LINE_ORIGIN, undo=True)
    )
    with pytest.raises(UsageFault, match="a takes new matches again"):
        drain_by_command(url, "a", undo=False, wait=True)


@pytest.mark.parametrize(("silent_s", "longest_s"), [(0.0, 10.0), (4.0, 3615.0)])
def test_a_name_is_waited_for_as_long_as_a_process_that_ended_or_hangs_may_keep_it(
    silent_s: float, longest_s: float
) -> None:
    retry = _claim_retry("a", DatabaseTimeouts())
    assert [retry.delay_s(NodeTaken("", silent_s), at) for at in (5.0, 4.9 + longest_s)] == [0.2, 0.2]
    with pytest.raises(NodeTaken):
        retry.delay_s(NodeTaken("", silent_s), 5.1 + longest_s)


def test_a_file_has_no_nodes() -> None:
    with pytest.raises(UsageFault, match="is a file, and has no nodes"):
        show_nodes("arena.db", json=False)


def test_what_nobody_else_may_run_beside_is_refused_while_a_node_is_alive(
    url: str, stack: ExitStack, tmp_path: Path
) -> None:
    asked = partial(call, "arena", ARENA_DB=url, ARENA_DATA=str(tmp_path))
    first, second = live_node(url, "a", stack), live_node(url, "b", stack)
    who = f"arena: {open_database_url(url)} is in use by running nodes"
    what = "stop them\n"
    for command in ("db rebuild-ratings", "db upgrade", "db thin --vacuum"):
        assert asked(*command.split()) == (1, "", f"{who} (a, b): {what}")
    ask = "stop them, or give the data folder of one with --data\n"
    assert asked("bot", "rename", "ann", "anna") == (1, "", f"{who} (a, b): {ask}")
    first.write(mark_stopped, first.node)
    assert asked("db", "upgrade").err == f"{who} (b): {what}"
    second.write(mark_stopped, second.node)
    assert asked("db", "rebuild-ratings").code == 0


def test_a_server_upgrades_no_database_under_nodes_of_an_older_version(
    url: str, stack: ExitStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arena.commands.serve.NODE_TIMEOUT_S", 0.0)
    live_node(url, "a", stack)
    use_later_schema(monkeypatch, tmp_path / "migrations")
    with pytest.raises(DataFolderInUse, match=r"running nodes \(a\): stop them, as they are of an older version"):
        upgrade_if_older(open_database_url(url), None)
