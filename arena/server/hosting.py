"""The hosting of bots by an arena: keeps the connections of runners, and carries out what `Fleet` decides."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable

from arena.host.client_registry import ClientRegistry
from arena.hosting import fleet
from arena.hosting.submission import SubmissionLimits
from arena.operator.hosting import ChangeHosting, CheckVersion, EndBot, Joined, ReportBotEnded, ReportCheck, RunBot
from arena.server.auth import Tickets
from arena.store import bot_versions
from arena.store.async_store import AsyncStore
from arena.store.bot_versions import BotVersion, HostedVersion, SingleFile
from machine.event_loop import wait_within
from protocol.errors import ArenaFault, UsageFault
from protocol.names import fold_name

REFRESH_INTERVAL_S = 3.0
"""Seconds between two looks at the store while there are runners, for bots that were renamed, deleted or revoked, and
for those whose authors run them again."""
MAX_UPLOADS = 8
"""Maximum number of submissions that are handed over at a time."""
MAX_UPLOAD_BYTES = SubmissionLimits().repacked().packed_bytes
"""Maximum bytes of a submission that the pages pass on."""
LOST_CHECK_REPORT = "the runners that checked this version were lost: hand it in again, or ask the operator"
"""The report of a version whose check was given up."""

log = logging.getLogger("arena.hosting")


class Uploads:
    """Submissions of which not all parts have come yet. There are few at a time: the oldest goes for a new one."""

    def __init__(self) -> None:
        self._parts: dict[str, bytearray] = {}

    def add(self, upload: str, data: bytes) -> None:
        """Keep a part. Raise `UsageFault` if the submission is then larger than any that the pages pass on."""
        found = self._parts.setdefault(upload, bytearray())
        if len(found) + len(data) > MAX_UPLOAD_BYTES:
            del self._parts[upload]
            raise UsageFault(f"a submission of more than {MAX_UPLOAD_BYTES} bytes: hand in less")
        found += data
        if len(self._parts) > MAX_UPLOADS:
            del self._parts[next(iter(self._parts))]

    def take(self, upload: str) -> bytes:
        """Return a submission, and forget it. Raise `UsageFault` if it is not here."""
        if upload not in self._parts:
            raise UsageFault("too many programs were handed in at a time: hand yours in again")
        return bytes(self._parts.pop(upload))


class Hosting:
    """The runners of an arena, and the bots that they run. Without runners, it does nothing."""

    def __init__(self, store: AsyncStore, tickets: Tickets, clients: ClientRegistry) -> None:
        self._store = store
        self._tickets = tickets
        self._clients = clients
        self.uploads = Uploads()
        self._fleet = fleet.Fleet()
        self._numbers = itertools.count(1)
        self._tell: dict[int, Callable[[object], None]] = {}
        """The function that sends an event to a runner, by the runner's number."""
        self._hosted: dict[int, HostedVersion] = {}
        """The active versions of all hosted bots, by id."""
        self._orphans: set[str] = set()
        """The bots whose runner was lost. Their connections may outlive it, and are no reason not to run them again."""
        self._changed = asyncio.Event()
        self._refreshing: asyncio.Task[None] | None = None
        self._effects: asyncio.Queue[fleet.Effect] = asyncio.Queue()

    @property
    def runner_count(self) -> int:
        return len(self._tell)

    async def serve_runner(self, slots: int, tell: Callable[[object], None]) -> None:
        """Have a runner run bots, until this is cancelled because its connection has ended."""
        runner = next(self._numbers)
        self._tell[runner] = tell
        tell(Joined(runner=runner))
        log.info("runner %d is there, with %d slots", runner, slots)
        self._feed(fleet.RunnerJoined(runner, slots))
        if self._refreshing is None:
            self._refreshing = asyncio.create_task(self._refresh())
        self._changed.set()
        try:
            await asyncio.Event().wait()
        finally:
            del self._tell[runner]
            log.info("runner %d is gone", runner)
            self._feed(fleet.RunnerLeft(runner))
            if not self._tell and self._refreshing is not None:
                self._refreshing.cancel()
                self._refreshing = None

    async def submit(
        self, bot: str, digest: str, content: bytes, manifest: str, file: SingleFile | None = None
    ) -> BotVersion:
        """Store a version of a bot, which is then checked. Raise `UsageFault` if there were too many today."""
        version = await self._store.write(bot_versions.add_version, bot, digest, content, manifest, file)
        log.info("%s handed in version %d, which is %s", bot, version.number, version.state)
        self._changed.set()
        return version

    async def change(self, change: ChangeHosting) -> None:
        """Change how a bot runs. Raise `UsageFault` if that is impossible; then nothing is changed."""
        await self._store.write(
            bot_versions.change_hosting, change.bot, number=change.version, games=change.games, paused=change.paused
        )
        log.info("%s is changed by its owner: %s", change.bot, _describe_change(change))
        self._changed.set()

    def plays(self, bot: str, game: str) -> bool:
        """Return whether a runner runs a bot, which plays this game."""
        if self._fleet.runner_of(fold_name(bot)) is None:
            return False
        hosted = [one for one in self._hosted.values() if one.key == fold_name(bot)]
        return any(game in one.games for one in hosted)

    def on_bot_ended(self, report: ReportBotEnded) -> None:
        log.info("the hosted bot %s ended on runner %d: %s", report.bot, report.runner, report.why)
        self._feed(fleet.BotEnded(report.runner, fold_name(report.bot)))

    async def on_checked(self, report: ReportCheck) -> None:
        """Store how a check ended, if it is the one that the runner was told to make."""
        if not self._fleet.is_checking(report.runner, report.version):
            return
        await self._store.write(
            bot_versions.end_check,
            report.version,
            passed=report.passed,
            report=report.report,
            records=report.records,
        )
        self._feed(fleet.VersionChecked(report.runner, report.version))
        self._changed.set()

    async def _refresh(self) -> None:
        """Tell the fleet what is to run and to be checked, again and again, and carry out what follows."""
        while True:
            self._changed.clear()
            try:
                hosted = await self._store.read(bot_versions.hosted_bots)
                unchecked = await self._store.read(bot_versions.unchecked_versions)
                self._hosted = {one.version: one for one in hosted}
                bots = tuple(
                    fleet.HostedBot(one.key, one.version, one.games) for one in hosted if not self._is_elsewhere(one)
                )
                self._feed(fleet.Snapshot(bots, tuple(unchecked)))
                while not self._effects.empty():
                    await self._perform(self._effects.get_nowait())
            except ArenaFault as fault:
                log.warning("hosted bots wait: %s", fault)
            except Exception:  # without this task, no bot would run again
                log.exception("hosted bots wait")
            await wait_within(self._changed.wait(), REFRESH_INTERVAL_S)

    def _is_elsewhere(self, hosted: HostedVersion) -> bool:
        """Return whether a bot is connected, but not by a runner: its author runs it, which comes first."""
        is_ours = self._fleet.runner_of(hosted.key) is not None or hosted.key in self._orphans
        return not is_ours and self._clients.is_online(hosted.name)

    def _feed(self, event: fleet.Event) -> None:
        for effect in self._fleet.receive(event, asyncio.get_running_loop().time()):
            if isinstance(effect, fleet.StopBot):
                if isinstance(event, fleet.RunnerLeft):
                    self._orphans.add(effect.bot)
                self._tickets.revoke(effect.bot)
                self._send(effect.runner, EndBot(bot=effect.bot))
            elif isinstance(effect, fleet.StartBot):
                self._start_bot(effect)
            else:
                self._effects.put_nowait(effect)
                self._changed.set()

    def _start_bot(self, start: fleet.StartBot) -> None:
        hosted = self._hosted[start.version]
        self._orphans.discard(start.bot)
        ticket = self._tickets.issue(start.bot)
        run = RunBot(bot=hosted.name, number=hosted.number, digest=hosted.digest, ticket=ticket, games=hosted.games)
        self._send(start.runner, run)

    async def _perform(self, effect: fleet.Effect) -> None:
        """Carry out an effect that the store takes part in."""
        if isinstance(effect, fleet.GiveUpCheck):
            await self._store.write(bot_versions.end_check, effect.version, passed=False, report=LOST_CHECK_REPORT)
        elif isinstance(effect, fleet.StartCheck):
            found = await self._store.write(bot_versions.begin_check, effect.version)
            if found is None:  # it was deleted
                self._feed(fleet.VersionChecked(effect.runner, effect.version))
                return
            self._send(
                effect.runner,
                CheckVersion(version=found.version, bot=found.name, number=found.number, digest=found.digest),
            )

    def _send(self, runner: int, event: object) -> None:
        if runner in self._tell:
            self._tell[runner](event)


def _describe_change(change: ChangeHosting) -> str:
    words = [] if change.version is None else [f"version {change.version}"]
    words += [] if change.games is None else [f"games {', '.join(change.games) or 'all'}"]
    words += [] if change.paused is None else ["paused" if change.paused else "resumed"]
    return "; ".join(words)
