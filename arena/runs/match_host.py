"""A host of tournament matches: it starts the bots as processes, and plays one match at a time."""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import Sequence
from pathlib import Path

from arena.host.host import MatchHost
from arena.host.journal import Journal
from arena.host.timeouts import HostTimeouts
from arena.network.admission import Access
from arena.network.connection_limits import ConnectionBounds
from arena.ratings.tournament_pairing import Pairing
from arena.runs.bot_gate import BotGate
from arena.runs.bot_processes import BotProcesses
from arena.runs.job import Aborted, MatchJob, MatchReport
from arena.runs.waiting_room import WaitingRoom
from machine.timeouts import scale_timeouts
from machine.timestamps import utc_now
from protocol.close_codes import GOING_AWAY
from protocol.errors import ArenaFault, Fault, os_errors_as

HOST = "127.0.0.1"
"""The address on which a host listens for its bots."""


class TournamentHost:
    """A host for the matches of a job: call `open`, then `play` for each match, then `close`.

    The first match starts all bots. Their logs are in `folder`, which no other host uses. A bot that keeps a match
    waiting for too long is killed. The constructor raises `ArenaFault` if a folder cannot be made.
    """

    def __init__(self, job: MatchJob, folder: Path) -> None:
        self._job = job
        self._scratch = folder / "journal"
        shutil.rmtree(self._scratch, ignore_errors=True)  # left by a host that was killed
        with os_errors_as(ArenaFault, f"the folder {self._scratch} can't be made"):
            self._scratch.mkdir(mode=0o700)
        names = job.plan.names
        self._room = WaitingRoom(job.connect_timeout_s)
        self._gate = BotGate(names, self._room)
        timeouts = scale_timeouts(HostTimeouts())
        self._host = MatchHost(self._gate, Journal(self._scratch), _connection_limits(len(names)), timeouts=timeouts)
        self._host.events.client_level = logging.DEBUG  # bots come and leave with the job's matches
        self._bots = BotProcesses(job, folder, self._host, self._gate, self._room)
        self._url = ""
        self.matches_played = 0
        """Number of matches played."""

    @property
    def is_usable(self) -> bool:
        """True if this host can play another match: it has not failed, and its last match is finished."""
        return self._gate.is_free

    async def open(self) -> None:
        """Listen on a free port. Raise `ArenaFault` if that fails."""
        self._url = f"ws://{HOST}:{await self._host.listener.listen(HOST, 0)}"

    async def play(self, pairing: Pairing) -> MatchReport | Aborted:
        """Play a match and return its report; if no more matches can be played, return the reason."""
        try:
            await self._bots.start(self._url)
            await self._wait_for_bots(pairing.seats)
            header, seed = self._job.plan.header_of(pairing, utc_now(), self._host.clients.version_of)
            out = [seat for seat, name in enumerate(pairing.seats) if name in self._bots.excluded]
            self._host.start_match(header, seed, absent=out)  # the seats of these bots have lost
            closed = await self._gate.wait_for_end()
        except Fault as fault:
            self._gate.fail(fault)
            return Aborted(fault, self._bots.take_output())
        self.matches_played += 1
        failures = self._bots.on_match_end(closed)
        notes, incidents = self._bots.take_notes(), self._gate.take_incidents()
        return MatchReport(closed, None, failures, notes, incidents, self._bots.take_output())

    async def close(self) -> list[BaseException]:
        """Stop the host, its match and every bot. Return the errors that occur."""
        self._gate.fail(ArenaFault("the table is closed"))
        closing = asyncio.gather(self._host.disconnect(GOING_AWAY), return_exceptions=True)
        faults = [*await self._bots.stop(), *await closing]
        await self._host.drain()
        shutil.rmtree(self._scratch, ignore_errors=True)
        return [fault for fault in faults if fault is not None]

    async def _wait_for_bots(self, names: Sequence[str]) -> None:
        """Wait until these bots are connected and free. Kill those that are late."""
        clock = asyncio.get_running_loop().time
        since = clock()
        while missing := [
            name for name in names if name not in self._bots.excluded and self._host.clients.free_slots_of(name) < 1
        ]:
            self._gate.raise_failure()
            self._gate.changed.clear()
            try:
                async with asyncio.timeout_at(min(self._room.deadline(name, since) for name in missing)):
                    await self._gate.changed.wait()
            except TimeoutError:
                for name, why in self._room.take_late(missing, since, clock()):
                    self._bots.kill(name, why)
        self._gate.raise_failure()


def _connection_limits(bots: int) -> Access:
    """Return the limits on connections, with room for this number of bots and for spectators. A bot may have two
    connections for a moment, when it reconnects.
    """
    usual = ConnectionBounds()
    return Access(
        bounds=ConnectionBounds(
            connections=max(usual.connections, 4 * bots),
            per_address=max(usual.per_address, 2 * bots),
            waiting_per_address=max(usual.waiting_per_address, 2 * bots),
        )
    )
