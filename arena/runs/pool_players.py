"""Bots that workers of this machine start, in an event loop that goes on meanwhile."""

from __future__ import annotations

import asyncio
from concurrent.futures import BrokenExecutor
from functools import partial

from arena.ratings.tournament_pairing import Pairing
from arena.runs.connected import ConcurrentPlayers
from arena.runs.job import Aborted, MatchJob, MatchReport
from arena.runs.workers import referee_matches
from machine.workers.local import WorkerPool
from protocol.errors import ArenaFault


class PoolPlayers(ConcurrentPlayers):
    """Plays the matches of a job by a pool of workers, each of which plays one at a time."""

    def __init__(self, job: MatchJob, pool: WorkerPool) -> None:
        super().__init__(pool.size)
        self._job = job
        self._pool = pool

    async def play_match(self, pairing: Pairing) -> MatchReport:
        """Play a match, and return its report. Raise `ArenaFault` if its worker is lost, or a bot can't go on."""
        try:
            (reply,) = await asyncio.wrap_future(self._pool.start(partial(referee_matches, self._job, [pairing])))
        except BrokenExecutor as exc:
            raise ArenaFault("the process that played a match was lost") from exc
        if isinstance(reply, Aborted):
            raise reply.fault
        return reply
