"""Files of old records lose those that were removed, while a server runs."""

from __future__ import annotations

import asyncio

from arena.store.archive_file import ArchivesBusy, changing
from arena.store.archives import Archive, all_archives, replace_archive
from arena.store.archiving import drop, matches_in, write_anew
from arena.store.async_store import AsyncStore

WITHIN, AGAIN = 120.0, 0.5
"""Seconds in which who moves records is waited for, and between two looks."""


async def leave_out_removed(store: AsyncStore) -> None:
    """Have no file keep a record that was removed since. Raises `ArenaFault`, `ArchivesBusy` too."""
    until = asyncio.get_running_loop().time() + WITHIN
    for one in await store.read_beside(all_archives):
        while one.held != one.records:
            try:
                await _leave_out(store, one)
                break
            except ArchivesBusy:
                if asyncio.get_running_loop().time() > until:
                    raise
                await asyncio.sleep(AGAIN)


async def _leave_out(store: AsyncStore, one: Archive) -> None:
    with changing(one.path.parent):
        kept = await store.read(matches_in, one.number)
        path, records = await asyncio.to_thread(write_anew, one, kept)
        await store.write(replace_archive, one.number, path, records)
        drop(one, path)
