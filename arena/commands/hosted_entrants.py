"""Finds the hosted bots of a tournament, and fetches their programs: from a database, or from a running server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from arena.commands.settings import database_url
from arena.operator.client import OperatorConnection, connect_to_folder, connect_to_url
from arena.operator.entrants import FindEntrants, KeepEntrants
from arena.operator.hosting import ReadVersion, SubmissionPart
from arena.runs.remote import LocalServer, Server
from arena.store.bot_versions import read_content
from arena.store.database import DatabaseNotFound
from arena.store.entrants import EntrantList, HostedEntrant, find_entrants, freeze_entrants
from arena.store.match_search import parse_time_bound
from arena.store.store import Reader, Store
from machine import event_loop
from protocol.errors import UsageFault

T = TypeVar("T")


class HostedOptions(Struct, frozen=True, kw_only=True):
    """The options of `arena tournament --hosted`: the time whose versions play, those bots that are named, and whether
    bots that handed in later enter too.
    """

    as_of: str | None = None
    bots: Sequence[str] = ()
    late: bool = False


class HostedSource(Struct, frozen=True):
    """The arena that has the programs: the one of a running server, else the one of a data folder's database."""

    server: Server | None
    data: Path
    db: str | None

    def find(self, options: HostedOptions, game: str) -> EntrantList:
        """Return the entrants. Raise `UsageFault` if the time is wrong or a named bot can't enter."""
        until = None if options.as_of is None else parse_time_bound(options.as_of, "--as-of", days=1)
        if self.server is not None:
            request = FindEntrants(game=game, as_of=until, bots=list(options.bots), late=options.late)
            return self._ask(lambda connection: connection.ask(request, EntrantList))
        try:
            with closing(Reader.open(database_url(self.db, self.data))) as reader:
                return reader.read(find_entrants, game, until, options.bots, late=options.late)
        except DatabaseNotFound as fault:
            raise UsageFault(
                f"{fault}: --hosted takes the programs from the database of an arena, which --data or --db names, or "
                "from a running one, which --server names"
            ) from fault

    def freeze(self, store: Store, tournament: str, entrants: Sequence[HostedEntrant]) -> None:
        """Have the arena keep the versions of a tournament. `store` is that of its results."""
        if self.server is None:
            store.write(freeze_entrants, tournament, entrants)
            return
        request = KeepEntrants(tournament=tournament, entrants=list(entrants))
        self._ask(lambda connection: connection.ask(request, object))

    async def read(self, store: Store, digest: str) -> bytes:
        """Return the submission with this digest."""
        found = bytearray()
        if self.server is None:
            while part := store.read(read_content, digest, len(found)):
                found += part
            return bytes(found)
        async with _connected(self.server) as connection:
            while part := (await connection.ask(ReadVersion(digest=digest, offset=len(found)), SubmissionPart)).data:
                found += part
            return bytes(found)

    def _ask(self, ask: Callable[[OperatorConnection], Awaitable[T]]) -> T:
        async def run() -> T:
            assert self.server is not None
            async with _connected(self.server) as connection:
                return await ask(connection)

        return event_loop.run(run())


@asynccontextmanager
async def _connected(server: Server) -> AsyncIterator[OperatorConnection]:
    opened = (
        connect_to_folder(server.folder)
        if isinstance(server, LocalServer)
        else connect_to_url(server.url, server.token)
    )
    async with opened as connection:
        yield connection
