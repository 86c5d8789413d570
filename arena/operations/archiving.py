"""Purges removed records from archive files while a server runs."""

from __future__ import annotations

import asyncio
from functools import partial

from arena.store.archive_file import ArchivesBusy, lock_archives, remove_archive, write_archive
from arena.store.archives import Archive, all_archives, forget_archive, register_planned_archive, replace_archive
from arena.store.archiving import matches_in, plan_replacement
from arena.store.async_store import AsyncStore
from machine.backoff import Backoff, Retry
from protocol.errors import ArenaFault

LOCK_TIMEOUT_S, LOCK_RETRY_DELAY_S = 120.0, 0.5
"""While another process changes the archive files, retry for `LOCK_TIMEOUT_S` seconds, every `LOCK_RETRY_DELAY_S`."""


async def purge_removed_records(store: AsyncStore) -> None:
    """Rewrite each archive file that still contains removed records. Raise the first `ArenaFault` at the end."""
    retry = Retry(ArchivesBusy, Backoff(LOCK_RETRY_DELAY_S), LOCK_TIMEOUT_S)
    faults: list[ArenaFault] = []
    for one in await store.read_slowly(all_archives):
        try:
            if one.held != one.records:
                await retry.run(partial(_purge_file, store, one))
        except ArenaFault as fault:
            faults.append(fault)
    if faults:
        raise faults[0]


async def _purge_file(store: AsyncStore, archive: Archive) -> None:
    with lock_archives(archive.path.parent):
        kept = await store.read(matches_in, archive.number)
        new = await asyncio.to_thread(plan_replacement, archive, kept)
        if new is not None:
            await store.write(register_planned_archive, new.path, len(new.records))
            size = await asyncio.to_thread(write_archive, new)
            await store.write(replace_archive, archive.number, new.path, len(new.records), size)
        if new is None or new.path != archive.path:
            remove_archive(archive.path)
            await store.write(forget_archive, archive.number)
