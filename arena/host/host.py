"""A host of matches: connections, sessions, runners and journals behind one WebSocket server."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial

from arena.host.actions import act
from arena.host.broadcast import Broadcaster
from arena.host.client_registry import ClientRegistry
from arena.host.event_log import EventLog
from arena.host.handler import FinishedMatch, HostHandler, TooOften, Unavailable
from arena.host.journal import Journal, JournalFault, MatchJournal
from arena.host.journal_weights import weigh_journals
from arena.host.meters import MeasuredRunner, Meters
from arena.host.quotas import QuotaLimits, Quotas
from arena.host.recorder import Recorder
from arena.host.runner import Runner
from arena.host.session import Session
from arena.host.timeouts import HostTimeouts
from arena.host.work_queue import WorkQueue
from arena.network.admission import Access, Admission
from arena.network.connection import Connection
from arena.network.listener import Listener
from arena.network.tls import Encryption
from machine.event_loop import Tasks, until_first
from machine.log_output import about
from protocol.close_codes import NO_HELLO, NOT_AUTHENTICATED, RESTARTING, TOO_MANY
from protocol.codec import Codec, Frame
from protocol.errors import ArenaFault, BadRecord, BotFault, Fault, MalformedMessage
from protocol.games import NAMES
from protocol.messages import MAX_CLIENT_FRAME, MAX_STRIKES, Error, Hello, Limits, Welcome
from referee.effects import Absent, Voided
from referee.match import Match, MatchTimeouts
from referee.record import Header, Secret
from referee.replay import Recalled
from referee.result import Ratings

SILENT = "no_hello"
"""The code in metrics for clients that never said hello; there is no error code for them."""

log = logging.getLogger("arena.host")


class Health:
    """Current problems, by place. Logs when the first one appears and when the last one is gone."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._troubles: dict[str, str] = {}
        self._since = 0.0

    @property
    def reason(self) -> str | None:
        """The first problem, in one line; None if there is none."""
        return next(iter(self._troubles.values()), None)

    @property
    def places(self) -> Collection[str]:
        """The places with a problem: `store`, `seeks`, and the ids of matches that can't be recorded."""
        return self._troubles.keys()

    def tell(self, where: str, reason: str | None) -> None:
        """Set the problem at a place; None clears it."""
        if reason is not None:
            if not self._troubles:
                self._since = self._clock()
                log.error("new matches paused; retrying every second: %s", reason)
            self._troubles[where] = reason
        elif self._troubles.pop(where, None) is not None and not self._troubles:
            log.warning("play goes on after %.1f s", self._clock() - self._since)


