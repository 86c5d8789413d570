"""A host of matches: connections, sessions, runners and journals behind one WebSocket server."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import time
from collections.abc import Awaitable, Callable, Sequence

from arena.host.broadcast import Broadcaster
from arena.host.event_log import EventLog
from arena.host.finished import FinishedMatch
from arena.host.handler import HostHandler
from arena.host.handshake import Handshake
from arena.host.journal import Journal, JournalFault, MatchJournal
from arena.host.lobby import Lobby
from arena.host.recovery import recovered
from arena.host.runner import Runner
from arena.network.admission import Access, Admission
from arena.network.connection import Connection
from arena.network.encryption import Encryption
from arena.network.listener import Listener
from protocol.codec import Codec
from protocol.errors import ArenaFault, Fault
from referee.effects import Absent, Voided
from referee.match import Match
from referee.record import Header
from referee.result import Ratings


class Health:
    """What is wrong now, by where it is wrong. A line is logged when something is, and when nothing is any more."""

    def __init__(self) -> None:
        self._troubles: dict[str, str] = {}
        self._since = 0.0

    @property
    def reason(self) -> str | None:
        """In a line, why nothing new begins; None when all is well."""
        return next(iter(self._troubles.values()), None)

    def tell(self, where: str, reason: str | None) -> None:
        """Something is wrong at a place, or, with None, no longer is."""
        if reason is not None:
            if not self._troubles:
                self._since = time.monotonic()
                log.error("new matches paused; retrying every second: %s", reason)
            self._troubles[where] = reason
        elif self._troubles.pop(where, None) is not None and not self._troubles:
            log.warning("play goes on after %.1f s", time.monotonic() - self._since)


log = logging.getLogger("arena.host")


class MatchHost:
    """Has matches played between those who connect, for its `handler`; `restore` those of the journal and `listen`.

    `disconnect` leaves matches under way in the journal; `drain` waits until those that are over are kept. `operate`
    serves the connections of operators, whom `access` lets in.
    """

    def __init__(
        self,
        handler: HostHandler,
        journal: Journal,
        access: Access | None = None,
        encryption: Encryption | None = None,
        operate: Callable[[Connection], Awaitable[None]] | None = None,
    ) -> None:
        self._handler = handler
        self._journal = journal
        self.health = Health()
        self.events = EventLog(handler.note)
        self.lobby = Lobby(handler)
        self._handshake = Handshake(handler, self.lobby, self.events)
        self._listener = Listener(
            self._serve,
            Admission(access or Access(), self.events.refused),
            encryption,
            lambda: self.health.reason,
            operate,
        )
        self._broadcaster = Broadcaster()
        self._recovery: asyncio.Task[int] | None = None
        self._finalizing: set[asyncio.Task[None]] = set()

    async def listen(self, host: str, port: int) -> int:
        """Take connections; the port, which is a free one for port 0. Raises `PortFault`."""
        return await self._listener.open(host, port)

    async def listen_on(self, sockets: list[socket.socket]) -> None:
        """Take connections from sockets that listen already."""
        await self._listener.on(sockets)

    async def take(self, bound: socket.socket, address: str, *, operators: bool = False) -> Callable[[], None]:
        """Take connections also from a socket that listens already, as if from `address`; what is returned ends it.

        With `operators` nobody else comes in there.
        """
        return await self._listener.take(bound, address, operators=operators)

    def restore(self) -> asyncio.Task[int]:
        """Go on with the matches of the journal: how many there are. Until all are back no `hello` is answered."""
        self._handshake.hold()
        self._recovery = asyncio.create_task(self._restore())
        return self._recovery

    def begin(self, header: Header, seed: bytes, seeks: Sequence[str | None] = (), absent: Sequence[int] = ()) -> None:
        """Start a match; the seats that are `absent` have lost it, and if all are it is void.

        Raises `ArenaFault`; then there is no match.
        """
        match = Match(header, seed, self._handler.players(header), seeks)
        runner = self._runner(match, self._journal.begin(match.id))
        self._add(runner)
        try:
            runner.open()
        except ArenaFault:
            runner.stop()
            self.lobby.remove(runner)
            with contextlib.suppress(JournalFault):
                self._journal.forget(match.id)
            raise
        self.events.begun(header)
        for event in [Voided()] if len(absent) == len(header.seats) else map(Absent, absent):
            runner.receive(event)

    async def disconnect(self, code: int) -> None:
        """Take no more connections, and close those there are with `code`."""
        if self._recovery is not None:
            self._recovery.cancel()
        self.lobby.close()
        await self._listener.close(code)

    async def drain(self) -> None:
        """Return when all that is over is kept."""
        if self._finalizing:
            await asyncio.wait(self._finalizing)
        await self.events.close()

    async def _serve(self, connection: Connection, codec: Codec) -> None:
        """One connection, from its handshake to its end."""
        session = await self._handshake.admit(connection, codec)
        if session is None:
            return
        try:
            await connection.deliver(session.receive, session.awaited)
        finally:
            self.lobby.leave(session)
            if session.bot is not None:
                playing = len(self.lobby.matches_of(session.bot))
                self.events.left(session.bot, connection.address, connection.ended, session.fault, playing)

    async def _restore(self) -> int:
        matches = await recovered(self._journal, self._handler)
        for match, recalled, journal in matches:
            runner = self._runner(match, journal)
            self._add(runner)
            runner.resume(recalled)
            await asyncio.sleep(0)
        self._handshake.open()
        return len(matches)

    def _runner(self, match: Match, journal: MatchJournal) -> Runner:
        return Runner(match, journal, self._finish, self.lobby.release, self._held, self._broadcaster)

    def _add(self, runner: Runner) -> None:
        self.lobby.add(runner)
        self._handler.match_added(runner)

    def _held(self, runner: Runner, reason: str | None) -> None:
        self.health.tell(runner.id, reason)

    def _finish(self, runner: Runner) -> None:
        task = asyncio.create_task(self._finalize(runner))
        self._finalizing.add(task)
        task.add_done_callback(self._finalizing.discard)

    async def _finalize(self, runner: Runner) -> None:
        match = FinishedMatch(runner, self._journal, self._tell_end)
        runner.stop()
        self.events.ended(match.result)
        try:
            await self._handler.finalize(match)
        except Fault as fault:  # the arena is closing: the match is told when it is stored, after the next start
            log.error("the result of match %s can't be stored, it stays in the journal: %s", runner.id, fault)
        except Exception:
            log.exception("the result of match %s can't be stored, it stays in the journal", runner.id)
        finally:
            runner.close()

    def _tell_end(self, runner: Runner, ratings: Ratings | None) -> None:
        self.lobby.remove(runner)
        runner.farewell(ratings)
