"""`arena node …`: manages the servers (nodes) that share a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from time import monotonic, sleep

import msgspec

from arena.commands.node_table import describe_state, node_table
from arena.commands.output import print_list, terminal_columns
from arena.operator.requests import COMMAND_LINE_ORIGIN
from arena.store.database import Database
from arena.store.database_url import open_database_url
from arena.store.finish import finish_matches, prepare_match
from arena.store.node_store import NodeStore, NodeTaken
from arena.store.nodes import NodeStatus, drain_node, end_matches, forget_node, list_nodes, matches_of
from arena.store.postgres_database import PostgresDatabase
from arena.store.store import Reader, Store
from machine.terminal import say
from machine.timestamps import utc_now
from protocol.display import format_count, list_first
from protocol.errors import UsageFault
from referee.called_off import call_off_match
from referee.record import Header

POLL_INTERVAL_S = 0.5
"""Seconds between two checks whether matches are under way on a draining node."""
MESSAGE_INTERVAL_S = 60.0
"""Seconds between two messages that name the matches for which `arena node drain --wait` waits."""


def show_nodes(where: str, *, json: bool) -> None:
    """List the nodes. Raise `UsageFault` if the database is a file."""
    with closing(Reader.open(_shared_database(where))) as reader:
        nodes = reader.read(list_nodes)
    if json:
        print_list(nodes)
        return
    if not nodes:
        say("no node has ever run on this database: start one with `arena serve --node NAME`")
        return
    say("\n".join(node_table(nodes, terminal_columns())))


def drain(where: str, name: str, *, undo: bool, wait: bool) -> None:
    """Make a node take no new matches; with `undo`, let it take new matches again. Raise `Fault` if it does not run.

    With `wait`, return when no match is under way on the node.
    """
    if undo and wait:
        raise UsageFault("--undo and --wait don't go together")
    with closing(Store.open(_shared_database(where), create=False)) as store:
        node = _find_running(store, name)
        store.write(drain_node, name, COMMAND_LINE_ORIGIN, undo=undo)
        if undo:
            say(f"{name} takes new matches again")
            return
        under_way = format_count(node.matches, "match is", "matches are") + " under way"
        say(f"{name} takes no new matches; {under_way} there")
        if wait:
            _wait(store, name)
            say(f"{name} has no match under way")


def _wait(store: Store, name: str) -> None:
    """Wait until no match is under way on a draining node. Raise `Fault` if the node ends or is told to go on."""
    tell_at = monotonic()
    while matches := [one.match for one in store.read(matches_of, name)]:
        if not _find_running(store, name).draining:
            raise UsageFault(f"{name} takes new matches again: it was started anew, or somebody took the draining back")
        if monotonic() >= tell_at:
            tell_at += MESSAGE_INTERVAL_S
            say(
                f"waiting for {format_count(len(matches), 'match', 'matches')}: {list_first(matches)}; those "
                "that are not in its "
                f"journal, of which `arena status` warns, never end: stop {name} then, and `arena node lost {name}` "
                "calls them off",
                flush=True,
            )
        sleep(POLL_INTERVAL_S)


def _find_running(store: Store, name: str) -> NodeStatus:
    node = _find_node(store.read(list_nodes), name)
    if not node.alive:
        how = "has stopped" if node.state == "stopped" else f"is {describe_state(node)}"
        matches = format_count(node.matches, "match", "matches")
        raise UsageFault(
            f"node {name} {how}, with {matches} under way: start it, or void them with `arena node lost {name}`"
        )
    return node


def declare_lost(where: str, name: str) -> None:
    """Void the matches of a node whose journals are lost, and remove the node. Raise `Fault` if the node is alive."""
    database = _shared_database(where)
    with closing(Reader.open(database)) as reader:
        _find_node(reader.read(list_nodes), name)
    try:
        store = NodeStore.open_as(database, name)
    except NodeTaken as exc:
        raise UsageFault(f"node {name} is running: drain it, or stop it first") from exc
    with closing(store):
        void, played_again = [], []
        for match in store.read(matches_of, name):
            header = msgspec.json.decode(match.header, type=Header)
            if header.tournament is not None:
                played_again.append(match.match)
            else:
                closed = call_off_match(header, bytes.fromhex(match.secret), utc_now())
                void.append(prepare_match(closed))
        store.write(finish_matches, void, store.node)
        store.write(end_matches, played_again)
        store.write(forget_node, name, COMMAND_LINE_ORIGIN)
    again = f"; of tournaments, to be played again: {len(played_again)}" if played_again else ""
    say(f"voided {format_count(len(void), 'match', 'matches')} of {name}{again}")
    for one in void:
        say(f"  {one.result.match}: {' - '.join(seat.bot for seat in one.result.seats)}")


def _shared_database(where: str) -> Database:
    """Return the database at a URL. Raise `UsageFault` if it is a file, which nodes cannot share."""
    database = open_database_url(where)
    if not isinstance(database, PostgresDatabase):
        raise UsageFault(f"{database} is a file, and has no nodes: they share a database at postgresql://…, see --db")
    return database


def _find_node(nodes: Sequence[NodeStatus], name: str) -> NodeStatus:
    found = next((node for node in nodes if node.name == name), None)
    if found is None:
        raise UsageFault(f"there is no node {name!r}: {', '.join(node.name for node in nodes) or 'there are none'}")
    return found
