"""Records of old matches are removed while a server runs: as its settings say, and when the operator asks for it."""

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
"""Seconds."""
REST = 9.0
"""After a batch the store's thread has so many times as long for others."""

log = logging.getLogger("arena.thinning")


class Thin(Request, frozen=True, tag="thin"):
    """Remove the records of old matches, beyond what is to be kept of them."""

    unrated_days: Count
    rated_days: Count
    max_unrated_mib: Count

    def concerns(self) -> Sequence[str]:
        return ()


async def thin(store: AsyncStore, keep: Retention, *, clock_steady: bool = True) -> Removed:
    """Remove what is not to be kept, a little at a time; nothing for its age where the clock is not steady. Raises
    `StoreError`.
    """
    old = await store.read_beside(find_removable, keep, clock_steady=clock_steady)
    return await in_pieces(store, remove_records, old)


async def in_pieces(store: AsyncStore, remove: Callable[..., Removed], *words: object) -> Removed:
    """Remove some records after others, until none is left. Raises `StoreError`."""
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
    """Do so every hour, for ever, as long as the database's clock runs steadily. `on_clock` is told why nothing grows
    too old now, None where it does.
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
    """What removes records when it is asked for."""

    async def perform(request: Thin, tell: Tell) -> Removed:
        return await thin(arena.store, Retention(**asdict(request)))

    return Handler(Thin, perform, while_heard=True)
