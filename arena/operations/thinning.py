"""Removing records of old matches from a running server, hourly by its settings and on the operator's request."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from arena.operator.requests import Handler, Request, Tell
from arena.store.async_store import AsyncStore
from arena.store.retention_clock import look_at_clock
from arena.store.thinning import Count, Removed, Retention, find_removable, remove_records
from protocol.errors import ArenaFault

if TYPE_CHECKING:
    from arena.server.arena import Arena

EVERY = 3600.0
"""Seconds between two removals."""
REST = 9.0
"""After a batch, removal pauses for this many times the batch's duration, so that other queries run."""

log = logging.getLogger("arena.thinning")


class Thin(Request, frozen=True, tag="thin"):
    """A request to remove records of old matches beyond these limits."""

    unrated_days: Count
    rated_days: Count
    max_unrated_mib: Count

    def concerns(self) -> Sequence[str]:
        return ()


async def thin(store: AsyncStore, keep: Retention, *, clock_steady: bool = True) -> Removed:
    """Remove records beyond their retention in batches, none for age unless `clock_steady`. Raises `StoreError`."""
    old = await store.read_beside(find_removable, keep, clock_steady=clock_steady)
    return await in_pieces(store, remove_records, old)


async def in_pieces(store: AsyncStore, remove: Callable[..., Removed], *words: object) -> Removed:
    """Call `remove` for batch after batch with pauses, until nothing is left. Raises `StoreError`."""
    loop = asyncio.get_running_loop()
    removed = Removed()
    while True:
        began = loop.time()
        batch = await store.write(remove, *words)
        if not batch.records:
            return removed
        removed += batch
        await asyncio.sleep(REST * (loop.time() - began))


async def keep_thin(
    store: AsyncStore, keep: Retention, on_clock: Callable[[str | None], None] = lambda text: None
) -> None:
    """Remove old records every hour, without end. `on_clock` gets the reason why no record counts as too old now, or
    None while the database's clock is steady.
    """
    while True:
        try:
            unsteady = await store.write(look_at_clock)
            on_clock(unsteady)
            removed = await thin(store, keep, clock_steady=unsteady is None)
        except ArenaFault as fault:
            log.warning("records of old matches can't be removed: %s", fault)
        except Exception:
            log.exception("records of old matches can't be removed")
        else:
            if removed.records:
                log.info("removed the records of %d old matches, %d bytes", removed.records, removed.bytes)
        await asyncio.sleep(EVERY)


def operation(arena: Arena) -> Handler:
    """Return the handler for removing records."""

    async def perform(request: Thin, tell: Tell) -> Removed:
        return await thin(arena.store, Retention(**asdict(request)))

    return Handler(Thin, perform, while_heard=True)
