"""What becomes of a match that is over: it is stored and rated, its journal removed, and everyone told the end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

from arena.referee.result import Ratings, Result
from arena.server.journal import Journal, JournalFault
from arena.server.runner import Runner
from arena.store.archive import Archive
from arena.store.finishing import Finished
from arena.store.times import utc
from protocol.errors import Fault

Tell = Callable[[Runner, Ratings | None], None]
Rated = Callable[[Result, Ratings], None]

log = logging.getLogger("arena.server.settling")


class Ended:
    """A match that is over, to be stored and to be told, in whichever order `Settle` does so."""

    def __init__(self, runner: Runner, journal: Journal, tell: Tell, rated: Rated) -> None:
        self.result = result = runner.result(utc())
        # Not of `self.result`: that would be a cycle, and keep the whole match until the collector looks.
        self.finished = Finished(result, lambda ratings: runner.record(result, ratings))
        """For the archive."""
        self._runner = runner
        self._journal = journal
        self._tell = tell
        self._rated = rated

    def tell(self, ratings: Ratings | None) -> None:
        """Tell everyone the end, with ratings or without; once."""
        self._tell(self._runner, ratings)

    async def stored(self, storing: Awaitable[Ratings | None]) -> Ratings | None:
        """The ratings, once the match is stored. What can't be stored stays in the journal for the next start."""
        try:
            ratings = await storing
        except Exception as exc:  # whatever it was, the bots are told the end and have their slots back
            unforeseen = None if isinstance(exc, Fault) else exc
            log.error(
                "the result of match %s can't be stored, it stays in the journal: %s",
                self.result.match,
                exc,
                exc_info=unforeseen,
            )
            return None
        self._forget()
        if ratings is not None:
            self._rated(self.result, ratings)
        return ratings

    def _forget(self) -> None:
        """Remove the journal; one that stays is removed at the next start."""
        try:
            self._journal.forget(self.result.match)
        except JournalFault as fault:
            log.error("match %s is stored, but %s", self.result.match, fault)


class Settle(Protocol):
    """Has a match stored and told, by `Ended.stored` and `Ended.tell`."""

    async def __call__(self, ended: Ended) -> None: ...


class StoreFirst:
    """Everyone is told the end with the ratings, when they are on disk."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive

    async def __call__(self, ended: Ended) -> None:
        ended.tell(await ended.stored(self._archive.finish(ended.finished)))


class Settling:
    """The matches that are over and not yet settled. `rated` is told of each result that has ratings."""

    def __init__(self, journal: Journal, settle: Settle, tell: Tell, rated: Rated) -> None:
        self._journal = journal
        self._settle = settle
        self._tell = tell
        self._rated = rated
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, runner: Runner) -> None:
        """Settle a match that is over."""
        task = asyncio.create_task(self._conclude(runner))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def wait(self) -> None:
        """Return when all are settled."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _conclude(self, runner: Runner) -> None:
        ended = Ended(runner, self._journal, self._tell, self._rated)
        runner.stop()
        await self._settle(ended)
