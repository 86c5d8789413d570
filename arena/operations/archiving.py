"""Purging removed records from archive files while a server runs."""

from __future__ import annotations

import asyncio

from arena.store.archive_file import ArchivesBusy, changing, remove_archive, write_archive
from arena.store.archives import Archive, all_archives, announce_archive, forget_archive, replace_archive
from arena.store.archiving import matches_in, without_removed
from arena.store.async_store import AsyncStore
from protocol.errors import ArenaFault

WITHIN, AGAIN = 120.0, 0.5
"""Seconds to wait for another process that changes the files: in total, and between attempts."""


async def leave_out_removed(store: AsyncStore) -> None:
    """Rewrite archive files that still contain removed records. Try all, then raise the first `ArenaFault`."""
    until = asyncio.get_running_loop().time() + WITHIN
    faults: list[ArenaFault] = []
    for one in await store.read_beside(all_archives):
        try:
            while one.held != one.records:
                try:
                    await _leave_out(store, one)
                    break
                except ArchivesBusy:
                    if asyncio.get_running_loop().time() > until:
                        raise
                    await asyncio.sleep(AGAIN)
        except ArenaFault as fault:
            faults.append(fault)
    if faults:
        raise faults[0]


async def _leave_out(store: AsyncStore, one: Archive) -> None:
    with changing(one.path.parent):
        kept = await store.read(matches_in, one.number)
        new = await asyncio.to_thread(without_removed, one, kept)
        if new is not None:
            await store.write(announce_archive, new.path, len(new.records))
            size = await asyncio.to_thread(write_archive, new)
            await store.write(replace_archive, one.number, new.path, len(new.records), size)
        if new is None or new.path != one.path:
            remove_archive(one.path)
            await store.write(forget_archive, one.number)
