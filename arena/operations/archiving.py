"""Records of old matches are moved to files while a server runs, when the operator asks for it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from arena.operations.thinning import REST
from arena.operator.requests import Handler, Request, Tell
from arena.store.archive_file import OldRecord, write_archive
from arena.store.archives import all_archives, replace_archive
from arena.store.archiving import (
    Moved,
    Old,
    Place,
    drop,
    in_batches,
    matches_in,
    move_records,
    next_old,
    write_anew,
)
from arena.store.async_store import AsyncStore

if TYPE_CHECKING:
    from arena.server.arena import Arena


class MoveRecords(Request, frozen=True, tag="move_records"):
    """Move old records to files of a folder."""

    old: Old
    folder: str

    def concerns(self) -> Sequence[str]:
        return ()


async def move_all(store: AsyncStore, old: Old, folder: Path) -> Moved:
    """Move all old records into files of a folder, a little at a time. Raises `ArenaFault`."""
    moved, place = Moved(), Place()
    while True:
        found, place = await store.read_beside(next_old, old, place)
        if not found:
            return moved
        path, written = await asyncio.to_thread(write_archive, folder, found)
        if path is not None:
            size = path.stat().st_size
            moved += Moved(files=1, file_bytes=size)
            for batch in in_batches(written):
                moved += await _written(store, path, (len(written), size), batch)


async def leave_out_removed(store: AsyncStore) -> None:
    """Have no file keep a record that was removed since. Raises `ArenaFault`."""
    for one in await store.read_beside(all_archives):
        if one.held != one.records:
            kept = await store.read(matches_in, one.number)
            path, records = await asyncio.to_thread(write_anew, one, kept)
            await store.write(replace_archive, one.number, path, records)
            drop(one, path)


async def _written(store: AsyncStore, path: Path, file: tuple[int, int], batch: list[OldRecord]) -> Moved:
    """The records of a batch moved, and a rest for the others that use the store."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    moved = await store.write(move_records, path, file, batch)
    await asyncio.sleep(REST * (loop.time() - began))
    return moved


def operation(arena: Arena) -> Handler:
    """What moves records when it is asked for."""

    async def perform(request: MoveRecords, tell: Tell) -> Moved:
        return await move_all(arena.store, request.old, Path(request.folder))

    return Handler(MoveRecords, perform, while_heard=True)
