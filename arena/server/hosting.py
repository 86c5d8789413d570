"""The hosting of bots by an arena: keeps the connections of runners, and carries out what `Fleet` decides."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from arena.host.client_registry import ClientRegistry
from arena.hosting import fleet
from arena.hosting.limits import HostingLimits
from arena.hosting.match_slots import AssignMatch, StopMatch
from arena.hosting.uploads import Uploads
from arena.operator.hosted_matches import PlayMatch, StopPlaying
from arena.operator.hosting import (
    ChangeHosting,
    CheckVersion,
    EndBot,
    FinishMatches,
    Joined,
    ReportBotEnded,
    ReportCheck,
    ReportLoad,
    RunBot,
    parse_version_label,
    version_label,
)
from arena.operator.status import HostingStatus, RunnerStatus
from arena.server.auth import Tickets
from arena.server.hosted_matches import HostedMatches
from arena.store import bot_versions
from arena.store.async_store import AsyncStore
from arena.store.bot_versions import BotVersion, HostedVersion, SingleFile
from machine.event_loop import wait_within
from machine.timestamps import utc_now
from protocol.errors import ArenaFault
from protocol.names import fold_name

REFRESH_INTERVAL_S = 3.0
"""Seconds between two looks at the store while there are runners, for bots that were renamed, deleted or revoked, and
for those whose authors run them again."""
MAX_UPLOADS = 8
"""Maximum number of submissions that are handed over at a time."""
MAX_FAILED_CHECKS = 20
"""Maximum number of failed checks that the operator is told about."""
LOST_CHECK_REPORT = "the runners that checked this version were lost: hand it in again, or ask the operator"
"""The report of a version whose check was given up."""

log = logging.getLogger("arena.hosting")


@dataclass
class _RunnerState:
    """The state of a runner, for the operator."""

    host: str
    slots: int
    since: str
    load: float | None = None
    checks: dict[int, str] = field(default_factory=dict)
    """The bots of the versions that the runner checks, by id of the version."""


class Hosting:
    """The runners of an arena, and the bots that they run. Without runners, it does nothing."""

    def __init__(
        self, store: AsyncStore, tickets: Tickets, clients: ClientRegistry, limits: HostingLimits | None = None
    ) -> None:
        self._store = store
        self._tickets = tickets
        self._clients = clients
        self._limits = limits or HostingLimits()
        self.uploads = Uploads("program", self._limits.submission.repacked().packed_bytes, MAX_UPLOADS)
        self._fleet = fleet.Fleet()
        self._numbers = itertools.count(1)
        self._tell: dict[int, Callable[[object], None]] = {}
        """The function that sends an event to a runner, by the runner's number."""
        self._states: dict[int, _RunnerState] = {}
        """The states of the connected runners, by number."""
        self._hosted: dict[int, HostedVersion] = {}
        """The versions that may be run, by id: the active ones, and those that began matches under way."""
        self.matches = HostedMatches(self._fleet, self._feed)
        """The matches of tournaments that runners play."""
        self._changed = asyncio.Event()
        self._refreshing: asyncio.Task[None] | None = None
        self._effects: deque[fleet.Effect] = deque()
        """The effects that the store takes part in and that are still to be carried out."""

    @property
    def runner_count(self) -> int:
        return len(self._tell)

    async def status(self, max_failed: int) -> HostingStatus:
        """Return the state of hosted bots, with at most `max_failed` of the checks that failed."""
        found = await self._store.read(bot_versions.read_totals, min(max_failed, MAX_FAILED_CHECKS))
        return HostingStatus(
            runners=[
                RunnerStatus(
                    runner=runner,
                    host=state.host,
                    since=state.since,
                    slots=state.slots,
                    bots=sorted(one.key for one in found.hosted if self._fleet.runner_of(one.key) == runner),
                    checks=sorted(set(state.checks.values())),
                    matches=(matches := self._fleet.matches_on(runner)),
                    tournaments={match: self.matches.order_of(match).tournament for match in matches},
                    match_slots=self._fleet.match_slots_on(runner),
                    load=state.load,
                )
                for runner, state in self._states.items()
            ],
            hosted=len(found.hosted),
            waiting=found.waiting,
            failed=found.failed,
            stored_bytes=found.stored_bytes,
        )

    async def serve_runner(self, slots: int, host: str, tell: Callable[[object], None]) -> None:
        """Have a runner on the machine `host` run bots, until this is cancelled because its connection has ended."""
        runner = next(self._numbers)
        self._tell[runner] = tell
        self._states[runner] = _RunnerState(host, slots, utc_now())
        tell(Joined(runner=runner))
        log.info("runner %d is there, with %d slots", runner, slots)
        self._feed(fleet.RunnerJoined(runner, slots))
        self.matches.on_runner_joined()
        if self._refreshing is None:
            self._refreshing = asyncio.create_task(self._refresh())
        self._changed.set()
        try:
            await asyncio.Event().wait()
        finally:
            del self._tell[runner], self._states[runner]
            log.info("runner %d is gone", runner)
            self._feed(fleet.RunnerLeft(runner))
            self._changed.set()
            if not self._tell and self._refreshing is not None:
                self._refreshing.cancel()
                self._refreshing = None

    def on_runner_leaving(self, runner: int) -> None:
        """Give a runner nothing new, and let its bots finish their matches under way. They run elsewhere then."""
        log.info("runner %d leaves: its bots finish their matches", runner)
        self._feed(fleet.RunnerLeaving(runner))

    async def submit(
        self, bot: str, digest: str, content: bytes, manifest: str, file: SingleFile | None = None
    ) -> BotVersion:
        """Store a version of a bot, which is then checked. Raise `UsageFault` if there were too many today, or if there
        is no room for it.
        """
        limits = self._limits.versions
        version = await self._store.write(bot_versions.add_version, bot, digest, content, manifest, file, limits)
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
        self._feed(fleet.BotEnded(report.runner, fold_name(report.bot), runner_failed=report.runner_failed))
        self._changed.set()

    async def on_checked(self, report: ReportCheck) -> None:
        """Store how a check ended, if it is the one that the runner was told to make."""
        if not self._fleet.is_checking(report.runner, report.version):
            return
        self._states[report.runner].checks.pop(report.version, None)
        if report.runner_failed:
            log.warning("runner %d can't check version %d: %s", report.runner, report.version, report.report)
            self._feed(fleet.CheckFailed(report.runner, report.version))
            return
        try:
            await self._store.write(
                bot_versions.end_check,
                report.version,
                passed=report.passed,
                report=report.report,
                records=report.records,
            )
        except Exception:
            self._feed(fleet.CheckFailed(report.runner, report.version))
            raise
        self._feed(fleet.VersionChecked(report.runner, report.version))
        self._changed.set()

    def on_load(self, report: ReportLoad) -> None:
        if report.runner in self._states:
            self._states[report.runner].load = report.load

    async def _refresh(self) -> None:
        """Tell the fleet what is to run and to be checked, again and again, and carry out what follows."""
        while True:
            self._changed.clear()
            try:
                bots, hosted = await self._read_bots()
                unchecked = await self._store.read(bot_versions.unchecked_versions)
                self._hosted = hosted  # with the snapshot, which names no other versions
                waiting = tuple(fleet.UncheckedVersion(one.version, one.key) for one in unchecked)
                self._feed(fleet.Snapshot(bots, waiting))
                while self._effects:
                    await self._perform(self._effects[0])
                    self._effects.popleft()  # not before: it is carried out again if the store fails
            except ArenaFault as fault:
                log.warning("hosted bots wait: %s", fault)
            except Exception:  # without this task, no bot would run again
                log.exception("hosted bots wait")
            await wait_within(self._changed.wait(), REFRESH_INTERVAL_S)

    async def _read_bots(self) -> tuple[tuple[fleet.HostedBot, ...], dict[int, HostedVersion]]:
        """Return the bots that shall run, and the versions that may be run, by id."""
        hosted = await self._store.read(bot_versions.hosted_bots)
        known = {one.version: one for one in hosted}
        bots = []
        for one in hosted:
            if self._is_elsewhere(one):
                continue
            began = await self._find_version_that_began(one)
            if began is None:
                if not one.is_paused:
                    bots.append(fleet.HostedBot(one.key, one.version, one.games))
            else:
                known[began.version] = began
                bots.append(fleet.HostedBot(one.key, one.version, one.games, began.version, is_paused=one.is_paused))
        return tuple(bots), known

    async def _find_version_that_began(self, hosted: HostedVersion) -> HostedVersion | None:
        """Return the version that began a bot's match under way; None without one. A match that another program of the
        author's began goes on with the active version, unless the bot is paused.
        """
        began = [runner.version_of(seat) for runner, seat in self._clients.matches_of(hosted.key).values()]
        if not began:
            return None
        if version_label(hosted.number) in began:
            return hosted
        for number in filter(None, map(parse_version_label, began)):
            if found := await self._store.read(bot_versions.find_passed_version, hosted.key, number):
                return found
        return None if hosted.is_paused else hosted

    def _is_elsewhere(self, hosted: HostedVersion) -> bool:
        """Return whether a bot is connected, but not by a runner: its author runs it, which comes first."""
        return self._clients.is_online(hosted.name) and self._fleet.runner_of(hosted.key) is None

    def _feed(self, event: fleet.Event) -> None:
        for effect in self._fleet.receive(event, asyncio.get_running_loop().time()):
            if isinstance(effect, fleet.StopBot):
                if isinstance(event, fleet.RunnerLeft):
                    self._clients.on_runner_lost(effect.bot)
                self._tickets.revoke(effect.bot)
                self._send(effect.runner, EndBot(bot=effect.bot))
            elif isinstance(effect, fleet.FinishBot):
                self._send(effect.runner, FinishMatches(bot=effect.bot))
            elif isinstance(effect, fleet.StartBot):
                self._start_bot(effect)
            elif isinstance(effect, AssignMatch):
                self._send(effect.runner, PlayMatch(order=self.matches.order_of(effect.match)))
            elif isinstance(effect, StopMatch):
                self._send(effect.runner, StopPlaying(match=effect.match))
            else:
                self._effects.append(effect)
                self._changed.set()

    def _start_bot(self, start: fleet.StartBot) -> None:
        hosted = self._hosted[start.version]
        ticket = self._tickets.issue(start.bot)
        run = RunBot(
            bot=hosted.name,
            number=hosted.number,
            digest=hosted.digest,
            ticket=ticket,
            games=hosted.games,
            kept_bytes=self._limits.kept_bytes,
        )
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
            if effect.runner in self._states:
                self._states[effect.runner].checks[found.version] = found.name
            check = CheckVersion(
                version=found.version,
                bot=found.name,
                number=found.number,
                digest=found.digest,
                kept_bytes=self._limits.kept_bytes,
            )
            self._send(effect.runner, check)

    def _send(self, runner: int, event: object) -> None:
        if runner in self._tell:
            self._tell[runner](event)


def _describe_change(change: ChangeHosting) -> str:
    words = [] if change.version is None else [f"version {change.version}"]
    words += [] if change.games is None else [f"games {', '.join(change.games) or 'all'}"]
    words += [] if change.paused is None else ["paused" if change.paused else "resumed"]
    return "; ".join(words)
