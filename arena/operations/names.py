"""Operator requests to rename and delete bots while the server runs."""

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
"""Seconds until other nodes are told again to end the bot's matches: it may have started another."""
OVER_WITHIN = 10.0
"""Maximum seconds for the matches that a deleted bot forfeits to be stored."""


class Rename(Request, frozen=True, tag="rename"):
    """A request to rename a bot, which disconnects it."""

    name: str
    new: str

    def concerns(self) -> Sequence[str]:
        return [self.new]


class Delete(Request, frozen=True, tag="delete"):
    """A request to delete a bot, which loses its matches in progress. `records` also removes its matches' records."""

    name: str
    records: bool = False

    def concerns(self) -> Sequence[str]:
        """Return no names: the audit log must not keep the deleted one."""
        return ()


class Deleted(Struct, frozen=True, kw_only=True):
    """The new name of the bot's results, the records removed, and why archive files still contain some (or None)."""

    placeholder: str
    records: int = 0
    kept: str | None = None


def operations(arena: Arena) -> Iterator[Handler]:
    """Yield the handlers for renaming and deleting bots."""
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
            arena.lose_matches(request.name)
            try:
                async with asyncio.timeout(OVER_WITHIN):
                    await arena.host.clients.matches_over(request.name)
            except TimeoutError as exc:
                told = f"{request.name} has lost its matches, and others play on in one of them, or it can't be stored"
                raise UsageFault(f"{told}: delete it when that is over") from exc
            loop = asyncio.get_running_loop()
            until = loop.time() + OVER_WITHIN  # other nodes have as long as this one had
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
        try:  # even if none was removed, since an earlier attempt may have been interrupted
            await leave_out_removed(store)
        except ArenaFault as fault:
            kept = str(fault)
        return Deleted(placeholder=placeholder, records=removed.records, kept=kept)

    yield Handler(Rename, rename)
    yield Handler(Delete, delete)
