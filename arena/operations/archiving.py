"""Files of old records lose those that were removed, while a server runs."""

from __future__ import annotations

import asyncio

from arena.store.archives import all_archives, replace_archive
from arena.store.archiving import drop, matches_in, write_anew
from arena.store.async_store import AsyncStore


async def leave_out_removed(store: AsyncStore) -> None:
    """Have no file keep a record that was removed since. Raises `ArenaFault`."""
    for one in await store.read_beside(all_archives):
        if one.held != one.records:
            kept = await store.read(matches_in, one.number)
            path, records = await asyncio.to_thread(write_anew, one, kept)
            await store.write(replace_archive, one.number, path, records)
            drop(one, path)
