"""Hosts for tournament matches, and the pool of hosts of a worker process.

A host starts the bots as processes and plays one match at a time. Idle hosts are kept for the next matches.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hmac
import json
import logging
import os
import secrets
import shutil
import signal
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine, Iterator, Sequence
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from arena.host.handler import AuthFailed, FinishedMatch, HostHandler, Identity, NotAllowed
from arena.host.host import MatchHost
from arena.host.journal import Journal
from arena.host.runner import MatchRunner
from arena.host.session import ClientSession
from arena.host.timeouts import HostTimeouts
from arena.network.admission import Access
from arena.network.connection_limits import ConnectionBounds
from arena.processes.launch_spec import LaunchSpec, allowed_environment
from arena.processes.process import BotCrashed, BotProcess, Crash, ProgramNotFound
from arena.ratings.tournament_pairing import Pairing
from arena.runs.contestants import Contestant
from arena.runs.job import MAX_LOG_BYTES, Aborted, BotOutput, MatchJob, MatchReport
from arena.store.incident import Incident
from machine import event_loop
from machine.subprocesses import keep_private
from machine.timeouts import scale_timeouts
from machine.timestamps import utc_now
from protocol import bot_launch
from protocol.close_codes import GOING_AWAY
from protocol.errors import ArenaFault, Fault, os_errors_as
from protocol.messages import ClientMessage, Hello, Unseek, Unseeked
from protocol.reasons import DISCONNECTED, NO_SHOW, VOID
from referee.effects import NoShow
from referee.footer import ClosedMatch

HOST = "127.0.0.1"
"""The address on which a host listens for its bots."""
SHUTDOWN_TIMEOUT_S = 2.0
"""Seconds that a bot has to exit by itself when there are no more matches."""
MAX_CRASHES = 3
"""The number of crashes in a row after which a bot is not started again. A bot is not started again either after it was
killed this many times in total because it was not connected.