class MatchHost:
    """Runs matches between connected clients, on behalf of its `handler`.

    `restore` resumes the matches in the journal, and `listener` accepts connections. `disconnect` leaves running
    matches in the journal; `drain` waits until finished ones are stored. `operate` serves connections of operators,
    whom `access` admits. With `meters`, moves are measured.
    """

    def __init__(
        self,
        handler: HostHandler,
        journal: Journal,
        access: Access | None = None,
        encryption: Encryption | None = None,
        operate: Callable[[Connection], Awaitable[None]] | None = None,
        quotas: Quotas | None = None,
        meters: Meters | None = None,
        timeouts: HostTimeouts | None = None,
        work_clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._handler = handler
        self._timeouts = timeouts or HostTimeouts()
        self._runner: Callable[..., Runner] = Runner if meters is None else partial(MeasuredRunner, meters)
        self.quotas = quotas or Quotas(QuotaLimits())
        self._journal = journal
        self._clock = asyncio.get_running_loop().time
        self.health = Health(self._clock)
        self.events = EventLog(handler.note)
        self._broadcaster = Broadcaster()
        self.clients = ClientRegistry(handler, self.quotas, self._broadcaster)
        self.listener = Listener(
            self._serve,
            Admission(access or Access(), self.events.refused),
            encryption,
            self.unready,
            operate,
            self._timeouts.network,
            work_clock,
        )
        self._due = WorkQueue()
        self.recorder = Recorder(self.listener.flusher.end_soon, journal.log)
        self.listener.flusher.before = self.recorder.commit
        self._recovery: asyncio.Task[int] | None = None
        self._answers = asyncio.Event()
        """Set while `hello` messages are answered."""
        self._answers.set()
        self._unanswered: dict[Connection, float] = {}
        """Clients that wait for an answer to `hello`, each with its time of arrival, oldest first."""
        self._plies: Counter[str] = Counter()
        """The number of plies of finished matches, by game."""
        self.spectators = 0
        """The number of connected spectators."""
        self._finalizing = Tasks()
        self._weighing = Tasks()

    def before_frames(self, look: Callable[[], None]) -> None:
        """Call `look` before records and frames are written, in each turn of the event loop that writes any."""

        def commit() -> None:
            look()
            self.recorder.commit()

        self.listener.flusher.before = commit

    def plies(self) -> Counter[str]:
        """Return the number of plies played since the start, by game."""
        plies = Counter(self._plies)
        for runner in self.clients.runners.values():
            if not runner.is_over:
                plies[runner.game] += runner.played
        return plies

    def restore(self) -> asyncio.Task[int]:
        """Start to resume the matches in the journal; the task returns how many. Until then no `hello` is answered."""
        self._answers.clear()
        self._recovery = asyncio.create_task(self._restore())
        self._weighing.begin(weigh_journals(self.clients.runners, self.quotas))
        return self._recovery

    def begin(self, header: Header, seed: bytes, seeks: Sequence[str | None] = (), absent: Sequence[int] = ()) -> None:
        """Start a match. Absent seats have lost it; if all are absent, it is void.

        Raise `ArenaFault` if it can't start.
        """
        journal = self._journal.begin(header.match)
        players = self._handler.players(header)
        match = Match(header, seed, players, seeks, journal.events_before, self._timeouts.match)
        runner = self._add(match, journal)
        try:
            runner.open(
                partial(self._handler.before_start, header, seed),
                partial(self._take_back, runner),
                partial(self._note_begun, header),
            )
        except ArenaFault:
            self._remove(runner)
            raise
        for event in [Voided()] if len(absent) == len(header.seats) else map(Absent, absent):
            runner.receive(event)

    def _note_begun(self, header: Header) -> None:
        self.events.begun(header)
        self._handler.begun(header.match)

    def _take_back(self, runner: Runner, fault: Fault) -> None:
        """Remove a match that cannot begin and that no seat knows yet; the seats may seek another one."""
        log.warning("match %s does not begin: %s", runner.id, fault, extra=about(match=runner.id))
        self._remove(runner)
        self._handler.not_begun(runner.id, fault)
        runner.refuse(str(fault))

    def _remove(self, runner: Runner) -> None:
        """Have nothing left of a match that did not begin."""
        runner.stop()
        self.clients.remove_match(runner)
        with contextlib.suppress(JournalFault):
            self._journal.forget(runner.id)

    async def disconnect(self, code: int) -> None:
        """Stop accepting connections, and close the existing ones with `code`."""
        if self._recovery is not None:
            self._recovery.cancel()
        for weighing in self._weighing:
            weighing.cancel()
        self.clients.close()
        self.recorder.close()
        await self.listener.close(code, "the arena stops")

    async def drain(self) -> None:
        """Wait until all finished matches are stored."""
        await self._finalizing.wait()
        await self.events.close()
        self._journal.close()

    async def _serve(self, connection: Connection, codec: Codec) -> None:
        session = await self._admit(connection, codec)
        if session is None:
            return
        self.spectators += session.bot is None
        try:
            await connection.deliver(session.receive, session.awaited)
        finally:
            self.spectators -= session.bot is None
            self.clients.leave(session)
            if session.bot is not None:
                playing = len(self.clients.matches_of(session.bot))
                self.events.left(session.bot, connection.address, connection.ended, session.fault, playing)

    async def _admit(self, connection: Connection, codec: Codec) -> Session | None:
        """Return the session of a client that introduced itself in time. Return None if it was refused."""
        try:
            async with asyncio.timeout(self._timeouts.network.hello_timeout_s):
                frame = await connection.first()
        except TimeoutError:
            self.events.refused(connection.address, "no hello in time", code=SILENT)
            connection.drop(NO_HELLO, "no hello in time")
            return None
        connection.place.enter()
        self._unanswered[connection] = self._clock()
        try:
            return await self._answer(connection, codec, frame)
        finally:
            del self._unanswered[connection]

    async def _answer(self, connection: Connection, codec: Codec, frame: Frame) -> Session | None:
        """Answer a client's first frame with a welcome or a refusal; return its session as `_admit` does."""
        if not self._answers.is_set():
            await until_first(self._answers.wait(), connection.wait_closed())
            if connection.gone:  # the client may have reconnected, and must keep its newer connection
                return None
        hello = None
        try:
            hello = _hello(codec, frame)
            identity = await self._handler.authenticate(hello, connection.address)
        except BotFault as fault:
            self.events.refused(connection.address, str(fault), None if hello is None else hello.bot, code=fault.code)
            if isinstance(fault, TooOften):
                close_code = TOO_MANY
            else:
                close_code = NO_HELLO if isinstance(fault, MalformedMessage) else NOT_AUTHENTICATED
            _refuse(connection, codec, fault, close_code)
            return None
        except ArenaFault as fault:
            named = {} if hello is None or hello.bot is None else {"bot": hello.bot}
            log.error("%s can't be let in: %s", named.get("bot", "a client"), fault, extra=about(**named))
            later = Unavailable("hello: the arena can't look bots up now: come back later")
            _refuse(connection, codec, later, RESTARTING)
            return None
        bot = identity.bot
        acting = partial(act, self.clients)
        session = Session(
            connection,
            codec,
            hello,
            bot,
            acting,
            identity.token_hash,
            person=identity.person,
            display=identity.display,
        )
        resumed = self.clients.enter(session) if bot is not None else []
        limits = Limits(max_message=MAX_CLIENT_FRAME, strikes=MAX_STRIKES, slots=hello.slots)
        session.send(
            Welcome(
                bot=bot,
                token=identity.token,
                person=identity.person,
                games=list(NAMES),
                limits=limits,
                resumed=resumed,
                url=self._handler.url,
                nodes=self._handler.others(),
                elsewhere=list(identity.elsewhere),
            )
        )
        if bot is not None:
            self.events.came(bot, hello.version, hello.client, connection.address)
            self.clients.resume(session)
        return session

    def unready(self) -> str | None:
        """Return why clients should not connect now: matches can't start, or bots wait too long. None if they may."""
        reason = self.health.reason or self._handler.unready()
        if reason is None and not self._answers.is_set():
            reason = "the matches of the journal are read"
        if reason is not None or not self._unanswered:
            return reason
        waited = self._clock() - next(iter(self._unanswered.values()))
        if waited < self._timeouts.slow_answer_delay_s:
            return None
        waiting = len(self._unanswered)
        return f"whoever comes waits to be let in, {waiting} by now, the first for {waited:.0f} s: the database is slow"

    async def _restore(self) -> int:
        matches = await recovered(self._journal, self._handler, self._timeouts.match)
        for match, recalled, journal in matches:
            self._add(match, journal).resume(recalled)
            await asyncio.sleep(0)
        self._answers.set()
        return len(matches)

    def _add(self, match: Match, journal: MatchJournal) -> Runner:
        runner = self._runner(
            match,
            journal,
            self.recorder,
            self._finish,
            self.clients.release,
            self.health.tell,
            self._broadcaster,
            self._due,
            self.quotas.limits.match_bytes,
            self._timeouts.record_retry_delay_s,
        )
        self.clients.add_match(runner)
        self._handler.match_added(runner)
        return runner

    def _finish(self, runner: Runner) -> None:
        self._plies[runner.game] += runner.played
        self._finalizing.begin(self._finalize(runner))

    async def _finalize(self, runner: Runner) -> None:
        match = FinishedMatch(runner, self._journal, partial(self._tell_end, runner))
        parts = self.quotas.parts(runner.id, runner.size, runner.said)
        runner.stop()
        self.events.ended(match.result, match.failures)
        try:
            await self._handler.finalize(match)
            self.quotas.store(parts, match.size)
        except Fault as fault:  # the arena is closing: the end is sent after the next start, when it is stored
            text = "the result of match %s can't be stored, it stays in the journal: %s"
            log.error(text, runner.id, fault, extra=about(match=runner.id))
        except Exception:
            text = "the result of match %s can't be stored, it stays in the journal"
            log.exception(text, runner.id, extra=about(match=runner.id))
        finally:
            runner.close()

    def _tell_end(self, runner: Runner, ratings: Ratings | None) -> None:
        self.clients.remove_match(runner)
        runner.farewell(ratings)


def _hello(codec: Codec, frame: Frame) -> Hello:
    """Decode a first frame, which must be a `hello`. Raise `MalformedMessage`."""
    hello = codec.decode_client(frame)
    if not isinstance(hello, Hello):
        raise MalformedMessage(f"{type(hello).__name__.lower()}: the first message of a connection is hello")
    return hello


def _refuse(connection: Connection, codec: Codec, fault: BotFault, close_code: int) -> None:
    connection.push(codec.encode(Error(code=fault.code, message=str(fault), fatal=True)))
    connection.drop(close_code, fault.code)


async def recovered(
    journal: Journal, handler: HostHandler, timeouts: MatchTimeouts | None = None
) -> list[tuple[Match, Recalled, MatchJournal]]:
    """Return the matches in the journal that the handler wants to continue, in the state in which they stopped.

    Each is replayed in a thread while the event loop continues. Journals that can't be read stay untouched.
    """
    found: list[tuple[Match, Recalled, MatchJournal]] = []
    try:
        for match in journal.unfinished():
            try:
                one = await _recovered(match, journal, handler, timeouts)
            except Fault as fault:
                text = "match %s can't go on, its journal is left as it is: %s"
                log.warning(text, match, fault, extra=about(match=match))
            else:
                found += [one] if one is not None else []
    except asyncio.CancelledError:
        for _, _, opened in found:
            opened.close()
        raise
    return found


async def _recovered(
    match: str, journal: Journal, handler: HostHandler, timeouts: MatchTimeouts | None
) -> tuple[Match, Recalled, MatchJournal] | None:
    lines = await asyncio.to_thread(journal.read, match)
    if not lines or (len(lines) == 1 and isinstance(lines[0], Secret)):
        text = "match %s: its journal ends before the header, so nobody was told of it, and is removed"
        log.warning(text, match, extra=about(match=match))
        journal.forget(match)
        return None
    if len(lines) == 1 or not isinstance(lines[0], Secret) or not isinstance(lines[1], Header):
        raise BadRecord("it does not begin with a secret and a header")
    header, seed = lines[1], bytes.fromhex(lines[0].seed)
    if not await handler.resumes(header, seed):
        journal.forget(match)
        return None
    opened = journal.proceed(match)
    try:
        played = Match(header, seed, handler.players(header), older=opened.events_before, timeouts=timeouts)
        return played, await asyncio.to_thread(played.recall, lines[2:]), opened
    except BaseException:
        opened.close()
        raise
