"""A host of matches: connections, sessions, runners and journals behind one WebSocket server."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from arena.host.actions import ClientActions
from arena.host.broadcast import Broadcaster
from arena.host.client_registry import ClientRegistry
from arena.host.event_log import EventLog
from arena.host.game_watch import GameLimits
from arena.host.handler import HostHandler, TooOften, Unavailable
from arena.host.journal import Journal, JournalFault, MatchJournal
from arena.host.journal_weights import enforce_disk_quota
from arena.host.meters import MeasuredRunner, Meters
from arena.host.quotas import QuotaLimits, Quotas
from arena.host.recorder import Recorder
from arena.host.rules_supervisor import RulesSupervisor, closed_message
from arena.host.runner import MatchRunner
from arena.host.session import ClientSession
from arena.host.timeouts import HostTimeouts
from arena.host.work_queue import WorkQueue
from arena.network.admission import Access, Admission
from arena.network.connection import Connection
from arena.network.listener import Listener
from arena.network.tls import Encryption
from arena.store.health import Health
from arena.store.stored_match import StoredMatch
from machine.event_loop import BackgroundTasks, run_until_first
from machine.log_output import log_fields
from machine.timestamps import utc_now
from protocol.close_codes import NO_HELLO, NOT_AUTHENTICATED, RESTARTING, TOO_MANY_CONNECTIONS
from protocol.codec import Codec, Frame
from protocol.error_codes import UNAVAILABLE
from protocol.errors import ArenaFault, BadRecord, BotFault, Fault, MalformedMessage
from protocol.games import offered_game_names
from protocol.games.isolated import IsolatedGame
from protocol.messages import MAX_CLIENT_FRAME_BYTES, MAX_STRIKES, Error, Hello, Limits, Welcome
from referee.effects import Abort, NoShow
from referee.match import Match, MatchTimeouts
from referee.record import Header, Secret, describe_other_rules, describe_rules, rules_digest, stamp_of
from referee.replay import JournalSummary

NO_HELLO_LABEL = "no_hello"
"""The code that metrics show for clients that sent no `hello` in time. The protocol has no error code for them."""
UNSTORED_MESSAGE = "the arena can't store the result of this match at present: it sends `end` as soon as it can"
"""The message to the seats of a finished match whose result is not stored for a while."""

log = logging.getLogger("arena.host")


class MatchHost:
    """Runs matches between connected clients, on behalf of its `handler`.

    `restore` resumes the matches in the journal, and `listener` accepts connections. `disconnect` leaves running
    matches in the journal. `drain` waits until finished matches are stored. `serve_operator` serves the connections of
    operators, whom `access` admits. `check_stall` is called before lines are recorded and before each write to a
    client. With `meters`, the time that moves take is measured. With `game_limits`, games that are not built in are
    closed if their rules hold up the event loop. If the host also `isolates_games`, their rules run in processes.
    """

    def __init__(
        self,
        handler: HostHandler,
        journal: Journal,
        access: Access | None = None,
        encryption: Encryption | None = None,
        serve_operator: Callable[[Connection], Awaitable[None]] | None = None,
        quotas: Quotas | None = None,
        meters: Meters | None = None,
        timeouts: HostTimeouts | None = None,
        work_clock: Callable[[], float] = time.perf_counter,
        check_stall: Callable[[], None] | None = None,
        health: Health | None = None,
        game_limits: GameLimits | None = None,
        *,
        isolates_games: bool = False,
    ) -> None:
        self._handler = handler
        self._check_stall = check_stall
        self._timeouts = timeouts or HostTimeouts()
        self._make_runner: Callable[..., MatchRunner] = (
            MatchRunner if meters is None else partial(MeasuredRunner, meters)
        )
        self.quotas = quotas or Quotas(QuotaLimits())
        self._journal = journal
        self._clock = asyncio.get_running_loop().time
        self.health = health or Health()
        self.events = EventLog(handler.record_incident)
        self._broadcaster = Broadcaster()
        self.clients = ClientRegistry(handler, self.quotas, self._broadcaster)
        self._actions = ClientActions(self.clients)
        self.listener = Listener(
            self._serve,
            Admission(access or Access(), self.events.log_refused),
            encryption,
            self.unready_reason,
            serve_operator,
            self._timeouts.network,
            work_clock,
            self._before_flush,
            check_stall,
        )
        self._due_queue = WorkQueue()
        self.rules = RulesSupervisor(self._close_game, game_limits, is_isolating=isolates_games)
        self.recorder = Recorder(self.listener.flusher.schedule_flush, journal.log)
        self._recovery: asyncio.Task[int] | None = None
        self._is_answering = asyncio.Event()
        """The event that is set while `hello` messages are answered."""
        self._is_answering.set()
        self._waiting_since: dict[Connection, float] = {}
        """The clients that wait for an answer to their `hello`, each with its time of arrival, oldest first."""
        self._finished_plies: Counter[str] = Counter()
        """The number of plies of finished matches, by game."""
        self.spectator_count = 0
        """The number of connected spectators."""
        self._concluding = BackgroundTasks()
        self._weighing = BackgroundTasks()

    def _before_flush(self) -> None:
        if self._check_stall is not None:
            self._check_stall()
        self.recorder.commit()

    def count_plies(self) -> Counter[str]:
        """Return the number of plies played since this host started, by game."""
        plies = Counter(self._finished_plies)
        for runner in self.clients.runners.values():
            if not runner.is_over:
                plies[runner.game] += runner.plies_played
        return plies

    def restore(self) -> asyncio.Task[int]:
        """Return a task that resumes the matches in the journal, and returns how many it resumed. Until it is done, no
        `hello` is answered.
        """
        self._is_answering.clear()
        self._recovery = asyncio.create_task(self._restore())
        self._weighing.start(enforce_disk_quota(self.clients.runners, self.quotas))
        return self._recovery

    def start_match(
        self, header: Header, seed: bytes, seeks: Sequence[str | None] = (), absent: Sequence[int] = ()
    ) -> None:
        """Start a match. The `absent` seats lose at once; if all seats are absent, the match is void.

        Raise `ArenaFault` if the match can't start, `RulesFault` if its rules fail.
        """
        game = self.rules.load_game(header.game, header.config)
        journal = self._journal.create(header.match)
        players = self._handler.players_of(header)
        match = Match(header, seed, players, seeks, journal.read_events_before, self._timeouts.match, game)
        runner = self._add_match(match, journal)
        try:
            runner.start(
                partial(self._handler.prepare_start, header, seed),
                partial(self._take_back, runner),
                partial(self._note_begun, header),
            )
        except ArenaFault:
            self._remove(runner)
            raise
        for event in [Abort()] if len(absent) == len(header.seats) else map(NoShow, absent):
            runner.receive(event)

    def _close_game(self, game: str, why: str) -> None:
        """Call off the matches of a game that is closed."""
        self._handler.on_game_closed(game, closed_message(game, why))
        for runner in [runner for runner in self.clients.runners.values() if runner.game == game]:
            if not runner.is_decided:
                runner.call_off(f"{game} is closed on this server, because {why}")

    def _note_begun(self, header: Header) -> None:
        self.events.log_begun(header)
        self._handler.begun(header.match)

    def _take_back(self, runner: MatchRunner, fault: Fault) -> None:
        """Remove a match that can't begin, before any seat was notified of it. The seats get an error, so that they can
        seek again.
        """
        log.warning("match %s can't begin: %s", runner.id, fault, extra=log_fields(match=runner.id))
        self._remove(runner)
        self._handler.not_begun(runner.id, fault)
        runner.refuse(str(fault))

    def _remove(self, runner: MatchRunner) -> None:
        """Remove a match that did not begin, with its journal."""
        runner.stop()
        self.clients.remove_match(runner)
        with contextlib.suppress(JournalFault):
            self._journal.remove(runner.id)

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
        """Wait until all finished matches are stored, then close the journal."""
        await self._concluding.wait()
        await self.rules.close()
        await self.events.close()
        self._journal.close()

    async def _serve(self, connection: Connection, codec: Codec) -> None:
        session = await self._admit(connection, codec)
        if session is None:
            return
        self.spectator_count += session.bot is None
        try:
            await connection.deliver_messages(session)
        finally:
            self.spectator_count -= session.bot is None
            self.clients.remove_session(session)
            if session.bot is not None:
                playing = len(self.clients.matches_of(session.bot))
                self.events.log_disconnected(
                    session.bot, connection.address, connection.close_info, session.last_fault, playing
                )

    async def _admit(self, connection: Connection, codec: Codec) -> ClientSession | None:
        """Return the session of a client that sent a `hello` in time. Return None if the client was refused."""
        try:
            async with asyncio.timeout(self._timeouts.network.hello_timeout_s):
                frame = await connection.receive_first()
        except TimeoutError:
            self.events.log_refused(connection.address, "no hello in time", code=NO_HELLO_LABEL)
            connection.start_close(NO_HELLO, "no hello in time")
            return None
        if frame is None:
            return None
        connection.slot.end_waiting()
        self._waiting_since[connection] = self._clock()
        try:
            return await self._answer(connection, codec, frame)
        finally:
            del self._waiting_since[connection]

    async def _answer(self, connection: Connection, codec: Codec, frame: Frame) -> ClientSession | None:
        """Answer a client's first frame with `welcome` or an error. Return its session, or None if it was refused."""
        if not self._is_answering.is_set():
            await run_until_first(self._is_answering.wait(), connection.wait_closed())
            if connection.is_gone:  # the client may have reconnected, and must keep its newer connection
                return None
        hello = None
        try:
            hello = _decode_hello(codec, frame)
            identity = await self._handler.authenticate(hello, connection.address)
        except BotFault as fault:
            self.events.log_refused(
                connection.address, str(fault), None if hello is None else hello.bot, code=fault.code
            )
            if isinstance(fault, TooOften):
                close_code = TOO_MANY_CONNECTIONS
            else:
                close_code = NO_HELLO if isinstance(fault, MalformedMessage) else NOT_AUTHENTICATED
            _refuse(connection, codec, fault, close_code)
            return None
        except ArenaFault as fault:
            named = {} if hello is None or hello.bot is None else {"bot": hello.bot}
            log.error("%s can't log in: %s", named.get("bot", "a client"), fault, extra=log_fields(**named))
            later = Unavailable("hello: the arena can't look up bots at present: connect again later")
            _refuse(connection, codec, later, RESTARTING)
            return None
        bot = identity.bot
        session = ClientSession(
            connection,
            codec,
            hello,
            bot,
            self._actions,
            identity.token_hash,
            is_person=identity.person,
            display=identity.display,
        )
        resumed = self.clients.add_session(session) if bot is not None else []
        limits = Limits(max_message=MAX_CLIENT_FRAME_BYTES, strikes=MAX_STRIKES, slots=hello.slots)
        session.send(
            Welcome(
                bot=bot,
                token=identity.token,
                person=identity.person,
                games=list(offered_game_names()),
                limits=limits,
                resumed=resumed,
                url=self._handler.url,
                nodes=self._handler.other_hosts(),
                elsewhere=list(identity.elsewhere),
            )
        )
        if bot is not None:
            self.events.log_connected(bot, hello.version, hello.client, connection.address)
            self.clients.restore_seats(session)
        return session

    def unready_reason(self) -> str | None:
        """Return why clients should not connect now, or None if they may: matches can't start, or clients wait too long
        for admission.
        """
        reason = self.health.reason or self._handler.unready_reason()
        if reason is None and not self._is_answering.is_set():
            reason = "the matches of the journal are read"
        if reason is not None or not self._waiting_since:
            return reason
        waited = self._clock() - next(iter(self._waiting_since.values()))
        if waited < self._timeouts.slow_answer_delay_s:
            return None
        waiting = len(self._waiting_since)
        return f"new connections waiting to be admitted: {waiting}, the first for {waited:.0f} s: the database is slow"

    async def _restore(self) -> int:
        matches = await recover_matches(self._journal, self._handler, self._timeouts.match, self.rules)
        for match, recalled, journal in matches:
            self._add_match(match, journal).resume(recalled)
            await asyncio.sleep(0)
        self._is_answering.set()
        return len(matches)

    def _add_match(self, match: Match, journal: MatchJournal) -> MatchRunner:
        runner = self._make_runner(
            match,
            journal,
            self.recorder,
            self._on_finished,
            self.clients.release_seat,
            self.health,
            self._broadcaster,
            self._due_queue,
            self.quotas.limits.match_bytes,
            self._timeouts.record_retry_delay_s,
            self.rules.on_rules_fault,
            self.rules.fetch_answers,
        )
        self.clients.add_match(runner)
        self._handler.on_match_added(runner)
        return runner

    def _on_finished(self, runner: MatchRunner) -> None:
        self._finished_plies[runner.game] += runner.plies_played
        self._concluding.start(self._conclude(runner))

    async def _conclude(self, runner: MatchRunner) -> None:
        """Have a finished match stored, then do what follows. If storing takes long, notify the seats."""
        match = runner.finished_match(utc_now())
        parts = self.quotas.split_bytes(runner.id, runner.journal_bytes, runner.info_bytes)
        runner.stop()
        self.events.log_ended(match.result, match.failures)
        notice = Error(code=UNAVAILABLE, message=UNSTORED_MESSAGE, ref=runner.id)
        notice_timer = asyncio.get_running_loop().call_later(
            self._timeouts.unstored_notice_delay_s, runner.announce, notice
        )
        try:
            stored = await self._handler.store_match(match)
        except Fault as fault:  # the arena is closing: the end is sent after the next start, when it is stored
            text = "the result of match %s can't be stored and stays in the journal: %s"
            log.error(text, runner.id, fault, extra=log_fields(match=runner.id))
        except Exception:  # a restart would give the same result, so the bots get their slots back
            text = "the result of match %s can't be stored and stays in the journal"
            log.exception(text, runner.id, extra=log_fields(match=runner.id))
            self._end_match(runner, StoredMatch())
        else:
            self._remove_journal(runner.id)
            self._end_match(runner, stored)
            self.quotas.charge_record(parts, stored.record_bytes)
        finally:
            notice_timer.cancel()
            runner.close()

    def _remove_journal(self, match: str) -> None:
        """Remove the journal of a stored match. If that fails, the next start removes it."""
        try:
            self._journal.remove(match)
        except JournalFault as fault:
            log.error("match %s is stored, but %s", match, fault, extra=log_fields(match=match))

    def _end_match(self, runner: MatchRunner, stored: StoredMatch) -> None:
        """Give the bots their slots back, and send `end` to the seats and the spectators."""
        self.clients.remove_match(runner)
        runner.send_end(stored.ratings)


