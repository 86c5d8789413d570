"""Follows the events of an arena: runs the hosted bots, and makes the checks and plays the matches of tournaments that
it is given.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from arena.operator.client import NoServer, NoServerAnswer, OperatorConnection, OperatorTimeouts, connect_to_url
from arena.operator.hosted_matches import MAX_REPORT_BYTES, MatchOrder, PlayMatch, ReportMatch, StopPlaying
from arena.operator.hosting import (
    MAX_PART_BYTES,
    CheckVersion,
    EndBot,
    FinishMatches,
    Joined,
    JoinFleet,
    LeaveFleet,
    ReadVersion,
    ReportBotEnded,
    ReportCheck,
    RunBot,
    RunnerEvent,
    SubmissionPart,
)
from arena.processes.process import StartKeeper, start_keeper
from arena.runner.box import Boxes
from arena.runner.check import CheckRecords, check_version
from arena.runner.hand_in import HAND_IN_INTERVAL_S, hand_in_logs, remove_old_logs, tidy_folders
from arena.runner.hosted_bot import run_hosted_bot
from arena.runner.kept_state import KeptStates
from arena.runner.load import report_load
from arena.runner.tournament_match import play_order
from arena.runner.version_cache import DiskFull, VersionCache, is_disk_full
from machine.backoff import Backoff
from machine.event_loop import background_task, wait_within
from machine.timeouts import scale_timeouts
from protocol.errors import ArenaFault, Fault, UsageFault
from protocol.names import fold_name

ORIGIN = "runner"
"""The origin of a runner's requests."""
FIRST_RECONNECT_DELAY_S, MAX_RECONNECT_DELAY_S = 0.5, 2.0
"""Delays before a runner connects again to an arena that is away: the first, which doubles up to the maximum. Matches
wait for 60 s after a restart of the arena.
"""
TIMEOUTS = OperatorTimeouts(ping_interval_s=2.0, pong_timeout_s=4.0)
"""The time limits of a runner's connection: as soon as the arena gives its bots to others, it knows that it is cut
off.
"""
NO_HOSTING_MESSAGE = (
    "the arena hosts no bots: start it with arena serve --hosting; nodes that share a database server can't host any"
)
"""The message about an arena that takes no runners."""
MIN_PART_BYTES = 16 * 1024
"""Bytes of the first part of a submission, and of each part on a slow link: 10 KB/s are enough for signs of life."""
TIDY_INTERVAL_S = 3600.0
"""Seconds between two looks for programs and logs that were not used for days."""
PART_TIME_S = 1.0
"""Seconds that a part of a submission should take at most."""

log = logging.getLogger("arena.runner")


async def run(
    url: str,
    token: str,
    slots: int,
    boxes: Boxes,
    folder: Path,
    client_url: str,
    start_keeper: StartKeeper,
    leave: asyncio.Event,
) -> None:
    """Run bots. Their clients, which `start_keeper` starts, connect to `client_url`. While the arena is away, no bot
    runs.

    Once `leave` is set, return when the bots have finished their matches under way and the checks have ended, or the
    connection has. `boxes` has a user for each slot, and one more for checks. Raise `TokenRefused` if the arena refuses
    the token.
    """
    backoff = Backoff(FIRST_RECONNECT_DELAY_S, MAX_RECONNECT_DELAY_S)
    while not leave.is_set():
        try:
            async with connect_to_url(url, token, ORIGIN, scale_timeouts(TIMEOUTS)) as connection:
                backoff.reset()
                async with (
                    _serve(connection, slots, boxes, folder, client_url, start_keeper) as session,
                    background_task(report_load(connection, session.wait_for_number)),
                ):
                    await session.work(leave)
        except (NoServer, NoServerAnswer) as fault:
            if leave.is_set():
                return
            wait = backoff.next_delay()
            log.warning("%s; trying again in %g s", fault, wait)
            await wait_within(leave.wait(), wait)


@asynccontextmanager
async def _serve(
    connection: OperatorConnection, slots: int, boxes: Boxes, folder: Path, client_url: str, start_keeper: StartKeeper
) -> AsyncIterator[RunnerSession]:
    session = RunnerSession(connection, slots, boxes, folder, client_url, start_keeper)
    try:
        async with background_task(session.keep_handing_in()), background_task(session.keep_tidy()):
            yield session
        await session.hand_in()
    finally:
        await session.close()


