"""Operator requests to rename and delete bots while the server runs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from arena.operations.archiving import purge_removed_records
from arena.operations.thinning import remove_in_batches
from arena.operator.requests import OperationHandler, Request, SendEvent
from arena.store import registry
from arena.store.announcements import announce
from arena.store.bot_versions import count_versions
from arena.store.entrants import tournaments_of_bot
from arena.store.thinning import RecordsOfBot
from protocol.errors import ArenaFault, UsageFault
from protocol.names import fold_name

if TYPE_CHECKING:
    from arena.operations.tournaments import TournamentRunner
    from arena.server.arena import Arena

LEAVING_INTERVAL_S = 0.5
"""Seconds between two announcements to other nodes that a bot is being deleted. A node that receives one ends its
matches of the bot.

The announcement is repeated until no node has a match of the bot, because the bot may have started one after the last
announcement.
"""
FORFEIT_TIMEOUT_S = 10.0
"""Seconds in which the matches that a deleted bot forfeits must be stored."""


class Rename(Request, frozen=True, tag="rename"):
    """A request to rename a bot. The bot is disconnected."""

    name: str
    new: str

    def changed_names(self) -> Sequence[str]:
        return [self.new]


class Delete(Request, frozen=True, tag="delete"):
    """A request to delete a bot. The bot loses its matches in progress.

    With `records`, the records of all its matches are removed too.
    """

    name: str
    records: bool = False

    def changed_names(self) -> Sequence[str]:
        """Return no names, because the audit log must not keep the name of a deleted bot."""
        return ()


class DeletionResult(Struct, frozen=True, kw_only=True):
    """The result of deleting a bot: the name that its results have now, and the number of removed records.

    `programs` is the number of versions of a hosted bot's program that were deleted. If archive files still contain
    removed records, `kept` says why. `unrepeatable` are the ids of the tournaments that can't be repeated, because the
    bot entered them with a program that is now gone.
    """

    placeholder: str
    records: int = 0
    programs: int = 0
    kept: str | None = None
    unrepeatable: Sequence[str] = ()


def handlers(arena: Arena, tournament_runner: TournamentRunner) -> Iterator[OperationHandler]:
    """Yield the handlers of operator requests to rename and delete bots."""
    store = arena.store

    async def rename(request: Rename, tell: SendEvent) -> None:
        if (tournament := tournament_runner.tournament_of(request.name)) is not None:  # also between two matches of it
            raise UsageFault(f"{request.name} plays in the tournament {tournament}: rename it when that is over")
        await store.read(registry.check_new_name, request.name, request.new)
        if arena.host.clients.matches_with(request.name):
            raise UsageFault(f"{request.name} plays in a match under way: stop it, and rename it when that is over")
        why = f"the operator called {{bot}} {request.new}: come in under that name, with the same token"
        with arena.block_logins(request.name, why, "renamed"):
            await store.write(registry.rename_bot, request.name, request.new)
            arena.on_renamed(request.name, request.new)

    async def delete(request: Delete, tell: SendEvent) -> DeletionResult:
        with arena.block_logins(request.name, "the operator deleted {bot}", "deleted"):
            arena.forfeit_matches(request.name)
            try:
                async with asyncio.timeout(FORFEIT_TIMEOUT_S):
                    await arena.host.clients.wait_until_idle(request.name)
            except TimeoutError as exc:
                told = f"{request.name} has lost its matches, and others play on in one of them, or it can't be stored"
                raise UsageFault(f"{told}: delete it when that is over") from exc
            programs = await store.read(count_versions, request.name)
            loop = asyncio.get_running_loop()
            until = loop.time() + FORFEIT_TIMEOUT_S  # other nodes have as long as this one had
            while True:
                try:
                    placeholder = await store.write(registry.anonymize_bot, request.name)
                    break
                except registry.StillPlaying:
                    if loop.time() > until:
                        raise
                await store.write(announce, "leaving", [fold_name(request.name)])
                await asyncio.sleep(LEAVING_INTERVAL_S)
            arena.on_renamed(request.name, placeholder)
        lost = await store.read(tournaments_of_bot, placeholder)
        if not request.records:
            return DeletionResult(placeholder=placeholder, programs=programs, unrepeatable=lost)
        removed = await remove_in_batches(store, RecordsOfBot(placeholder).remove)
        kept = None
        try:  # even if none was removed, since an earlier attempt may have been interrupted
            await purge_removed_records(store)
        except ArenaFault as fault:
            kept = str(fault)
        return DeletionResult(
            placeholder=placeholder, records=removed.records, programs=programs, kept=kept, unrepeatable=lost
        )

    yield OperationHandler(Rename, rename)
    yield OperationHandler(Delete, delete)
