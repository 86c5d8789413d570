"""What becomes of a match that is over: it is stored and rated, its journal removed, and everyone told the end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

from arena.host.journal import Journal, JournalFault
from arena.host.runner import Runner
from arena.store.async_store import AsyncStore
from arena.store.finish import Finished
from machine.timestamps import utc
from protocol.error_codes import UNAVAILABLE
from protocol.errors import Fault
from protocol.messages import Error
from referee.footer import Closed
from referee.result import Ratings, Result

PATIENCE = 2.0
"""After so many seconds seats are told that their match is not stored yet."""

Tell = Callable[[Runner, Ratings | None], None]
Rated = Callable[[Result, Ratings], None]

log = logging.getLogger("arena.server.finalizing")


class Ended:
    """A match that is over, to be stored and to be told, in whichever order `Settle` does so."""

    def __init__(self, runner: Runner, journal: Journal, tell: Tell, rated: Rated) -> None:
        self.result = result = runner.result(utc())
        # Not of `self.result`: that would be a cycle, and keep the whole match until the collector looks.
        self.finished = Finished(result, lambda ratings: runner.closed(result).record(ratings))
        """For the archive."""
        self._runner = runner
        self._journal = journal
        self._tell = tell
        self._rated = rated

    def tell(self, ratings: Ratings | None) -> None:
        """Tell everyone the end, with ratings or without; once."""
        self._tell(self._runner, ratings)

    async def stored(self, storing: Awaitable[Ratings | None]) -> Ratings | None:
        """The ratings, once the match is stored. Raises what `storing` does."""
        ratings = await storing
        self._forget()
        if ratings is not None:
            self._rated(self.result, ratings)
        return ratings

    def closed(self) -> Closed:
        """The match with its record. Raises `JournalFault`."""
        return self._runner.closed(self.result)

    def announce_wait(self) -> None:
        """Tell the seats why they hear nothing."""
        text = "the arena can't store the result of this match now: its end is told when it can"
        self._runner.announce(Error(code=UNAVAILABLE, message=text, ref=self.result.match))

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
    """Everyone is told the end with the ratings, when they are on disk; if that takes long, the seats hear why."""

    def __init__(self, archive: AsyncStore) -> None:
        self._archive = archive

    async def __call__(self, ended: Ended) -> None:
        late = asyncio.get_running_loop().call_later(PATIENCE, ended.announce_wait)
        try:
            ratings = await ended.stored(self._archive.finish(ended.finished))
        except Fault:
            raise
        except Exception:  # the result will be no other after the next start, and the bots have their slots back
            ended.tell(None)
            raise
        finally:
            late.cancel()
        ended.tell(ratings)


class Settling:
    """The matches that are over and not yet settled. `rated` is told of each result that has ratings, `over` of all."""

    def __init__(
        self,
        journal: Journal,
        settle: Settle,
        tell: Tell,
        rated: Rated,
        over: Callable[[Result], None] = lambda result: None,
    ) -> None:
        self._over = over
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
        self._over(ended.result)
        try:
            await self._settle(ended)
        except Fault as fault:  # the arena is closing: the match is told when it is stored, after the next start
            log.error("the result of match %s can't be stored, it stays in the journal: %s", runner.id, fault)
        except Exception:
            log.exception("the result of match %s can't be stored, it stays in the journal", runner.id)
        finally:
            runner.close()
