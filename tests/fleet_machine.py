"""Runners and hosted bots under whatever happens, as a state machine that hypothesis drives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from arena.hosting.fleet import (
    MAX_LOST_RUNNERS,
    MAX_RESTART_DELAY_S,
    MIN_SLOT_DIFFERENCE,
    MIN_TURN_S,
    RUNNER_REST_S,
    BotEnded,
    CheckFailed,
    Effect,
    Event,
    FinishBot,
    Fleet,
    GiveUpCheck,
    HostedBot,
    RunnerJoined,
    RunnerLeaving,
    RunnerLeft,
    Snapshot,
    StartBot,
    StartCheck,
    StopBot,
    UncheckedVersion,
    VersionChecked,
)
from arena.hosting.match_slots import AssignMatch, MatchFailed, MatchPlayed, MatchWaits, MatchWithdrawn, StopMatch

BOTS = ("ann", "bob", "cid", "dan", "eve")
BOT = st.sampled_from(BOTS)
RUNNER = st.integers(1, 3)
SNAPSHOT_INTERVAL_S = 3.0
PATIENCE_S = MAX_RESTART_DELAY_S + (len(BOTS) + 1) * (MIN_TURN_S + SNAPSHOT_INTERVAL_S)
"""A time within which each bot has its turn on a single slot."""


class FleetMachine(RuleBasedStateMachine):
    """An arena and its runners, which do what the effects say. Each runner is known by its latest number."""

    def __init__(self) -> None:
        super().__init__()
        self.fleet = Fleet()
        self.now = 0.0
        self.slots: dict[int, int] = {}
        self.leaving: set[int] = set()
        self.resting: dict[int, float] = {}
        self.runs: dict[str, tuple[int, int]] = {}
        """The runner and the version of each bot that runs."""
        self.finishing: set[str] = set()
        self.checks: dict[int, tuple[int, str]] = {}
        """The runner and the bot of each check under way, by version."""
        self.active: dict[str, int] = {}
        self.paused: set[str] = set()
        self.began: dict[str, int] = {}
        """The version that began the match under way of a bot, which lasts while the bot is moved."""
        self.told: dict[str, int] = {}
        """The versions that began matches under way, as far as the fleet can know."""
        self.unchecked: dict[int, str] = {}
        self.lost: dict[int, int] = {}
        self.matches: dict[str, int] = {}
        """The seats of the matches of tournaments that are to be played."""
        self.played: dict[str, int] = {}
        """The runner of each match that is played."""
        self.count = 0

    def feed(self, event: Event) -> None:
        for effect in self.fleet.receive(event, self.now):
            self.perform(effect)

    def perform(self, effect: Effect) -> None:
        match effect:
            case StartBot(runner, bot, version):
                assert bot not in self.runs, "no bot is on two runners"
                assert version == self.told.get(bot, self.active[bot])
                assert bot in self.told or bot not in self.paused
                self.check_takes_more(runner)
                self.runs[bot] = runner, version
            case FinishBot(runner, bot):
                assert self.runs[bot][0] == runner
                assert bot not in self.finishing, "it is told once"
                self.finishing.add(bot)
            case StopBot(runner, bot):
                assert self.runs.pop(bot)[0] == runner
                self.finishing.discard(bot)
            case StartCheck(runner, version):
                bot = self.unchecked[version]
                assert bot not in [other for _, other in self.checks.values()], "one check of a bot at a time"
                self.check_takes_more(runner)
                self.checks[version] = runner, bot
            case AssignMatch(runner, match):
                assert match not in self.played, "no match is on two runners"
                self.check_takes_more(runner)
                self.played[match] = runner
            case StopMatch(runner, match):
                assert self.played.pop(match) == runner
            case GiveUpCheck(version):
                assert self.lost.pop(version) >= MAX_LOST_RUNNERS
                del self.unchecked[version]

    def check_takes_more(self, runner: int) -> None:
        assert runner not in self.leaving
        assert self.resting.get(runner, 0.0) <= self.now

    def snapshot(self) -> None:
        self.told = dict(self.began)
        bots = [
            HostedBot(bot, version, began=self.began.get(bot), is_paused=bot in self.paused)
            for bot, version in self.active.items()
            if bot in self.began or bot not in self.paused
        ]
        self.feed(Snapshot(tuple(bots), tuple(UncheckedVersion(*one) for one in sorted(self.unchecked.items()))))

    def running_on(self, runner: int) -> list[str]:
        return [bot for bot, (where, _) in self.runs.items() if where == runner]

    @rule(slots=st.integers(1, 3))
    def a_runner_joins(self, slots: int) -> None:
        if len(self.slots) < 3:
            self.count += 1
            self.slots[self.count] = slots
            self.feed(RunnerJoined(self.count, slots))

    @rule(at=RUNNER)
    def a_runner_is_told_to_stop(self, at: int) -> None:
        for runner in self.nth(self.slots.keys() - self.leaving, at):
            self.leaving.add(runner)
            self.feed(RunnerLeaving(runner))

    @rule(at=RUNNER)
    def a_runner_is_lost(self, at: int) -> None:
        for runner in self.nth(self.slots, at):
            del self.slots[runner]
            for version, (where, _) in list(self.checks.items()):
                if where == runner:
                    del self.checks[version]
                    self.lost[version] = self.lost.get(version, 0) + 1
            self.feed(RunnerLeft(runner))

    @rule(bot=BOT)
    def a_version_passes(self, bot: str) -> None:
        self.count += 1
        self.active[bot] = self.count
        self.paused.discard(bot)
        self.snapshot()

    @rule()
    def all_versions_are_replaced(self) -> None:
        for bot in self.active:
            self.count += 1
            self.active[bot] = self.count
        self.snapshot()

    @rule(bot=BOT)
    def a_bot_is_paused(self, bot: str) -> None:
        if bot in self.active:
            self.paused.add(bot)
            self.snapshot()

    @rule(bot=BOT)
    def a_bot_is_revoked(self, bot: str) -> None:
        self.paused.discard(bot)
        self.active.pop(bot, None)
        self.began.pop(bot, None)
        self.snapshot()

    @rule()
    def matches_begin(self) -> None:
        for bot in (self.runs.keys() & self.active.keys()) - self.finishing:
            self.began.setdefault(bot, self.runs[bot][1])
        self.snapshot()

    @rule(bot=BOT)
    def a_match_ends(self, bot: str) -> None:
        self.began.pop(bot, None)

    @rule(bot=BOT, runner_failed=st.booleans())
    def a_bot_ends(self, bot: str, runner_failed: bool) -> None:
        if bot in self.runs:
            self.end(bot, runner_failed=runner_failed)

    @rule(bot=BOT)
    def a_program_is_handed_in(self, bot: str) -> None:
        self.count += 1
        self.unchecked[self.count] = bot
        self.snapshot()

    @rule(at=RUNNER, fails=st.booleans())
    def a_check_ends(self, at: int, fails: bool) -> None:
        for version in self.nth(self.checks, at):
            self.end_check(version, runner_failed=fails)

    @rule(seats=st.integers(2, 3))
    def a_match_is_to_be_played(self, seats: int) -> None:
        if len(self.matches) < 4:
            self.count += 1
            self.matches[f"match-{self.count}"] = seats
            self.feed(MatchWaits(f"match-{self.count}", seats))

    @rule(at=RUNNER, fails=st.booleans())
    def a_played_match_ends(self, at: int, fails: bool) -> None:
        for match in sorted(self.played)[at - 1 : at]:
            self.end_match(match, runner_failed=fails)

    @rule(at=RUNNER)
    def a_match_is_withdrawn(self, at: int) -> None:
        for match in sorted(self.matches)[at - 1 : at]:
            del self.matches[match]
            self.feed(MatchWithdrawn(match))

    @rule(seconds=st.sampled_from((1.0, SNAPSHOT_INTERVAL_S, MIN_TURN_S, RUNNER_REST_S, MAX_RESTART_DELAY_S)))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        self.snapshot()

    @invariant()
    def runners_have_no_more_than_their_slots(self) -> None:
        for runner, slots in self.slots.items():
            checks = sum(where == runner for where, _ in self.checks.values())
            bots = len(self.running_on(runner))
            matches = sum(self.matches[match] for match, where in self.played.items() if where == runner)
            assert matches == self.fleet.match_slots_on(runner)
            assert bots + matches + max(0, checks - 1) <= slots
        assert {where for where, _ in [*self.runs.values(), *self.checks.values()]} <= self.slots.keys()
        assert set(self.played.values()) <= self.slots.keys()
        assert {bot: self.fleet.runner_of(bot) for bot in self.runs} == {bot: at for bot, (at, _) in self.runs.items()}

    def teardown(self) -> None:
        """Nobody waits for ever: on one slot, with matches and checks that end, everything has its turn."""
        while self.slots:
            self.a_runner_is_lost(1)
        self.count += 1
        self.slots = {self.count: 1}
        self.feed(RunnerJoined(self.count, 1))
        assert not self.played, "one slot is too few for a match"
        seen: set[str] = set()
        until = self.now + PATIENCE_S
        while self.now < until:
            seen |= {bot for bot, (_, version) in self.runs.items() if version == self.active.get(bot)}
            for bot in list(self.finishing):
                self.end(bot)
            for version in list(self.checks):
                self.end_check(version)
            self.began.clear()
            self.time_passes(SNAPSHOT_INTERVAL_S)
        assert seen >= self.active.keys() - self.paused
        assert not self.unchecked
        self.everything_goes_on_beside_matches()

    def everything_goes_on_beside_matches(self) -> None:
        """On four slots, all bots have their turns beside a tournament whose matches never end to come, and it goes on
        beside them.
        """
        self.count += 1
        self.slots[self.count] = 4
        self.feed(RunnerJoined(self.count, 4))
        seen, count = set[str](), 0
        until = self.now + PATIENCE_S
        while self.now < until:
            while len(self.matches) < 4:
                self.a_match_is_to_be_played(2)
            seen |= self.runs.keys()
            count += len(self.played)
            for bot in list(self.finishing):
                self.end(bot)
            for match in list(self.played):
                self.end_match(match)
            self.began.clear()
            self.time_passes(SNAPSHOT_INTERVAL_S)
        assert seen >= self.active.keys() - self.paused
        assert count
        self.bots_are_spread_evenly()

    def bots_are_spread_evenly(self) -> None:
        """Once nothing else is to be done, no runner has two free slots more than another one, and no bot moves, though
        one bot ends by itself again and again.
        """
        for match in list(self.matches):
            del self.matches[match]
            self.feed(MatchWithdrawn(match))
        crashing = min(self.active.keys() - self.paused, default="")
        until = self.now + PATIENCE_S
        while self.now < until:
            for bot in [bot for bot in self.runs if bot in self.finishing or bot == crashing]:
                self.end(bot)
            for _ in range(1 + self.count % 2):
                self.time_passes(SNAPSHOT_INTERVAL_S)
        assert not self.finishing
        staying = [runner for bot, (runner, _) in self.runs.items() if bot != crashing]
        free = {runner: slots - staying.count(runner) for runner, slots in self.slots.items()}
        assert all(max(free.values()) - free[runner] < MIN_SLOT_DIFFERENCE for runner in staying)
        self.no_bot_loses_its_place_to_a_runner_that_can_not_run_it()

    def no_bot_loses_its_place_to_a_runner_that_can_not_run_it(self) -> None:
        """Two runners join that have most free slots, and can run no bot: one says so. Each bot tries each of them once
        at most.
        """
        unfit = {self.count + 1: False, self.count + 2: True}
        self.count += 2
        for runner in unfit:
            self.slots[runner] = 9
            self.feed(RunnerJoined(runner, 9))
        tries = Counter[tuple[str, int]]()
        for _ in range(80):
            for bot, (runner, _) in list(self.runs.items()):
                if runner in unfit:
                    tries[bot, runner] += 1
                    self.end(bot, runner_failed=unfit[runner])
                elif bot in self.finishing:
                    self.end(bot)
            self.time_passes(MIN_TURN_S)
        assert max(tries.values(), default=1) == 1
        assert not self.finishing
        assert self.runs.keys() == self.active.keys() - self.paused

    def end_match(self, match: str, *, runner_failed: bool = False) -> None:
        runner = self.played[match]
        if runner_failed:
            self.resting[runner] = self.now + RUNNER_REST_S
            self.feed(MatchFailed(runner, match))
            return
        del self.played[match], self.matches[match]
        self.feed(MatchPlayed(runner, match))

    def end(self, bot: str, *, runner_failed: bool = False) -> None:
        runner = self.runs[bot][0]
        if bot in self.finishing:
            self.began.pop(bot, None)
            self.told.pop(bot, None)
        if runner_failed:
            self.resting[runner] = self.now + RUNNER_REST_S
        self.feed(BotEnded(runner, bot, runner_failed=runner_failed))

    def end_check(self, version: int, *, runner_failed: bool = False) -> None:
        runner, _ = self.checks.pop(version)
        if runner_failed:
            self.resting[runner] = self.now + RUNNER_REST_S
            self.feed(CheckFailed(runner, version))
            return
        del self.unchecked[version]
        self.lost.pop(version, None)
        self.feed(VersionChecked(runner, version))

    @staticmethod
    def nth(choices: Iterable[int], at: int) -> list[int]:
        """One of the choices in a list, by its place; none if there are none."""
        found = sorted(choices)
        return found[at % len(found) :][:1] if found else []