A match for which the bot appeared sets the count of crashes to 0. In a `strict` job, a match that the bot lost by
disconnecting leaves the count as it is.
"""
MAX_REPORTED_REASONS = 5
"""Maximum number of different reasons for crashes of one bot that are reported, unless the job is `strict`."""
RECONNECT_TIMEOUT_S = 30.0
"""Seconds in which a bot that lost its connection must connect again."""
IDLE_TIMEOUT_S = 60.0
"""Seconds without a match after which a host on a cluster is closed, because the command may be gone."""

T = TypeVar("T")

log = logging.getLogger("arena.tournament")


class TournamentHost(HostHandler):
    """A host for the matches of a job: call `open`, then `play` for each match, then `close`.

    The first match starts all bots. Their logs are in `folder`, which no other host uses. A bot that keeps a match
    waiting for `connect_timeout_s` seconds is killed. The constructor raises `ArenaFault` if a folder cannot be made.
    """

    def __init__(self, job: MatchJob, folder: Path) -> None:
        self._job = job
        self._folder = folder
        self._scratch = folder / "journal"
        shutil.rmtree(self._scratch, ignore_errors=True)  # left by a host that was killed
        with os_errors_as(ArenaFault, f"the folder {self._scratch} can't be made"):
            self._scratch.mkdir(mode=0o700)
        self._tokens = {name: secrets.token_hex(32) for name in job.plan.names}
        self._port = 0
        self._bots: dict[str, BotProcess] = {}
        self._changed = asyncio.Event()
        self._finished: asyncio.Future[ClosedMatch] | None = None
        self._failure: BaseException | None = None
        self._restarts = event_loop.BackgroundTasks()
        self._notes: list[str] = []
        self._incidents: list[tuple[str, Incident]] = []
        self._reported_bytes: Counter[str] = Counter()
        """Number of bytes of each bot's log that have been reported."""
        self._host = MatchHost(
            self, Journal(self._scratch), _connection_limits(len(self._tokens)), timeouts=scale_timeouts(HostTimeouts())
        )
        self._forfeiting: dict[str, str] = {}
        """The bots that forfeit all their matches from now on, each with the reason."""
        self._failing: dict[str, str] = {}
        """The bots whose processes failed in the current match, each with the reason."""
        self._reported_reasons: defaultdict[str, set[str]] = defaultdict(set)
        self._started_at: dict[str, float] = {}
        """The time at which each bot was started. A bot is left out as soon as it has connected."""
        self._last_first_connection_at = 0.0
        """The time of the latest first connection of a bot."""
        self._seen: set[str] = set()
        self._away_count: Counter[str] = Counter()
        """The number of times that each bot was killed because it was disconnected or did not connect."""
        self._current_match = ""
        """The id of the current match or, between matches, of the last one."""
        self.matches_played = 0
        """Number of matches played."""

    @property
    def is_usable(self) -> bool:
        """True if this host can play another match: it has not failed, and its last match is finished."""
        return self._failure is None and self._finished is None

    async def open(self) -> None:
        """Listen on a free port. Raise `ArenaFault` if that fails."""
        self._port = await self._host.listener.listen(HOST, 0)

    async def play(self, pairing: Pairing) -> MatchReport | Aborted:
        """Play a match and return its report; if no more matches can be played, return the reason."""
        try:
            await self._wait_for_bots(pairing.seats)
            self._finished = asyncio.get_running_loop().create_future()
            header, seed = self._job.plan.header_of(pairing, utc_now(), self._host.clients.version_of)
            self._current_match = header.match
            out = [seat for seat, name in enumerate(pairing.seats) if name in self._forfeiting]
            self._host.start_match(header, seed, absent=out)  # the seats of these bots have lost
            closed = await self._finished
        except Fault as fault:
            self._failure = self._failure or fault
            return Aborted(fault, self._new_output())
        self._finished = None
        self.matches_played += 1
        missed = (DISCONNECTED, NO_SHOW) if self._job.strict else (NO_SHOW,)
        for seat in closed.result.seats:
            if seat.reason not in missed:
                self._bots[seat.bot].reset_crashes()
        notes, self._notes = tuple(self._notes), []
        incidents, self._incidents = tuple(self._incidents), []
        return MatchReport(closed, None, self._failures(closed), notes, incidents, self._new_output())

    def _failures(self, closed: ClosedMatch) -> dict[int, str]:
        failed = self._failing | self._forfeiting
        self._failing = {}
        return {
            number: failed[seat.bot]
            for number, seat in enumerate(closed.result.seats)
            if seat.bot in failed and (seat.reason in (DISCONNECTED, NO_SHOW, VOID))
        } | {**closed.failures}

    async def close(self) -> list[BaseException]:
        """Stop the host, its match and every bot. Return the errors that occur."""
        self._fail(ArenaFault("the table is closed"))
        # Absent bots would not hear that the arena closes, so they get no time to exit.
        patience = {name: SHUTDOWN_TIMEOUT_S if self._host.clients.is_online(name) else 0.0 for name in self._bots}
        stopping = [bot.stop(patience[name]) for name, bot in self._bots.items()]
        ended = await asyncio.gather(self._host.disconnect(GOING_AWAY), *stopping, return_exceptions=True)
        await self._host.drain()
        shutil.rmtree(self._scratch, ignore_errors=True)
        return [fault for fault in ended if fault is not None]

    async def _wait_for_bots(self, names: Sequence[str]) -> None:
        """Wait until these bots are connected and free.

        Before the first match, start all bots, to notice at once if a bot cannot start.
        """
        if not self._bots:
            for number, contestant in enumerate(self._job.plan.contestants):
                self._raise_failure()  # a bot started after `close` would never be stopped
                name, order = contestant.name, self._launch_spec(contestant, number)
                listen = partial(self._host.listener.add_socket, address=name)
                bot = BotProcess(name, order, self._folder / f"{name}.log", self._on_crash, listen)
                self._bots[name] = bot
                await self._start_bot(bot)
        since = asyncio.get_running_loop().time()
        while missing := [
            name for name in names if name not in self._forfeiting and self._host.clients.free_slots_of(name) < 1
        ]:
            self._raise_failure()
            self._changed.clear()
            try:
                async with asyncio.timeout_at(min(self._deadline(name, since) for name in missing)):
                    await self._changed.wait()
            except TimeoutError:
                self._kill_absent(missing, since)
        self._raise_failure()

    def _deadline(self, name: str, since: float) -> float:
        """Return the time at which a missing bot is killed. A match has waited for the bot since the time `since`."""
        started = self._started_at.get(name)
        if started is None:
            return since + min(RECONNECT_TIMEOUT_S, self._job.connect_timeout_s)
        return max(started, self._last_first_connection_at) + self._job.connect_timeout_s

    def on_connected(self, session: ClientSession) -> None:
        self._slot_freed()

    def _slot_freed(self) -> None:
        """Wake the match that waits for bots: a bot has connected, or has dropped out of a match and is free."""
        for name in [name for name in self._started_at if self._host.clients.is_online(name)]:
            del self._started_at[name]
            if name not in self._seen:
                self._seen.add(name)
                self._last_first_connection_at = asyncio.get_running_loop().time()
        self._changed.set()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    async def _start_bot(self, bot: BotProcess) -> None:
        """Start a bot. If its program is missing and the job is not strict, the bot forfeits its matches."""
        self._started_at[bot.name] = asyncio.get_running_loop().time()
        try:
            await bot.start()
        except ProgramNotFound as fault:
            if self._job.strict:
                raise
            self._exclude_bot(bot.name, str(fault).removeprefix(f"{bot.name} "), str(fault))

    def _launch_spec(self, contestant: Contestant, number: int) -> LaunchSpec:
        """Return how to launch a bot. Reference bots run outside the sandbox, because they are code of this project."""
        plan, around, token = self._job.plan, self._job.environment, self._tokens[contestant.name]
        environment = {
            **({} if self._job.sources is None else allowed_environment(os.environ)),
            **around.variables,
            bot_launch.URL_VARIABLE: f"ws://{HOST}:{self._port}",
            bot_launch.TOKEN_FD_VARIABLE: "0",
            bot_launch.BOT_VARIABLE: contestant.name,
            bot_launch.GAME_VARIABLE: plan.rules.name,
            bot_launch.CONFIG_VARIABLE: json.dumps(plan.rules.config),
            bot_launch.SEED_VARIABLE: plan.bot_seed(contestant.name),
            bot_launch.ASSIGNED_MATCHES_VARIABLE: "1",
        }
        if contestant.reference:
            command = (sys.executable, *contestant.command[1:])
            return LaunchSpec(command=command, environment=environment, token=token)
        if around.sandbox is not None:
            return around.sandbox.launch_spec(contestant, number, environment, token)
        return LaunchSpec(command=contestant.command, environment=environment, token=token)

    def _kill_absent(self, missing: Sequence[str], since: float) -> None:
        now = asyncio.get_running_loop().time()
        for name in missing:
            if now < self._deadline(name, since):
                continue
            away = name not in self._started_at
            within = self._job.connect_timeout_s
            why = (
                f"was disconnected for {min(RECONNECT_TIMEOUT_S, within):g} s"
                if away
                else f"did not connect within {within:g} s"
            )
            self._away_count[name] += self._bots[name].kill_as_crash(f"{why} and was killed")
            self._started_at[name] = now  # the next process gets the full time again

    async def authenticate(self, hello: Hello, address: str) -> Identity:
        """Accept only the tournament's bots, each with its own token, and spectators."""
        if hello.bot is None:
            return Identity(None)
        token = self._tokens.get(hello.bot)
        if token is None or hello.token is None or not hmac.compare_digest(token.encode(), hello.token.encode()):
            raise AuthFailed(f"{hello.bot} is not one of this tournament's bots, or that is not its token")
        return Identity(hello.bot)

    def handle_message(self, session: ClientSession, message: ClientMessage) -> None:
        """Answer the withdrawal of a seek, and reject any other message: the tournament assigns matches."""
        if isinstance(message, Unseek):
            session.send(Unseeked(id=message.id))
        else:
            raise NotAllowed("seek: this server assigns matches: wait for start")

    def on_seat_released(self, runner: MatchRunner, seat: int) -> None:
        self._slot_freed()

    async def finalize(self, match: FinishedMatch) -> None:
        """Send the result to all clients, and complete the record for `play`.

        The result has no ratings, because these may depend on other matches.
        """
        match.send_end(None)
        try:
            closed = match.close_record()
        except ArenaFault as fault:
            self._fail(fault)
            raise
        if self._finished is not None and not self._finished.done():
            self._finished.set_result(closed)
        match.remove_journal()

    async def record_incident(self, bot: str, incident: Incident) -> None:
        self._incidents.append((bot, incident))

    def _on_crash(self, bot: BotProcess, crash: Crash) -> None:
        told = str(crash)
        if self._job.sources is not None:  # name the log by its path on the command's machine
            told = told.replace(str(self._folder), str(self._job.logs))
        self._failing[bot.name] = crash.why
        if max(bot.crashes, self._away_count[bot.name]) >= MAX_CRASHES or bot.name not in self._seen:
            if self._job.strict:
                self._fail(BotCrashed(told))
            else:
                self._exclude_bot(bot.name, crash.why, told)
            return
        before = self._reported_reasons[bot.name]
        if self._job.strict or (crash.why not in before and len(before) < MAX_REPORTED_REASONS):
            before.add(crash.why)
            self._notes.append(told)
        self._host.clients.forfeit_matches(bot.name)
        self._restarts.start(self._restart(bot))

    def _exclude_bot(self, name: str, why: str, note: str) -> None:
        self._forfeiting[name] = why
        self._notes.append(f"{note}\n{name} forfeits its matches here from now on")
        runner = self._host.clients.runners.get(self._current_match)
        if runner is not None and name in runner.bots:
            runner.receive(NoShow(runner.bots.index(name)))
        self._changed.set()

    def _new_output(self) -> BotOutput:
        """Return what bots wrote to their logs since the last report. If the command reads the logs, return nothing."""
        if self._job.sources is None:
            return ()
        words = []
        for name, bot in self._bots.items():
            with contextlib.suppress(OSError), bot.log.open("rb") as file:
                end = file.seek(0, os.SEEK_END)
                file.seek(max(self._reported_bytes[name], end - MAX_LOG_BYTES))
                self._reported_bytes[name] = end
                words.append((name, file.read()))
        return tuple((name, text) for name, text in words if text)

    async def _restart(self, bot: BotProcess) -> None:
        try:
            await self._start_bot(bot)
        except ArenaFault as fault:
            self._fail(fault)

    def _fail(self, fault: BaseException) -> None:
        self._failure = self._failure or fault
        self._changed.set()
        if self._finished is not None and not self._finished.done():
            self._finished.set_exception(self._failure)


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


