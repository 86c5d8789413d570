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
"""What metrics call clients that have not said hello, as they have no error code."""

log = logging.getLogger("arena.host")


class Health:
    """What is wrong now, by where it is wrong. A line is logged when something is, and when nothing is any more."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._troubles: dict[str, str] = {}
        self._since = 0.0

    @property
    def reason(self) -> str | None:
        """In a line, why nothing new begins; None when all is well."""
        return next(iter(self._troubles.values()), None)

    @property
    def places(self) -> Collection[str]:
        """Where something is wrong: `store`, `seeks`, and the ids of matches that can't be recorded."""
        return self._troubles.keys()

    def tell(self, where: str, reason: str | None) -> None:
        """Something is wrong at a place, or, with None, no longer is."""
        if reason is not None:
            if not self._troubles:
                self._since = self._clock()
                log.error("new matches paused; retrying every second: %s", reason)
            self._troubles[where] = reason
        elif self._troubles.pop(where, None) is not None and not self._troubles:
            log.warning("play goes on after %.1f s", self._clock() - self._since)


class MatchHost:
    """Has matches played between those who connect, for its `handler`: `restore` those of the journal, and have the
    `listener` take connections.

    `disconnect` leaves matches under way in the journal; `drain` waits until those that are over are kept. `operate`
    serves the connections of operators, whom `access` lets in. Moves are measured where there are `meters`.
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
        """Whether a `hello` is answered."""
        self._answers.set()
        self._unanswered: dict[Connection, float] = {}
        """Who said `hello` and waits for the answer, since when; the first comes first."""
        self._plies: Counter[str] = Counter()
        """By game, those of matches that are over."""
        self.spectators = 0
        """Clients that are no bots."""
        self._finalizing = Tasks()
        self._weighing = Tasks()

    def before_frames(self, look: Callable[[], None]) -> None:
        """Have `look` called before anything is recorded or sent, in each turn of the event loop that has something."""

        def commit() -> None:
            look()
            self.recorder.commit()

        self.listener.flusher.before = commit

    def plies(self) -> Counter[str]:
        """How many plies were played since the start, by game."""
        plies = Counter(self._plies)
        for runner in self.clients.runners.values():
            if not runner.is_over:
                plies[runner.game] += runner.played
        return plies

    def restore(self) -> asyncio.Task[int]:
        """Go on with the matches of the journal: how many there are. Until all are back no `hello` is answered."""
        self._answers.clear()
        self._recovery = asyncio.create_task(self._restore())
        self._weighing.begin(weigh_journals(self.clients.runners, self.quotas))
        return self._recovery

    def begin(self, header: Header, seed: bytes, seeks: Sequence[str | None] = (), absent: Sequence[int] = ()) -> None:
        """Start a match; the seats that are `absent` have lost it, and if all are it is void.

        Raises `ArenaFault`; then there is no match.
        """
        journal = self._journal.begin(header.match)
        players = self._handler.players(header)
        match = Match(header, seed, players, seeks, journal.events_before, self._timeouts.match)
        runner = self._add(match, journal)
        try:
            runner.open(partial(self._handler.before_start, header, seed), partial(self._take_back, runner))
        except ArenaFault:
            self._remove(runner)
            raise
        self.events.begun(header)
        for event in [Voided()] if len(absent) == len(header.seats) else map(Absent, absent):
            runner.receive(event)

    def _take_back(self, runner: Runner, fault: Fault) -> None:
        """Have a match not begin of which nobody was told; the seats may seek another one."""
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
        """Take no more connections, and close those there are with `code`."""
        if self._recovery is not None:
            self._recovery.cancel()
        for weighing in self._weighing:
            weighing.cancel()
        self.clients.close()
        self.recorder.close()
        await self.listener.close(code, "the arena stops")

    async def drain(self) -> None:
        """Return when all that is over is kept."""
        await self._finalizing.wait()
        await self.events.close()
        self._journal.close()

    async def _serve(self, connection: Connection, codec: Codec) -> None:
        """One connection, from its `hello` to its end."""
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
        """The session of a client that said who it is in time, and was welcomed. None: refused, and told why."""
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
        """The session of a client that said this first, as `_admit` has it."""
        if not self._answers.is_set():
            await until_first(self._answers.wait(), connection.wait_closed())
            if connection.gone:  # it may be back on another connection, which this one must not replace
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
        """Why nobody should be sent here now: no match begins, or bots wait to be let in; None when all is well."""
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
        except Fault as fault:  # the arena is closing: the match is told when it is stored, after the next start
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
    """The `hello` that a first frame has to be."""
    hello = codec.decode_client(frame)
    if not isinstance(hello, Hello):
        raise MalformedMessage(f"{type(hello).__name__.lower()}: the first message of a connection is hello")
    return hello


def _refuse(connection: Connection, codec: Codec, fault: BotFault, close_code: int) -> None:
    """Tell the client why, and close."""
    connection.push(codec.encode(Error(code=fault.code, message=str(fault), fatal=True)))
    connection.drop(close_code, fault.code)


async def recovered(
    journal: Journal, handler: HostHandler, timeouts: MatchTimeouts | None = None
) -> list[tuple[Match, Recalled, MatchJournal]]:
    """All matches that go on, as the handler decides, where their journals left them: refereed again in a thread, while
    the loop goes on. What can't be read is left as it is.
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
