"""Follows the events of an arena: runs the hosted bots and makes the checks that it is given."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from arena.operator.client import NoServer, NoServerAnswer, OperatorConnection, connect_to_url
from arena.operator.hosting import (
    CheckVersion,
    EndBot,
    Joined,
    JoinFleet,
    ReadVersion,
    ReportBotEnded,
    ReportCheck,
    RunBot,
    RunnerEvent,
    SubmissionPart,
)
from arena.runner.box import Boxes
from arena.runner.check import CheckRecords, check_version
from arena.runner.hosted_bot import run_hosted_bot
from arena.runner.version_cache import VersionCache
from machine.backoff import Backoff
from protocol.errors import Fault
from protocol.names import fold_name

ORIGIN = "runner"
"""The origin of a runner's requests."""
FIRST_RECONNECT_DELAY_S, MAX_RECONNECT_DELAY_S = 0.5, 5.0
"""Delays before a runner connects again to an arena that is away: the first, which doubles up to the maximum."""

log = logging.getLogger("arena.runner")


async def run(url: str, token: str, slots: int, boxes: Boxes, folder: Path, client_url: str) -> None:
    """Run bots until cancelled. Their clients connect to `client_url`. While the arena is away, no bot runs.

    `boxes` has a user for each slot, and one more for checks. Raise `TokenRefused` if the arena refuses the token.
    """
    backoff = Backoff(FIRST_RECONNECT_DELAY_S, MAX_RECONNECT_DELAY_S)
    while True:
        try:
            async with connect_to_url(url, token, ORIGIN) as connection:
                backoff.reset()
                async with _serve(connection, slots, boxes, folder, client_url) as session:
                    await connection.ask(JoinFleet(slots=slots), dict, RunnerEvent, session.receive)  # type: ignore[arg-type]
        except (NoServer, NoServerAnswer) as fault:
            wait = backoff.next_delay()
            log.warning("%s; trying again in %g s", fault, wait)
            await asyncio.sleep(wait)


@asynccontextmanager
async def _serve(
    connection: OperatorConnection, slots: int, boxes: Boxes, folder: Path, client_url: str
) -> AsyncIterator[RunnerSession]:
    session = RunnerSession(connection, slots, boxes, folder, client_url)
    try:
        yield session
    finally:
        await session.close()


class RunnerSession:
    """The work of a runner as long as one connection lasts."""

    def __init__(self, connection: OperatorConnection, slots: int, boxes: Boxes, folder: Path, client_url: str) -> None:
        self._connection = connection
        self._boxes = boxes
        self._client_url = client_url
        self._logs = folder / "logs"
        self._versions = VersionCache(folder / "versions", boxes, self._read_version)
        self._runner = 0
        self._free_places = asyncio.Queue[int]()
        """The places of the users that no bot runs as. The user of checks has the last place."""
        for place in range(slots):
            self._free_places.put_nowait(place)
        self._check_place = slots
        self._bots: dict[str, asyncio.Task[None]] = {}
        """The bots that run, by folded name."""
        self._tasks: set[asyncio.Task[None]] = set()

    def receive(self, event: RunnerEvent) -> None:
        """Do what an event says."""
        if isinstance(event, Joined):
            self._runner = event.runner
            log.info("runner %d is ready", event.runner)
        elif isinstance(event, RunBot):
            self._start(self._run_bot(event, self._bots.get(fold_name(event.bot))), fold_name(event.bot))
        elif isinstance(event, EndBot):
            if task := self._bots.get(fold_name(event.bot)):
                task.cancel()
        elif isinstance(event, CheckVersion):
            self._start(self._check(event))

    async def close(self) -> None:
        """End all bots and checks."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start(self, work: object, bot: str | None = None) -> None:
        task: asyncio.Task[None] = asyncio.create_task(work)  # type: ignore[arg-type]
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if bot is not None:
            self._bots[bot] = task
            task.add_done_callback(lambda task: self._bots.pop(bot) if self._bots.get(bot) is task else None)

    async def _run_bot(self, run: RunBot, before: asyncio.Task[None] | None) -> None:
        """Run a bot, after an earlier version of it has ended, and another bot if this takes its place."""
        if before is not None:
            await asyncio.wait((before,))
        place = await self._free_places.get()
        try:
            with self._versions.using(run.digest):
                log.info("runs %s, version %d", run.bot, run.number)
                program = await self._versions.get(run.digest, place)
                why = await run_hosted_bot(run, program, self._boxes, place, self._client_url, self._logs)
        except Fault as fault:
            why = str(fault)
        except Exception as exc:
            log.exception("%s can't be run", run.bot)
            why = repr(exc)
        finally:
            self._free_places.put_nowait(place)
        log.info("%s ended: %s", run.bot, why)
        with contextlib.suppress(Fault):
            await self._connection.ask(ReportBotEnded(runner=self._runner, bot=run.bot, why=why), object)

    async def _check(self, check: CheckVersion) -> None:
        log.info("checks %s, version %d", check.bot, check.number)
        records = CheckRecords()
        try:
            with self._versions.using(check.digest):
                passed, report = await check_version(check, self._versions, self._boxes, self._check_place, records.add)
        except Exception as exc:
            log.exception("the check of %s, version %d failed", check.bot, check.number)
            passed, report = False, f"the check could not be made: {exc!r}"
        log.info("checked %s, version %d: %s", check.bot, check.number, "passed" if passed else "failed")
        told = ReportCheck(
            runner=self._runner, version=check.version, passed=passed, report=report, records=records.by_game
        )
        with contextlib.suppress(Fault):
            await self._connection.ask(told, object)

    async def _read_version(self, digest: str) -> bytes:
        """Fetch a submission from the arena, part by part."""
        found = bytearray()
        while True:
            part = await self._connection.ask(ReadVersion(digest=digest, offset=len(found)), SubmissionPart)
            if not part.data:
                return bytes(found)
            found += part.data
