"""Assigns hosted bots and checks of versions to runners: events in, effects out.

A runner has slots, and each bot that it runs takes one. A check takes none, but a runner does one at a time, so that
new versions are checked even when all slots are taken. The caller says what time it is, and feeds a `Snapshot` every
few seconds while there are runners: a bot that waits is looked at again then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from msgspec import Struct

FIRST_RESTART_DELAY_S, MAX_RESTART_DELAY_S = 2.0, 120.0
"""Delays before a bot that ended by itself is started again: the first, which doubles up to the maximum."""
MIN_STEADY_RUN_S = 120.0
"""Seconds of a run after which the next delay is the first one again."""
MAX_LOST_RUNNERS = 2
"""Number of runners that may be lost during the check of a version, before the check counts as failed."""


class HostedBot(Struct, frozen=True):
    """A bot with the version of it that is active."""

    bot: str
    """The folded name."""
    version: int
    """The id of the version."""
    games: tuple[str, ...] = ()
    """The games that it plays. If they change, its run ends and another begins."""


class RunnerJoined(Struct, frozen=True):
    """A runner has connected, with this number of slots."""

    runner: int
    slots: int


class RunnerLeft(Struct, frozen=True):
    """The connection of a runner has ended."""

    runner: int


class Snapshot(Struct, frozen=True):
    """The bots that shall run now, and the ids of the versions that wait for their check, oldest first. A bot that is
    left out ends: its owner paused it, it was revoked, or its author runs it.
    """

    bots: tuple[HostedBot, ...]
    unchecked: tuple[int, ...] = ()


class BotEnded(Struct, frozen=True):
    """A runner says that a bot no longer runs."""

    runner: int
    bot: str


class VersionChecked(Struct, frozen=True):
    """A runner has checked a version."""

    runner: int
    version: int


Event: TypeAlias = RunnerJoined | RunnerLeft | Snapshot | BotEnded | VersionChecked


class StartBot(Struct, frozen=True):
    """Have a runner run a bot."""

    runner: int
    bot: str
    version: int


class StopBot(Struct, frozen=True):
    """Have a runner end a bot, if the runner is still there."""

    runner: int
    bot: str


class StartCheck(Struct, frozen=True):
    """Have a runner check a version."""

    runner: int
    version: int


class GiveUpCheck(Struct, frozen=True):
    """Let a version fail its check: every runner that checked it was lost."""

    version: int


Effect: TypeAlias = StartBot | StopBot | StartCheck | GiveUpCheck


@dataclass
class _Runner:
    slots: int
    bots: set[str] = field(default_factory=set)
    check: int | None = None

    @property
    def free_slots(self) -> int:
        return self.slots - len(self.bots)


@dataclass
class _Run:
    bot: HostedBot
    runner: int
    started: float


@dataclass
class _Delay:
    seconds: float
    until: float


class Fleet:
    """The runners of an arena, and what each of them runs."""

    def __init__(self) -> None:
        self._runners: dict[int, _Runner] = {}
        self._runs: dict[str, _Run] = {}
        """The bots that run, by folded name."""
        self._delays: dict[str, _Delay] = {}
        """The bots that ended by themselves, with the time until which they wait."""
        self._wanted: dict[str, HostedBot] = {}
        """The bots that shall run, by folded name, in the order in which they get slots."""
        self._unchecked: list[int] = []
        self._lost_checks: dict[int, int] = {}
        """The number of runners that were lost while they checked a version."""

    @property
    def has_runners(self) -> bool:
        return bool(self._runners)

    @property
    def slots(self) -> int:
        """The number of slots of all runners."""
        return sum(runner.slots for runner in self._runners.values())

    def runner_of(self, bot: str) -> int | None:
        """Return the runner that runs a bot, by its folded name; None if it does not run."""
        run = self._runs.get(bot)
        return None if run is None else run.runner

    def is_checking(self, runner: int, version: int) -> bool:
        """Return whether a runner was told to check a version, and has not answered."""
        return runner in self._runners and self._runners[runner].check == version

    def receive(self, event: Event, now: float) -> list[Effect]:
        """Return what follows from an event, in order."""
        effects = _HANDLERS[type(event)](self, event, now)
        return [*effects, *self._start_what_waits(now)]

    def _on_joined(self, joined: RunnerJoined, now: float) -> list[Effect]:
        self._runners[joined.runner] = _Runner(joined.slots)
        return []

    def _on_left(self, left: RunnerLeft, now: float) -> list[Effect]:
        runner = self._runners.pop(left.runner, None)
        if runner is None:
            return []
        for bot in runner.bots:
            del self._runs[bot]  # it is no fault of the bot's, so it waits for nothing
        effects: list[Effect] = [StopBot(left.runner, bot) for bot in sorted(runner.bots)]
        version = runner.check
        if version is None:
            return effects
        self._lost_checks[version] = self._lost_checks.get(version, 0) + 1
        if self._lost_checks[version] >= MAX_LOST_RUNNERS:
            del self._lost_checks[version]
            return [*effects, GiveUpCheck(version)]
        self._unchecked.insert(0, version)
        return effects

    def _on_snapshot(self, snapshot: Snapshot, now: float) -> list[Effect]:
        self._wanted = {bot.bot: bot for bot in snapshot.bots}
        checking = {runner.check for runner in self._runners.values()}
        self._unchecked = [version for version in snapshot.unchecked if version not in checking]
        for bot in self._delays.keys() - self._wanted.keys():
            del self._delays[bot]
        outdated = [bot for bot, run in self._runs.items() if self._wanted.get(bot) != run.bot]
        return [self._end_run(bot) for bot in outdated]

    def _on_ended(self, ended: BotEnded, now: float) -> list[Effect]:
        run = self._runs.get(ended.bot)
        if run is None or run.runner != ended.runner:
            return []
        before = self._delays.get(ended.bot)
        is_first = before is None or now - run.started >= MIN_STEADY_RUN_S
        seconds = FIRST_RESTART_DELAY_S if is_first or before is None else min(2 * before.seconds, MAX_RESTART_DELAY_S)
        self._delays[ended.bot] = _Delay(seconds, now + seconds)
        return [self._end_run(ended.bot)]

    def _on_checked(self, checked: VersionChecked, now: float) -> list[Effect]:
        runner = self._runners.get(checked.runner)
        if runner is not None and runner.check == checked.version:
            runner.check = None
            self._lost_checks.pop(checked.version, None)
        return []

    def _end_run(self, bot: str) -> StopBot:
        run = self._runs.pop(bot)
        self._runners[run.runner].bots.remove(bot)
        return StopBot(run.runner, bot)

    def _start_what_waits(self, now: float) -> list[Effect]:
        """Start checks on runners that do none, and bots that wait on the runners with most free slots."""
        effects: list[Effect] = []
        for number, runner in self._runners.items():
            if runner.check is None and self._unchecked:
                runner.check = self._unchecked.pop(0)
                effects.append(StartCheck(number, runner.check))
        for bot, wanted in self._wanted.items():
            if bot in self._runs or (bot in self._delays and self._delays[bot].until > now):
                continue
            freest = max(self._runners, key=lambda number: self._runners[number].free_slots, default=None)
            if freest is None or self._runners[freest].free_slots < 1:
                break
            self._runners[freest].bots.add(bot)
            self._runs[bot] = _Run(wanted, freest, now)
            effects.append(StartBot(freest, bot, wanted.version))
        return effects


_HANDLERS: Mapping[type[Event], Callable[[Fleet, Any, float], list[Effect]]] = {
    RunnerJoined: Fleet._on_joined,
    RunnerLeft: Fleet._on_left,
    Snapshot: Fleet._on_snapshot,
    BotEnded: Fleet._on_ended,
    VersionChecked: Fleet._on_checked,
}
"""The method that handles each event."""