class TournamentHostPool:
    """The hosts of a process, on an event loop in its own thread."""

    def __init__(self) -> None:
        keep_private()
        event_loop.relax_gc()
        self._loop = event_loop.new_event_loop()
        self._open: dict[TournamentHost, tuple[str, contextlib.ExitStack]] = {}
        """The hosts that are open. The values are the key of the run that a host serves, and the exit stack that
        unlocks the host's folder.
        """
        self._free: list[TournamentHost] = []
        """The hosts that no caller has reserved."""
        self._closing = event_loop.BackgroundTasks()
        threading.Thread(target=self._loop.run_forever, name="hosts", daemon=True).start()
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, self._on_sigterm)

    @contextlib.contextmanager
    def reserve_host(self, job: MatchJob) -> Iterator[Callable[[Pairing], MatchReport | Aborted]]:
        """Yield a function that plays a match on a host, which is reserved for the caller."""
        host = self._run(self._acquire(job))
        try:
            yield lambda match: self._run(host.play(match))
        finally:
            self._run(self._release(job, host))

    def close_run(self, key: str | None = None) -> None:
        """Close the hosts of a tournament's run, or all hosts if `key` is None, even during a match."""
        self._run(self._close_run(key))

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _acquire(self, job: MatchJob) -> TournamentHost:
        for host in self._free:
            if self._open[host][0] == job.key:
                self._free.remove(host)
                return host
        with contextlib.ExitStack() as held:
            folder = held.enter_context(_lock_log_folder(job.logs) if job.sources is None else _temporary_folder())
            host = TournamentHost(job, folder)
            self._open[host] = job.key, held.pop_all()
        try:
            await host.open()
        except BaseException:
            await self._close(host)
            raise
        return host

    async def _release(self, job: MatchJob, host: TournamentHost) -> None:
        if not host.is_usable:
            await self._close(host)
            return
        self._free.append(host)
        if job.sources is not None:
            self._loop.call_later(IDLE_TIMEOUT_S, self._close_idle, host, host.matches_played)

    def _close_idle(self, host: TournamentHost, played: int) -> None:
        """Close a host if it is free and has played no match since this call was scheduled, when it had played `played`
        matches.
        """
        if host.matches_played == played and host in self._free:
            self._closing.start(self._close(host))

    async def _close_run(self, key: str | None) -> None:
        await asyncio.gather(*(self._close(host) for host, (run, _) in list(self._open.items()) if key in (None, run)))

    async def _close(self, host: TournamentHost) -> None:
        _, folder = self._open.pop(host, (None, None))
        if folder is None:
            return
        if host in self._free:
            self._free.remove(host)
        for fault in await host.close():
            log.error("a host did not close as it should: %s", fault)
        folder.close()

    def _on_sigterm(self, number: int, frame: object) -> NoReturn:
        with contextlib.suppress(BaseException):
            self.close_run()
        os._exit(128 + number)


@contextlib.contextmanager
def _lock_log_folder(logs: Path) -> Iterator[Path]:
    """Lock and yield `logs` or, if another host has locked it, the first of its subfolders 2, 3, … that is free."""
    for number in count(1):
        folder = logs if number == 1 else logs / str(number)
        with os_errors_as(ArenaFault, f"the folder of logs {folder} can't be made"):
            folder.mkdir(parents=True, exist_ok=True)
            lock = os.open(folder, os.O_RDONLY)
        with contextlib.ExitStack() as held:
            held.callback(os.close, lock)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            yield folder
            return


@contextlib.contextmanager
def _temporary_folder() -> Iterator[Path]:
    with os_errors_as(ArenaFault, f"no folder for logs can be made in {tempfile.gettempdir()}"):
        folder = tempfile.TemporaryDirectory(prefix="arena-", ignore_cleanup_errors=True)
    with folder as path:
        yield Path(path)


@cache
def host_pool() -> TournamentHostPool:
    """Return this process's hosts for tournament matches, which are made at the first call."""
    return TournamentHostPool()