def _decode_hello(codec: Codec, frame: Frame) -> Hello:
    hello = codec.decode_client(frame)
    if not isinstance(hello, Hello):
        raise MalformedMessage(f"{type(hello).__name__.lower()}: the first message of a connection is hello")
    return hello


def _refuse(connection: Connection, codec: Codec, fault: BotFault, close_code: int) -> None:
    connection.send_frame(codec.encode(Error(code=fault.code, message=str(fault), fatal=True)))
    connection.start_close(close_code, fault.code)


async def recover_matches(
    journal: Journal, handler: HostHandler, timeouts: MatchTimeouts, rules: RulesSupervisor
) -> list[tuple[Match, JournalSummary, MatchJournal]]:
    """Return the matches in the journal that the handler wants to resume, in the state in which they stopped.

    Each match is replayed in a thread while the event loop continues, except those whose rules `rules` supervises here.
    Journals that can't be read stay unchanged.
    """
    found: list[tuple[Match, JournalSummary, MatchJournal]] = []
    try:
        for match in journal.list_matches():
            try:
                one = await _recover_match(match, journal, handler, timeouts, rules)
            except Fault as fault:
                text = "match %s can't be resumed, and its journal stays unchanged: %s"
                log.warning(text, match, fault, extra=log_fields(match=match))
            except Exception:  # one match must not keep the server from starting
                text = "match %s can't be resumed, and its journal stays unchanged"
                log.exception(text, match, extra=log_fields(match=match))
            else:
                found += [one] if one is not None else []
    except asyncio.CancelledError:
        for _, _, opened in found:
            opened.close()
        raise
    return found


