"""Runs a server as a node, which claims its name, sends heartbeats and listens to other nodes. A node that loses its
name exits.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator, Coroutine
from functools import partial
from typing import Any

from arena.server.arena import Arena
from arena.server.nodes import ClusterView, NodeTimeouts
from arena.server.stall_guard import StallGuard
from arena.store.announcements import Announcement
from arena.store.answer_limit import DatabaseTimeouts
from arena.store.async_store import AsyncStore
from arena.store.node_store import NODE_LEASE_S, NodeStore, NodeTaken
from arena.store.postgres_database import PostgresDatabase
from arena.store.store import Store
from machine.backoff import Backoff, Retry
from machine.event_loop import background_task
from machine.timeouts import scale_timeouts
from protocol.errors import ArenaFault

RETRY_DELAY_S = 0.2
"""Seconds between two attempts to claim a node's name that is taken, or to look up what another node announced."""
MAX_SILENCE_S = 3.0
"""Seconds without a query after which a node counts as hung. A node that works makes a query every second."""
NODE_LOST_EXIT_CODE = os.EX_TEMPFAIL
"""Exit code of a node that cannot go on and must be started again: 75."""

log = logging.getLogger("arena.node")


async def open_as_node(database: PostgresDatabase, name: str) -> NodeStore:
    """Claim the name of a node, and return the node's store. Raise the errors of `Store.open`, too.

    If another process holds the name, retry for as long as a process that ended or hung could keep it. Then raise
    `NodeTaken`.
    """
    retry = _claim_retry(name, database.limit.timeouts)
    return await retry.run(partial(asyncio.to_thread, NodeStore.open_as, database, name))


def _claim_retry(name: str, timeouts: DatabaseTimeouts) -> Retry[NodeTaken]:
    lease_s = NODE_LEASE_S + 2.0

    def on_taken(fault: NodeTaken, failing_s: float) -> None:
        if not failing_s:
            log.info("node %s is running, or stopped a moment ago: waiting until its name is free", name)
        elif fault.silent_s < MAX_SILENCE_S and failing_s > lease_s:
            raise fault

    longest_s = lease_s + timeouts.statement_timeout_s + timeouts.answer_timeout_s
    return Retry(NodeTaken, Backoff(RETRY_DELAY_S), longest_s, on_taken)


def cluster_view_of(store: Store, async_store: AsyncStore, url: str) -> ClusterView | None:
    """Return this node's view of the cluster; None if the store belongs to no node."""
    if not isinstance(store, NodeStore) or not isinstance(store.database, PostgresDatabase):
        return None
    guard = StallGuard(lambda seconds: _exit_node(f"this process was suspended for {seconds:.1f} s"))
    timeouts = scale_timeouts(NodeTimeouts())
    return ClusterView(async_store, store.database, store.name, store.node, url, timeouts=timeouts, stall_guard=guard)


@contextlib.asynccontextmanager
async def run_as_node(nodes: ClusterView, arena: Arena) -> AsyncIterator[None]:
    """Run as a node within the context. Raise `ArenaFault` if this machine's clock is far off."""
    assert nodes.stall_guard is not None
    async with background_task(_run_essential(nodes.stall_guard.run())):
        try:
            await nodes.send_heartbeat()
            nodes.check_clock()
            async with contextlib.AsyncExitStack() as stack:
                for work in (
                    nodes.run(),
                    nodes.listen(),
                    nodes.read_when_woken(),
                    _apply_announcements(arena, nodes.announcements),
                    _follow_changes(arena, nodes.changed),
                ):
                    await stack.enter_async_context(background_task(_run_essential(work)))
                yield
        finally:
            await nodes.leave()


async def _run_essential(work: Coroutine[Any, Any, None]) -> None:
    """Run a task that a node cannot do without. If the task fails, end the process."""
    try:
        await work
    except NodeTaken as fault:
        _exit_node(str(fault))
    except Exception:
        log.exception("a background task of this node failed")
        _exit_node("a defect of the arena")


async def _apply_announcements(arena: Arena, announced: asyncio.Queue[Announcement | None]) -> None:
    while True:
        announcement = await announced.get()
        try:
            await arena.on_announcement(announcement)
        except ArenaFault as fault:
            log.warning("an announcement could not be looked up: %s", fault)
            announced.put_nowait(None)
            await asyncio.sleep(RETRY_DELAY_S)
        except Exception:  # no announcement ends a node
            log.exception("an announcement is ignored: %s", announcement)


async def _follow_changes(arena: Arena, changed: asyncio.Event) -> None:
    while True:
        await changed.wait()
        changed.clear()
        arena.on_nodes_changed()


def _exit_node(why: str) -> None:
    """End this process at once, without closing connections. A restarted node resumes its matches from the journal."""
    log.critical("%s: this node ends (%d); started again, its matches go on from the journal", why, NODE_LOST_EXIT_CODE)
    logging.shutdown()
    os._exit(NODE_LOST_EXIT_CODE)