class RunnerSession:
    """The work of a runner as long as one connection lasts."""

    def __init__(
        self,
        connection: OperatorConnection,
        slots: int,
        boxes: Boxes,
        folder: Path,
        client_url: str,
        start_keeper: StartKeeper = start_keeper,
    ) -> None:
        self._connection = connection
        self._boxes = boxes
        self._client_url = client_url
        self._start_keeper = start_keeper
        self._folder = folder
        self._logs = folder / "logs"
        self._states = KeptStates(folder, connection.ask)
        tidy_folders(folder)
        self._handing_in = asyncio.Lock()
        self._delay_reason: str | None = None
        """The reason why the arena could not store logs or files at the last attempt; None if it could."""
        self._versions = VersionCache(folder / "versions", boxes, self._read_version)
        self._runner = 0
        self._has_joined = asyncio.Event()
        self._slots = slots
        self._free_places = asyncio.Queue[int]()
        """The places of the users that no bot runs as, and no check: one more than there are slots."""
        for place in range(slots + 1):
            self._free_places.put_nowait(place)
        self._bots: dict[str, _Bot] = {}
        """The bots that run, by folded name."""
        self._matches: dict[str, asyncio.Task[None]] = {}
        """The matches of tournaments that are played, by id."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._fetching = asyncio.Lock()

    async def work(self, leave: asyncio.Event) -> None:
        """Do what the arena says, until the connection ends, which raises `NoServerAnswer`, or until all is finished
        after `leave` was set. Raise `UsageFault` if the arena hosts no bots.
        """
        join = JoinFleet(slots=self._slots, host=socket.gethostname())
        joined = self._connection.ask(join, dict, RunnerEvent, self.receive)  # type: ignore[arg-type]
        following, leaving = asyncio.create_task(joined), asyncio.create_task(self._finish(leave))
        try:
            await asyncio.wait((following, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (following, leaving):
                task.cancel()
            await asyncio.wait((following, leaving))
        try:
            for task in (following, leaving):
                if not task.cancelled():
                    task.result()
        except UsageFault as fault:  # it does not know `JoinFleet`
            raise UsageFault(NO_HOSTING_MESSAGE) from fault

    async def wait_for_number(self) -> int:
        """Return the number of this runner, once the arena has given it one."""
        await self._has_joined.wait()
        return self._runner

    async def _finish(self, leave: asyncio.Event) -> None:
        await leave.wait()
        log.info("the bots finish their matches; another signal ends them at once")
        await self._connection.ask(LeaveFleet(runner=self._runner), object)
        while self._tasks:
            await asyncio.wait(self._tasks)

    def receive(self, event: RunnerEvent) -> None:
        """Do what an event says."""
        if isinstance(event, Joined):
            self._runner = event.runner
            log.info("runner %d is ready", event.runner)
            self._has_joined.set()
        elif isinstance(event, RunBot):
            self._start_bot(event)
        elif isinstance(event, FinishMatches):
            if bot := self._bots.get(fold_name(event.bot)):
                bot.finish.set()
        elif isinstance(event, EndBot):
            if bot := self._bots.get(fold_name(event.bot)):
                bot.task.cancel()
        elif isinstance(event, CheckVersion):
            self._start(self._check(event))
        elif isinstance(event, PlayMatch):
            self._start_match(event.order)
        elif isinstance(event, StopPlaying) and (playing := self._matches.get(event.match)):
            playing.cancel()

    async def hand_in(self) -> None:
        """Hand in the logs and files that clients have left. Raise `NoServerAnswer` if the connection has ended."""
        async with self._handing_in:
            faults = (await hand_in_logs(self._folder, self._connection.ask), await self._states.hand_in())
            why = next((str(fault) for fault in faults if fault is not None), None)
            if why is not None and why != self._delay_reason:
                log.warning("logs and files of bots wait: %s", why)
            self._delay_reason = why

    async def keep_handing_in(self) -> None:
        """Hand in what clients leave, again and again, until cancelled or until the connection has ended."""
        while True:
            try:
                await self.hand_in()
            except (NoServer, NoServerAnswer):
                return
            except Exception:  # without this task, nothing would be handed in again
                log.exception("logs and files of bots wait")
            await asyncio.sleep(HAND_IN_INTERVAL_S)

    async def keep_tidy(self) -> None:
        """Remove programs and logs that were not used for days, again and again, until cancelled."""
        while True:
            with contextlib.suppress(OSError):
                await asyncio.to_thread(remove_old_logs, self._logs, lambda bot: bot in self._bots)
                await self._versions.make_room()
            await asyncio.sleep(TIDY_INTERVAL_S)

    async def close(self) -> None:
        """End all bots and checks."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _start_bot(self, run: RunBot) -> None:
        key, finish = fold_name(run.bot), asyncio.Event()
        before = self._bots.get(key)
        bot = self._bots[key] = _Bot(self._start(self._run_bot(run, finish, before)), finish)
        bot.task.add_done_callback(lambda _: self._bots.pop(key) if self._bots.get(key) is bot else None)

    async def _run_bot(self, run: RunBot, finish: asyncio.Event, before: _Bot | None) -> None:
        """Run a bot, after an earlier version of it has ended, and another bot if this takes its place."""
        if before is not None:
            await asyncio.wait((before.task,))
        place = await self._free_places.get()
        runner_failed = False
        try:
            with self._versions.using(run.digest):
                log.info("runs %s, version %d", run.bot, run.number)
                program = await self._versions.get(run.digest, place)
                await self._states.fetch(run, program.manifest)
                why = await run_hosted_bot(
                    run, program, self._boxes, place, self._client_url, self._logs, self._start_keeper, finish
                )
        except DiskFull as fault:
            why, runner_failed = str(fault), True
        except Fault as fault:
            why = str(fault)
        except Exception as exc:
            log.exception("%s can't be run", run.bot)
            why, runner_failed = repr(exc), is_disk_full(exc)
        finally:
            self._free_places.put_nowait(place)
        log.info("%s ended: %s", run.bot, why)
        told = ReportBotEnded(runner=self._runner, bot=run.bot, why=why, runner_failed=runner_failed)
        with contextlib.suppress(Fault, OSError):  # the bot has ended, whatever becomes of its logs
            await self.hand_in()  # before another runner starts it with the files that it has kept
        with contextlib.suppress(Fault):
            await self._connection.ask(told, object)

    async def _check(self, check: CheckVersion) -> None:
        place = await self._free_places.get()
        runner_failed = False
        log.info("checks %s, version %d", check.bot, check.number)
        records = CheckRecords()
        try:
            with self._versions.using(check.digest):
                passed, report = await check_version(check, self._versions, self._boxes, place, records.add)
        except ArenaFault as fault:
            passed, report, runner_failed = False, str(fault), True
        except Exception as exc:
            log.exception("the check of %s, version %d failed", check.bot, check.number)
            passed, report, runner_failed = False, f"the check could not be made: {exc!r}", is_disk_full(exc)
        finally:
            self._free_places.put_nowait(place)
        how = "passed" if passed else f"could not be made: {report}" if runner_failed else "failed"
        log.info("checked %s, version %d: %s", check.bot, check.number, how)
        told = ReportCheck(
            runner=self._runner,
            version=check.version,
            passed=passed,
            report=report,
            runner_failed=runner_failed,
            records=records.by_game,
        )
        with contextlib.suppress(Fault):
            await self._connection.ask(told, object)

    def _start_match(self, order: MatchOrder) -> None:
        task = self._matches[order.match] = self._start(self._play(order))
        task.add_done_callback(
            lambda _: self._matches.pop(order.match) if self._matches.get(order.match) is task else None
        )

    async def _play(self, order: MatchOrder) -> None:
        """Play a match of a tournament, and report it."""
        report, fault, runner_failed = b"", "", False
        places: list[int] = []
        try:
            while len(places) < len(order.seats):
                places.append(await self._free_places.get())
            log.info("plays %s of the tournament %s", order.match, order.tournament)
            report = await play_order(order, self._versions, self._boxes, places, self._folder)
            if len(report) > MAX_REPORT_BYTES:
                report, fault = b"", f"the record of {order.match} is too large: {len(report)} bytes packed"
        except DiskFull as exc:
            fault, runner_failed = str(exc), True
        except Fault as exc:
            fault = str(exc)
        except Exception as exc:
            log.exception("the match %s can't be played", order.match)
            fault, runner_failed = f"{order.match} can't be played: {exc!r}", is_disk_full(exc)
        finally:
            for place in places:
                self._free_places.put_nowait(place)
        log.info("played %s%s", order.match, f", in vain: {fault}" if fault else "")
        told = ReportMatch(
            runner=self._runner, match=order.match, report=report, fault=fault, runner_failed=runner_failed
        )
        with contextlib.suppress(Fault):
            await self._connection.ask(told, object)

    async def _read_version(self, digest: str) -> bytes:
        """Fetch a submission from the arena, part by part. Only one is fetched at a time, so that a slow link is never
        busy with more than one part, behind which the signs of life of the runner would wait.
        """
        found, size = bytearray(), MIN_PART_BYTES
        clock = asyncio.get_running_loop().time
        async with self._fetching:
            while True:
                began = clock()
                request = ReadVersion(digest=digest, offset=len(found), max_bytes=size)
                part = await self._connection.ask(request, SubmissionPart)
                if not part.data:
                    return bytes(found)
                found += part.data
                size = next_part_bytes(size, clock() - began)


def next_part_bytes(size: int, took_s: float) -> int:
    """Return the maximum bytes of the next part, after one of `size` bytes took `took_s` seconds."""
    if took_s < PART_TIME_S / 4:
        return min(2 * size, MAX_PART_BYTES)
    return max(size // 2, MIN_PART_BYTES) if took_s > PART_TIME_S else size


class _Bot(NamedTuple):
    """A bot that runs, and the event that asks it to finish."""

    task: asyncio.Task[None]
    finish: asyncio.Event