async def _recover_match(
    match: str, journal: Journal, handler: HostHandler, timeouts: MatchTimeouts, rules: RulesSupervisor
) -> tuple[Match, JournalSummary, MatchJournal] | None:
    lines = await asyncio.to_thread(journal.read, match)
    if not lines or (len(lines) == 1 and isinstance(lines[0], Secret)):
        text = "match %s never began: its journal ends before the header, and is removed"
        log.warning(text, match, extra=log_fields(match=match))
        journal.remove(match)
        return None
    if len(lines) == 1 or not isinstance(lines[0], Secret) or not isinstance(lines[1], Header):
        raise BadRecord("it does not begin with a secret and a header")
    header, seed = lines[1], bytes.fromhex(lines[0].seed)
    if not await handler.should_resume(header, seed):
        journal.remove(match)
        return None
    if describe_other_rules(header):
        began_with = f"it began with other rules of {header.game} ({describe_rules(header.rules)})"
        raise BadRecord(f"{began_with} than are here ({describe_rules(stamp_of(header.game))})")
    opened = journal.reopen(match)
    try:
        if rules.must_prepare(header.game, header.config):
            await rules.prepare(header.game, header.config)
        game = rules.load_game(header.game, header.config, rules_digest(header))
        players, older = handler.players_of(header), opened.read_events_before
        played = Match(header, seed, players, older=older, timeouts=timeouts, game=game)
        if game is None:
            summary = await asyncio.to_thread(played.load_journal, lines[2:])
        elif isinstance(game, IsolatedGame):
            loop, ask = asyncio.get_running_loop(), partial(rules.fetch_answers, game)
            game.fetch = lambda question: asyncio.run_coroutine_threadsafe(ask(question), loop).result()
            summary = await asyncio.to_thread(played.load_journal, lines[2:])
            game.fetch = None
        else:  # in this thread, where calls of rules that do not return are interrupted
            summary = played.load_journal(lines[2:])
    except BaseException:
        opened.close()
        raise
    return played, summary, opened
