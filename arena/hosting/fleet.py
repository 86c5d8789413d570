"""Assigns hosted bots and checks of versions to runners: events in, effects out.

A runner has slots, and each bot that it runs takes one. If there are more bots than slots, they take turns. A bot that
has to give its slot up, or whose version was replaced, finishes its matches under way first. So does one that moves to
a runner with more free slots, for example to one that has joined after another was lost. A bot that soon ended on a
runner, which may lack its language, runs on another one if it can, and does not move back. A runner makes one check
beside its bots, so that new versions are checked even when all slots are taken, and further checks in its free slots.

A match of a tournament is played by one runner as a whole, and takes a slot for each seat. While bots wait for a slot,
matches have half of all slots at most. If they have less, bots that have had their turn finish for them. They give way
to a bot whose own match is under way: they are played again from the beginning.

The caller says what time it is, and feeds a `Snapshot` every few seconds while there are runners: a bot that waits is
looked at again then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from msgspec import Struct

from arena.hosting.match_slots import (
    AssignMatch,
    MatchFailed,
    MatchPlayed,
    MatchSlots,
    MatchWaits,
    MatchWithdrawn,
    StopMatch,
)

FIRST_RESTART_DELAY_S, MAX_RESTART_DELAY_S = 2.0, 120.0
"""Delays before a bot that ended by itself is started again: the first, which doubles up to the maximum."""
MIN_STEADY_RUN_S = 120.0
"""Seconds of a run after which the next delay is the first one again."""
MIN_TURN_S = 60.0
"""Seconds for which a bot has its slot before it must give it up to a bot that waits. A match of most games fits."""
RUNNER_REST_S = 60.0
"""Seconds for which a runner that failed, as its disk is full, is given nothing new."""
MIN_SLOT_DIFFERENCE = 2
"""The least difference in free slots between two runners at which a bot moves from one to the other."""
MATCH_SLOTS_RATIO = 0.5
"""The fraction of all slots that matches of tournaments have while bots wait for a slot."""
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
    began: int | None = None
    """The id of the version that began the bot's match under way; None if the bot has no match."""
    is_paused: bool = False
    """True if the bot only finishes its match under way: its owner has paused it."""


class UncheckedVersion(Struct, frozen=True):
    """A version that waits for its check, by its id, with the folded name of its bot."""

    version: int
    bot: str


class RunnerJoined(Struct, frozen=True):
    """A runner has connected, with this number of slots."""

    runner: int
    slots: int


class RunnerLeaving(Struct, frozen=True):
    """A runner will stop once its bots have finished their matches under way and its checks have ended."""

    runner: int


class RunnerLeft(Struct, frozen=True):
    """The connection of a runner has ended."""

    runner: int


class Snapshot(Struct, frozen=True):
    """The bots that shall run now, and the versions that wait for their check, oldest first. A bot that is left out
    ends: its owner paused it and it has no match, it was revoked, or its author runs it.
    """

    bots: tuple[HostedBot, ...]
    unchecked: tuple[UncheckedVersion, ...] = ()


class BotEnded(Struct, frozen=True):
    """A runner says that a bot no longer runs. `runner_failed` says that the runner could not run it, not the bot."""

    runner: int
    bot: str
    runner_failed: bool = False


class VersionChecked(Struct, frozen=True):
    """A runner has checked a version."""

    runner: int
    version: int


class CheckFailed(Struct, frozen=True):
    """A runner could not make a check, for a reason that is not the version's."""

    runner: int
    version: int


MatchEvent: TypeAlias = MatchWaits | MatchWithdrawn | MatchPlayed | MatchFailed
Event: TypeAlias = (
    RunnerJoined | RunnerLeaving | RunnerLeft | Snapshot | BotEnded | VersionChecked | CheckFailed | MatchEvent
)


class StartBot(Struct, frozen=True):
    """Have a runner run a bot."""

    runner: int
    bot: str
    version: int


class FinishBot(Struct, frozen=True):
    """Have a runner end a bot once the bot's matches under way are over."""

    runner: int
    bot: str


class StopBot(Struct, frozen=True):
    """Have a runner end a bot, if the runner and the bot are still there."""

    runner: int
    bot: str


class StartCheck(Struct, frozen=True):
    """Have a runner check a version."""

    runner: int
    version: int


class GiveUpCheck(Struct, frozen=True):
    """Let a version fail its check: every runner that checked it was lost."""

    version: int


