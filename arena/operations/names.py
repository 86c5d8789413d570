"""Bots that are renamed or deleted while a server runs, when no match of theirs is under way."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from arena.operations.archiving import leave_out_removed
from arena.operations.thinning import in_pieces
from arena.operator.requests import Handler, Request, Tell
from arena.store import registry
from arena.store.announcements import announce
from arena.store.thinning import RecordsOfBot
from protocol.errors import ArenaFault, UsageFault
from protocol.names import folded

if TYPE_CHECKING:
    from arena.server.arena import Arena

LEAVING_INTERVAL_S = 0.5
"""Seconds until other nodes are told again that a bot has lost its matches: it may have begun another one."""
OVER_WITHIN = 10.0
"""Seconds in which matches that a deleted bot has lost are stored."""


class Rename(Request, frozen=True, tag="rename"):
    """Call a bot otherwise; its connection ends."""

    name: str
    new: str

    def concerns(self) -> Sequence[str]:
        return [self.new]


class Delete(Request, frozen=True, tag="delete"):
    """Forget who a bot was; it loses its matches under way. With `records` those of its matches are removed, too."""

    name: str
    records: bool = False

    def concerns(self) -> Sequence[str]:
        """Nobody: it is to be forgotten."""
        return ()


class Deleted(Struct, frozen=True, kw_only=True):
    """What its results are called by from now on, how many records were removed, and why files keep some still, if they
    do.
    """

    placeholder: str
    records: int = 0
    kept: str | None = None


def operations(arena: Arena) -> Iterator[Handler]:
    """What renames and deletes bots."""
    store = arena.store

    async def rename(request: Rename, tell: Tell) -> None:
        await store.read(registry.check_new_name, request.name, request.new)
        if arena.host.clients.matches_with(request.name):
            raise UsageFault(f"{request.name} plays in a match under way: stop it, and rename it when that is over")
        why = f"the operator called {{bot}} {request.new}: come in under that name, with the same token"
        with arena.closed_to(request.name, why, "renamed"):
            await store.write(registry.rename_bot, request.name, request.new)
            arena.renamed(request.name, request.new)

    async def delete(request: Delete, tell: Tell) -> Deleted:
        with arena.closed_to(request.name, "the operator deleted {bot}", "deleted"):
            loop = asyncio.get_running_loop()
            until = loop.time() + OVER_WITHIN
            arena.lose_matches(request.name)
            try:
                async with asyncio.timeout(OVER_WITHIN):
                    await arena.host.clients.matches_over(request.name)
            except TimeoutError as exc:
                told = f"{request.name} has lost its matches, and others play on in one of them, or it can't be stored"
                raise UsageFault(f"{told}: delete it when that is over") from exc
            while True:
                try:
                    placeholder = await store.write(registry.delete_bot, request.name)
                    break
                except registry.StillPlaying:
                    if loop.time() > until:
                        raise
                await store.write(announce, "leaving", [folded(request.name)])
                await asyncio.sleep(LEAVING_INTERVAL_S)
            arena.renamed(request.name, placeholder)
        if not request.records:
            return Deleted(placeholder=placeholder)
        removed = await in_pieces(store, RecordsOfBot(placeholder).remove)
        kept = None
        try:  # also where none was removed, as a try before may have been cut off
            await leave_out_removed(store)
        except ArenaFault as fault:
            kept = str(fault)
        return Deleted(placeholder=placeholder, records=removed.records, kept=kept)

    yield Handler(Rename, rename)
    yield Handler(Delete, delete)
