"""Removes records of old matches while a server runs: hourly by its settings, and at the operator's request."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from arena.operator.requests import OperationHandler, Request, SendEvent
from arena.store.async_store import AsyncStore
from arena.store.bot_logs import remove_old_logs
from arena.store.retention_clock import check_clock
from arena.store.thinning import Count, RemovalTotals, Retention, find_removable, remove_records
from protocol.errors import ArenaFault

if TYPE_CHECKING:
    from arena.server.arena import Arena

REMOVAL_INTERVAL_S = 3600.0
"""Seconds between two removals of old records."""
IDLE_RATIO = 9.0
"""The pause after a batch of removals, as a multiple of the duration of that batch. Other queries run in the pause."""

log = logging.getLogger("arena.thinning")


class Thin(Request, frozen=True, tag="thin"):
    """A request to remove the records of old matches. The limits are those of `Retention`."""

    unrated_days: Count
    rated_days: Count
    max_unrated_mib: Count

    def changed_names(self) -> Sequence[str]:
        return ()


async def remove_old_records(store: AsyncStore, retention: Retention, *, clock_steady: bool = True) -> RemovalTotals:
    """Remove, in batches, the records that `retention` does not keep.

    Records are removed because of their age only if `clock_steady`.
    """
    old = await store.read_slowly(find_removable, retention, clock_steady=clock_steady)
    return await remove_in_batches(store, remove_records, old)


async def remove_in_batches(store: AsyncStore, remove: Callable[..., RemovalTotals], *words: object) -> RemovalTotals:
    """Call `remove` for batch after batch of records, with pauses, until none is left."""
    loop = asyncio.get_running_loop()
    removed = RemovalTotals()
    while True:
        began = loop.time()
        batch = await store.write(remove, *words)
        if not batch.records:
            return removed
        removed += batch
        await asyncio.sleep(IDLE_RATIO * (loop.time() - began))


async def run_retention(
    store: AsyncStore,
    retention: Retention,
    on_clock: Callable[[str | None], None] = lambda text: None,
    log_days: int = 0,
) -> None:
    """Remove old records every hour, without end; and logs of hosted bots that are older than `log_days`, unless that
    is 0.

    If the database's clock is not steady, nothing is removed because of its age, and `on_clock` receives the reason.
    If it is steady, `on_clock` receives None.
    """
    while True:
        try:
            unsteady = await store.write(check_clock)
            on_clock(unsteady)
            removed = await remove_old_records(store, retention, clock_steady=unsteady is None)
            if unsteady is None:
                await store.write(remove_old_logs, log_days)
        except ArenaFault as fault:
            log.warning("records of old matches can't be removed: %s", fault)
        except Exception:
            log.exception("records of old matches can't be removed")
        else:
            if removed.records:
                log.info("removed the records of %d old matches, %d bytes", removed.records, removed.bytes)
        await asyncio.sleep(REMOVAL_INTERVAL_S)


def retention_handler(arena: Arena) -> OperationHandler:
    """Return the handler of `Thin`, which removes old records."""

    async def perform(request: Thin, tell: SendEvent) -> RemovalTotals:
        return await remove_old_records(arena.store, Retention(**asdict(request)))

    return OperationHandler(Thin, perform, cancel_on_disconnect=True)