Effect: TypeAlias = StartBot | FinishBot | StopBot | StartCheck | GiveUpCheck | AssignMatch | StopMatch


@dataclass
class _Check:
    version: int
    bot: str
    since: float
    """The time since which the version waits for its check."""


@dataclass
class _Runner:
    slots: int
    bots: set[str] = field(default_factory=set)
    checks: dict[int, _Check] = field(default_factory=dict)
    """The checks under way, by the id of the version."""
    is_leaving: bool = False
    rests_until: float = 0.0

    def takes_more(self, now: float) -> bool:
        return not self.is_leaving and self.rests_until <= now


@dataclass
class _Run:
    version: int
    games: tuple[str, ...]
    runner: int
    started: float
    since: float
    """The time since which the bot had waited for its slot."""
    is_last: bool = False
    """True if the bot was started to finish the match that it had begun: it is paused, or its version was replaced."""
    is_finishing: bool = False

    def is_steady(self, now: float) -> bool:
        return now - self.started >= MIN_STEADY_RUN_S


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
        """The bots that shall run, by folded name."""
        self._waiting: dict[str, float] = {}
        """The bots that shall run and do not, with the time since which they wait."""
        self._uncertain: set[str] = set()
        """The bots of which only the next snapshot says whether their match with a replaced version is over."""
        self._misfits: dict[str, dict[int, float]] = {}
        """The runners on which a bot soon ended by itself, or that could not run it, with the time. It runs elsewhere
        if it can, and else where that was longest ago.
        """
        self._unchecked: dict[int, _Check] = {}
        """The versions that wait for their check, by id."""
        self._checked_at: dict[str, float] = {}
        """The time at which the latest check of a bot ended, while further versions of the bot wait."""
        self._lost_checks: dict[int, int] = {}
        """The number of runners that were lost while they checked a version."""
        self._matches = MatchSlots()

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
        return runner in self._runners and version in self._runners[runner].checks

    def is_playing_match(self, runner: int, match: str) -> bool:
        """Return whether a runner was told to play a match of a tournament, and has not answered."""
        return self._matches.is_played(runner, match)

    def matches_on(self, runner: int) -> list[str]:
        """Return the matches of tournaments that a runner plays, oldest first."""
        return self._matches.matches_on([runner])

    def match_slots_on(self, runner: int) -> int:
        """Return the number of slots that matches of tournaments have on a runner."""
        return self._matches.slots_on(runner)

    def can_play(self, seats: int) -> bool:
        """Return whether a runner has enough slots for a match of this many seats, free or not."""
        return any(runner.slots >= seats and not runner.is_leaving for runner in self._runners.values())

    def receive(self, event: Event, now: float) -> list[Effect]:
        """Return what follows from an event, in order."""
        effects = _HANDLERS[type(event)](self, event, now)
        return [*effects, *self._start_what_waits(now)]

    def _on_joined(self, joined: RunnerJoined, now: float) -> list[Effect]:
        self._runners[joined.runner] = _Runner(joined.slots)
        return []

    def _on_leaving(self, leaving: RunnerLeaving, now: float) -> list[Effect]:
        runner = self._runners.get(leaving.runner)
        if runner is None:
            return []
        runner.is_leaving = True
        return list(self._finish(sorted(runner.bots)))

    def _on_left(self, left: RunnerLeft, now: float) -> list[Effect]:
        runner = self._runners.pop(left.runner, None)
        if runner is None:
            return []
        effects: list[Effect] = []
        for bot in sorted(runner.bots):
            since = self._runs.pop(bot).since  # it is no fault of the bot's, so it waits for nothing
            self._await_slot(bot, since)
            effects.append(StopBot(left.runner, bot))
        for check in runner.checks.values():
            effects += self._return_lost_check(check)
        for match in reversed(self._matches.matches_on([left.runner])):
            effects.append(self._matches.put_back(match))
        return effects

    def _return_lost_check(self, check: _Check) -> list[Effect]:
        lost = self._lost_checks.pop(check.version, 0) + 1
        if lost >= MAX_LOST_RUNNERS:
            return [GiveUpCheck(check.version)]
        self._lost_checks[check.version] = lost
        self._unchecked[check.version] = check
        return []

    def _on_snapshot(self, snapshot: Snapshot, now: float) -> list[Effect]:
        before, self._wanted = self._wanted, {bot.bot: bot for bot in snapshot.bots}
        kept = {bot for bot in self._wanted.keys() & before.keys() if self._wanted[bot].version == before[bot].version}
        self._misfits = {bot: runners for bot, runners in self._misfits.items() if bot in kept}
        self._waiting = {bot: self._waiting.get(bot, now) for bot in self._wanted if bot not in self._runs}
        self._uncertain.clear()
        self._update_checks(snapshot.unchecked, now)
        for bot in self._delays.keys() - self._wanted.keys():
            del self._delays[bot]
        outdated = [bot for bot, run in self._runs.items() if self._is_outdated(bot, run)]
        return [*self._finish(outdated), *self._balance(now)]

    def _update_checks(self, unchecked: tuple[UncheckedVersion, ...], now: float) -> None:
        checking = [check for runner in self._runners.values() for check in runner.checks.values()]
        under_way = {check.version for check in checking}
        self._unchecked = {
            one.version: self._unchecked.get(one.version) or _Check(one.version, one.bot, now)
            for one in unchecked
            if one.version not in under_way
        }
        bots = {check.bot for check in [*checking, *self._unchecked.values()]}
        for bot in self._checked_at.keys() - bots:
            del self._checked_at[bot]
        for version in self._lost_checks.keys() - under_way - self._unchecked.keys():
            del self._lost_checks[version]

    def _is_outdated(self, bot: str, run: _Run) -> bool:
        wanted = self._wanted.get(bot)
        return wanted is None or wanted.is_paused or (wanted.version, wanted.games) != (run.version, run.games)

    def _on_ended(self, ended: BotEnded, now: float) -> list[Effect]:
        run = self._runs.get(ended.bot)
        if run is None or run.runner != ended.runner:
            return []
        since = now
        if ended.runner_failed:
            self._runners[ended.runner].rests_until = now + RUNNER_REST_S
            since = run.since
        elif not run.is_finishing or (run.is_last and now - run.started < FIRST_RESTART_DELAY_S):
            self._delay(ended.bot, run, now)
        if ended.runner_failed or not (run.is_finishing or run.is_steady(now)):
            self._misfits.setdefault(ended.bot, {})[run.runner] = now
        del self._runs[ended.bot]
        self._runners[run.runner].bots.remove(ended.bot)
        self._await_slot(ended.bot, since)
        if run.is_finishing and self._is_playing(ended.bot):
            self._uncertain.add(ended.bot)
        return [StopBot(run.runner, ended.bot)]

    def _delay(self, bot: str, run: _Run, now: float) -> None:
        before = self._delays.get(bot)
        is_first = before is None or run.is_steady(now)
        seconds = FIRST_RESTART_DELAY_S if is_first or before is None else min(2 * before.seconds, MAX_RESTART_DELAY_S)
        self._delays[bot] = _Delay(seconds, now + seconds)

    def _await_slot(self, bot: str, since: float) -> None:
        if bot in self._wanted:
            self._waiting[bot] = since

    def _on_checked(self, checked: VersionChecked, now: float) -> list[Effect]:
        if self.is_checking(checked.runner, checked.version):
            check = self._runners[checked.runner].checks.pop(checked.version)
            self._checked_at[check.bot] = now
            self._lost_checks.pop(checked.version, None)
        return []

    def _on_check_failed(self, failed: CheckFailed, now: float) -> list[Effect]:
        if self.is_checking(failed.runner, failed.version):
            runner = self._runners[failed.runner]
            runner.rests_until = now + RUNNER_REST_S
            self._unchecked[failed.version] = runner.checks.pop(failed.version)
        return []

    def _on_match_waits(self, waits: MatchWaits, now: float) -> list[Effect]:
        self._matches.add(waits)
        return []

    def _on_match_withdrawn(self, withdrawn: MatchWithdrawn, now: float) -> list[Effect]:
        return [*self._matches.withdraw(withdrawn.match)]

    def _on_match_played(self, played: MatchPlayed, now: float) -> list[Effect]:
        if self.is_playing_match(played.runner, played.match):
            self._matches.end(played.match)
        return []

    def _on_match_failed(self, failed: MatchFailed, now: float) -> list[Effect]:
        if not self.is_playing_match(failed.runner, failed.match):
            return []
        self._runners[failed.runner].rests_until = now + RUNNER_REST_S
        return [self._matches.put_back(failed.match)]

    def _finish(self, bots: Iterable[str]) -> Iterator[FinishBot]:
        for bot in bots:
            run = self._runs[bot]
            if not run.is_finishing:
                run.is_finishing = True
                yield FinishBot(run.runner, bot)

    def _start_what_waits(self, now: float) -> list[Effect]:
        """Start one check on each runner that makes none. Then start in the free slots bots with a match under way,
        matches of tournaments, other bots, and further checks, in this order. Then let bots that have had their turn
        finish, for those that still wait.
        """
        effects: list[Effect] = []
        for number, runner in self._runners.items():
            if not runner.checks and runner.takes_more(now):
                effects += self._start_check(number, now)
        waiting = [bot for bot in self._waiting if self._may_start(bot, now)]
        waiting.sort(key=lambda bot: (not self._is_playing(bot), self._waiting[bot]))
        urgent = [bot for bot in waiting if self._is_playing(bot)]
        others = waiting[len(urgent) :]
        effects += self._start_bots(urgent, None, now)
        while urgent and (stopped := self._stop_match(now)) is not None:
            effects += [stopped, *self._start_bots(urgent, None, now)]
        reserved = None
        if not urgent:
            reserved = self._start_matches(effects, now, has_waiting_bots=bool(others))
            effects += self._start_bots(others, reserved, now)
        while (freest := self._find_freest(now, reserved)) is not None and (more := self._start_check(freest, now)):
            effects += more
        return [*effects, *self._end_turns([*urgent, *others], now)]

    def _start_bots(self, waiting: list[str], reserved: int | None, now: float) -> Iterator[Effect]:
        """Start the bots in free slots, but for those of the runner `reserved`, and remove them from `waiting`."""
        while waiting and (freest := self._find_freest(now, reserved, waiting[0])) is not None:
            yield from self._start_bot(freest, waiting.pop(0), now)

    def _stop_match(self, now: float) -> StopMatch | None:
        """Stop the match that began last on a runner that takes a bot; None if there is none."""
        matches = self._matches.matches_on([number for number, one in self._runners.items() if one.takes_more(now)])
        return self._matches.put_back(matches[-1]) if matches else None

    def _start_matches(self, effects: list[Effect], now: float, *, has_waiting_bots: bool) -> int | None:
        """Start matches of tournaments. If one may start and has no room, return the runner whose slots are reserved
        for it, on which bots that have had their turn finish.
        """
        while (first := self._matches.first_waiting) is not None:
            match, seats = first
            is_within_share = self._matches.slots + seats <= max(int(MATCH_SLOTS_RATIO * self.slots), seats)
            freest = self._find_freest(now, None)
            if freest is not None and self._free_slots(freest) >= seats and (is_within_share or not has_waiting_bots):
                effects.append(self._matches.start(freest, match))
            else:
                return self._make_room(effects, seats, now) if is_within_share else None
        return None

    def _make_room(self, effects: list[Effect], seats: int, now: float) -> int | None:
        """Let bots finish on the runner that soonest has as many free slots, and return it; None without one."""
        possible = [number for number, one in self._runners.items() if one.slots >= seats and one.takes_more(now)]
        coming = {
            number: self._free_slots(number) + sum(self._runs[bot].is_finishing for bot in self._runners[number].bots)
            for number in possible
        }
        chosen = max(coming, key=coming.__getitem__, default=None)
        if chosen is not None:
            staying = [bot for bot in self._runners[chosen].bots if not self._runs[bot].is_finishing]
            over = [bot for bot in staying if now - self._runs[bot].started >= MIN_TURN_S]
            over.sort(key=lambda bot: (self._runs[bot].started, bot))
            effects += self._finish(over[: max(0, seats - coming[chosen])])
        return chosen

    def _may_start(self, bot: str, now: float) -> bool:
        return bot not in self._uncertain and (bot not in self._delays or self._delays[bot].until <= now)

    def _free_slots(self, number: int) -> int:
        runner = self._runners[number]
        extra_checks = max(0, len(runner.checks) - 1)
        return runner.slots - len(runner.bots) - self._matches.slots_on(number) - extra_checks

    def _find_freest(self, now: float, reserved: int | None, bot: str = "") -> int | None:
        """Return the runner with most free slots that is not `reserved`, if possible one that fits the bot; None if no
        slot is free.
        """
        free = {
            number: self._free_slots(number)
            for number, one in self._runners.items()
            if one.takes_more(now) and number != reserved
        }
        misfits = self._misfits.get(bot, {})
        freest = max(
            free, key=lambda number: (free[number] > 0, -misfits.get(number, -math.inf), free[number]), default=None
        )
        return freest if freest is not None and free[freest] > 0 else None

    def _start_bot(self, number: int, bot: str, now: float) -> list[Effect]:
        """Start a bot on a runner. If it is paused, or its version was replaced, it only finishes its match."""
        wanted = self._wanted[bot]
        version = wanted.version if wanted.began is None else wanted.began
        self._runners[number].bots.add(bot)
        is_last = wanted.is_paused or version != wanted.version
        self._runs[bot] = _Run(version, wanted.games, number, now, self._waiting.pop(bot), is_last)
        finishing = self._finish([bot] if is_last else [])
        return [StartBot(number, bot, version), *finishing]

    def _start_check(self, number: int, now: float) -> list[Effect]:
        """Start the check that waits longest on a runner. A bot's checks are made one after the other, and the next one
        waits since the one before has ended.
        """
        busy = {check.bot for runner in self._runners.values() for check in runner.checks.values()}
        waiting = [check for check in self._unchecked.values() if check.bot not in busy]
        if not waiting:
            return []
        first = min(
            waiting, key=lambda check: (max(check.since, self._checked_at.get(check.bot, check.since)), check.since)
        )
        self._runners[number].checks[first.version] = self._unchecked.pop(first.version)
        return [StartCheck(number, first.version)]

    def _end_turns(self, waiting: list[str], now: float) -> Iterator[FinishBot]:
        """Let bots finish so that those that wait get slots: those that have had their slots longest and, for a bot
        with a match under way, those without one, which need no turn first.
        """
        running = [bot for bot, run in self._runs.items() if self._runners[run.runner].takes_more(now)]
        yielding = sum(self._runs[bot].is_finishing for bot in running)
        staying = [bot for bot in running if not self._runs[bot].is_finishing]
        staying.sort(key=lambda bot: self._runs[bot].started)
        for bot in waiting[yielding:]:
            idle = (other for other in staying if self._is_playing(bot) and not self._is_playing(other))
            over = (other for other in staying if now - self._runs[other].started >= MIN_TURN_S)
            other = next(idle, None) or next(over, None)
            if other is not None:
                staying.remove(other)
                yield from self._finish([other])
            elif not self._is_playing(bot):
                break  # nor is there a slot for those behind it

    def _balance(self, now: float) -> Iterator[FinishBot]:
        """Let a bot finish whose runner has at least `MIN_SLOT_DIFFERENCE` free slots less than another one that fits
        the bot, where it starts then: one of the fullest runner, if possible one without a match. One bot moves at a
        time, and only while nothing else can be started soon, checked or played, and no bot may soon end by itself.
        """
        if self._unchecked or self._matches.slots or self._matches.first_waiting is not None:
            return
        if any(self._may_start(bot, now + FIRST_RESTART_DELAY_S) for bot in self._waiting):
            return
        if any(
            run.is_finishing or (bot in self._misfits and not run.is_steady(now)) for bot, run in self._runs.items()
        ):
            return
        if any(runner.checks for runner in self._runners.values()):
            return
        free = {number: self._free_slots(number) for number, one in self._runners.items() if one.takes_more(now)}
        movable = [
            (free[run.runner], self._is_playing(bot), run.started, bot)
            for bot, run in self._runs.items()
            if run.runner in free
            and now - run.started >= MIN_TURN_S
            and max(free[one] for one in free if one not in self._misfits.get(bot, ()) or one == run.runner)
            >= free[run.runner] + MIN_SLOT_DIFFERENCE
        ]
        if movable:
            yield from self._finish([min(movable)[-1]])

    def _is_playing(self, bot: str) -> bool:
        return bot in self._wanted and self._wanted[bot].began is not None


_HANDLERS: Mapping[type[Event], Callable[[Fleet, Any, float], list[Effect]]] = {
    RunnerJoined: Fleet._on_joined,
    RunnerLeaving: Fleet._on_leaving,
    RunnerLeft: Fleet._on_left,
    Snapshot: Fleet._on_snapshot,
    BotEnded: Fleet._on_ended,
    VersionChecked: Fleet._on_checked,
    CheckFailed: Fleet._on_check_failed,
    MatchWaits: Fleet._on_match_waits,
    MatchWithdrawn: Fleet._on_match_withdrawn,
    MatchPlayed: Fleet._on_match_played,
    MatchFailed: Fleet._on_match_failed,
}
"""The method that handles each event."""
