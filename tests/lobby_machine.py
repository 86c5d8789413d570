"""A lobby under whatever happens, as a state machine that hypothesis drives: restarts too, and matches that fail."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from arena.lobby.effects import ChargeSeek, LobbyEffect, StartAssigned, StartMatch, StopServer, Tell, WakeAt
from arena.lobby.events import (
    AssignmentWithdrawn,
    BotJoined,
    BotLeft,
    BotLoaded,
    BotReady,
    DrainCancelled,
    DrainStarted,
    LobbyEvent,
    MatchAdded,
    MatchAssigned,
    MatchBegun,
    MatchNotBegun,
    MatchRated,
    MatchUnrated,
    QuotaChanged,
    SeatReleased,
    SeekPlaced,
    SeekWithdrawn,
    Tick,
)
from arena.lobby.ladder_pairing import MAX_WAIT_S
from arena.lobby.lobby import Lobby
from arena.lobby.log import LobbyLogEntry, encode_line, replay
from arena.lobby.policy import LobbyPolicy
from arena.lobby.seeks import ActiveSeek
from protocol.messages import Error, Seek

BOTS = ("ann", "bob", "cid", "dan", "eve", "fay")
ADDRESSES = ("one", "two")
SEEKS: tuple[dict[str, Any], ...] = (
    {"game": "nim"},
    {"game": "nim", "config": {"heaps": [1]}, "rated": False},
    {"game": "nim", "open": True},
    {"game": "nim", "private": True},
    {"game": "risk-campaign", "config": {"players": 3}},
    {"game": "risk-campaign", "open": True},
)
"""What bots seek, beside the opponents that they name."""
POLICIES = (
    LobbyPolicy(),
    LobbyPolicy(max_matches_per_hour=60, rate_burst_matches=2, rated_per_pair=1, pairing_batch_size=5),
    LobbyPolicy(approved_only=True, open_slot_divisor=1, reserve_delay_s=0.5, max_absent_bots=1, max_trusted_bots=1),
)
BOT = st.sampled_from(BOTS)
RARELY = st.sampled_from((False,) * 9 + (True,))
PATIENCE_S = 2 * MAX_WAIT_S
"""A time within which bots that may play each other meet."""


class LobbyMachine(RuleBasedStateMachine):
    """One server from start to start, with what it knows of its matches, so that the lobby can be compared."""

    lobby: Lobby
    counts: ClassVar[Counter[str]] = Counter()
    """How often what happened, over all runs."""

    @initialize(policy=st.sampled_from(POLICIES), seed=st.integers(0, 2**32))
    def open(self, policy: LobbyPolicy, seed: int) -> None:
        self.policy = policy
        self.chance = Random(seed)
        self.now = 1000.0
        self.numbers = 0
        self.slots: dict[str, int] = {}
        """The slots of the bots that are connected."""
        self.addresses: dict[str, str] = {}
        self.matches: dict[str, tuple[str, ...]] = {}
        """The bots that each match holds a slot of."""
        self.rated: dict[str, str] = {}
        """The pools of the rated matches under way."""
        self.assigned: dict[str, tuple[str, ...]] = {}
        """The assigned matches that wait for their bots."""
        self.failure: bool | None = None
        """How the next match fails: whether its seeks are active again. None: it begins."""
        self._start()

    @rule(rarely=RARELY)
    def restart(self, rarely: bool) -> None:
        if rarely:
            self._start()

    def _start(self) -> None:
        """Start anew: connections and seeks are gone, and matches go on."""
        self.lobby = Lobby(self.policy)
        self.wake_at: float | None = None
        self.charged: Counter[str] = Counter()
        self.log: list[bytes] = []
        self.effects: list[list[LobbyEffect]] = []
        self.slots, self.addresses, self.assigned = {}, {}, {}
        for match, bots in self.matches.items():
            self.feed(MatchAdded(match, bots))

    @rule(bot=BOT, slots=st.integers(1, 3), address=st.sampled_from(ADDRESSES), person=st.booleans())
    def join(self, bot: str, slots: int, address: str, person: bool) -> None:
        if bot not in self.slots:
            self.slots[bot], self.addresses[bot] = slots, address
            effects = self.feed(BotJoined(bot.title(), slots, address, person))
            if self.lobby.is_draining:
                assert any(isinstance(effect, Tell) and effect.is_greeting for effect in effects)

    @rule(bot=BOT)
    def leave(self, bot: str) -> None:
        if self.slots.pop(bot, None) is not None:
            self.feed(BotLeft(bot))

    @rule(bot=BOT, seek=st.sampled_from(SEEKS), opponent=BOT, names=st.sampled_from((False, False, True)))
    def seek(self, bot: str, seek: dict[str, Any], opponent: str, names: bool) -> None:
        self.join(bot, 2, ADDRESSES[0], person=False)
        if names and not seek.get("open") and not seek.get("private"):
            seek = {**seek, "opponents": [opponent]}
        before = len(self.lobby.seeks_of(bot))
        free = self._free(bot)
        effects = self.feed(SeekPlaced(bot, Seek(id=self._number("s"), **seek)))
        refused = any(isinstance(effect, Tell) and isinstance(effect.message, Error) for effect in effects)
        assert len(self.lobby.seeks_of(bot)) == before + (not refused)
        assert refused or free > 0

    @rule(bots=st.lists(BOT, min_size=2, unique=True), seek=st.sampled_from(SEEKS), opponent=BOT)
    def several_seek(self, bots: list[str], seek: dict[str, Any], opponent: str) -> None:
        for bot in bots:
            self.seek(bot, seek, opponent, names=False)

    @rule(bot=BOT)
    def withdraw(self, bot: str) -> None:
        for seek in list(self.lobby.seeks_of(bot))[:1]:
            self.feed(SeekWithdrawn(bot, seek.id))
            assert seek.id not in [other.id for other in self.lobby.seeks_of(bot)]

    @rule(seconds=st.floats(0, 0.1) | st.floats(0, 5))
    def wait(self, seconds: float) -> None:
        ends = self.now + seconds
        while self.wake_at is not None and self.wake_at <= ends:
            self.now, self.wake_at = max(self.now, self.wake_at), None
            self.feed(Tick(self._number("m")))
        self.now = ends

    @rule(seconds=st.floats(0, 3))
    def wait_while_nothing_may_start(self, seconds: float) -> None:
        before = dict(self.matches)
        if self.wake_at is not None and not self.assigned:
            self.now, self.wake_at = max(self.now, self.wake_at) + seconds, None
            self.feed(Tick(self._number("m"), is_paused=True))
            assert self.matches == before

    @precondition(lambda self: not self.lobby.is_draining and not self.assigned)
    @rule()
    def nobody_waits_for_ever_for_whom_it_may_meet(self) -> None:
        self.failure = None
        self.wait(PATIENCE_S)
        waiting = [seek for bot in BOTS for seek in self.lobby.seeks_of(bot) if self._may_start(seek)]
        for seek in waiting:
            alike = {one.key for one in waiting if one.spec is seek.spec and one.is_ladder_seek}
            named = [one for one in waiting if one.spec is seek.spec and {one.key} == seek.opponents]
            if seek.is_ladder_seek:
                assert len(alike) < seek.spec.seats, self.lobby.explain(seek.key, self.now)
            elif seek.spec.seats == 2:
                assert not any(one.opponents <= {seek.key} for one in named), self.lobby.explain(seek.key, self.now)

    @rule(begins=st.sampled_from((None, None, True, False)))
    def the_next_match_may_fail(self, begins: bool | None) -> None:
        self.failure = begins

    @precondition(lambda self: self.matches)
    @rule(number=st.integers(0, 9))
    def get_ready(self, number: int) -> None:
        for bot in self._match(number)[1]:
            self.feed(BotReady(bot))

    @precondition(lambda self: self.matches)
    @rule(number=st.integers(0, 9), how=st.sampled_from(("stays", "misses", "leaves")))
    def end_match(self, number: int, how: str) -> None:
        match, bots = self._match(number)
        pool = self.rated.pop(match, None)
        rated = pool is not None and how == "stays"
        self.feed(MatchRated(match, pool or "", bots, ((25.0, 8.0),) * len(bots)) if rated else MatchUnrated(match))
        del self.matches[match]
        for bot in bots:
            self.feed(SeatReleased(match, bot, missed=how == "misses", stayed=how == "stays"))
            if how == "misses":
                assert not self.lobby.seeks_of(bot)

    @rule(address=st.sampled_from(ADDRESSES), is_used_up=st.booleans())
    def change_quota(self, address: str, is_used_up: bool) -> None:
        self.feed(QuotaChanged(address, is_used_up))

    @rule(bot=BOT, mu=st.floats(0, 50), is_approved=st.booleans())
    def load(self, bot: str, mu: float, is_approved: bool) -> None:
        self.feed(BotLoaded(bot, {"nim/classic": (mu, 3.0)}, is_approved, has_history=True))

    @rule(bots=st.lists(BOT, min_size=2, max_size=2, unique=True), wait_s=st.floats(0, 9))
    def assign(self, bots: list[str], wait_s: float) -> None:
        match = self._number("assigned ")
        self.assigned[match] = tuple(bots)
        self.feed(MatchAssigned(match, tuple(bots), wait_s))

    @precondition(lambda self: self.assigned)
    @rule()
    def withdraw_assignment(self) -> None:
        match = next(iter(self.assigned))
        del self.assigned[match]
        self.feed(AssignmentWithdrawn(match))

    @rule(timeout_s=st.none() | st.floats(0, 5), rarely=RARELY)
    def drain(self, timeout_s: float | None, rarely: bool) -> None:
        if rarely:
            effects = self.feed(DrainStarted(timeout_s))
            assert (StopServer() in effects) == (not self.matches)

    @rule()
    def cancel_drain(self) -> None:
        self.feed(DrainCancelled())

    @rule(bots=st.lists(BOT, min_size=2, unique=True), seek=st.sampled_from(SEEKS))
    def no_seek_is_served_while_it_drains(self, bots: list[str], seek: dict[str, Any]) -> None:
        self.feed(DrainStarted())
        self.several_seek(bots, seek, bots[0])
        self.wait(PATIENCE_S)
        self.feed(DrainCancelled())

    @rule(bots=st.lists(BOT, min_size=2, max_size=2, unique=True))
    def two_meet_as_soon_as_they_may(self, bots: list[str]) -> None:
        for bot in bots:
            self.join(bot, 3, ADDRESSES[1], person=False)
        self.feed(QuotaChanged(self.addresses[bots[0]], is_used_up=True))
        for bot, other in (bots, reversed(bots)):
            self.seek(bot, SEEKS[0], other, names=True)
        self.wait(PATIENCE_S)
        self.feed(QuotaChanged(self.addresses[bots[0]], is_used_up=False))
        if not self.lobby.is_draining and not self.assigned:
            self.nobody_waits_for_ever_for_whom_it_may_meet()

    @invariant()
    def the_lobby_knows_what_is_free_and_charged(self) -> None:
        for bot, slots in self.slots.items():
            held = sum(bot in bots for bots in self.matches.values())
            assert self.lobby.free_slots(bot) == slots - held - len(self.lobby.seeks_of(bot))
        assert all(not self.lobby.seeks_of(bot) for bot in BOTS if bot not in self.slots)
        sought = Counter(seek.address for bot in BOTS for seek in self.lobby.seeks_of(bot))
        assert +self.charged == sought
        assert sum(self.lobby.seeking.values()) == sum(sought.values())

    @invariant()
    def two_of_whom_one_names_the_other_are_looked_at_when_they_may_meet(self) -> None:
        seeks = [seek for bot in self.slots for seek in self.lobby.seeks_of(bot) if seek.spec.seats == 2]
        pairs = [(one, other) for one in seeks for other in seeks if one.opponents == {other.key}]
        for one, other in pairs:
            fits = one.spec is other.spec and other.opponents <= {one.key}
            may_meet_at = self._may_meet_at(one, other)
            if fits and may_meet_at is not None and not self.lobby.is_draining:
                assert self.wake_at is not None, "nobody looks at them again"
                assert self.wake_at <= may_meet_at + self.policy.pairing_interval_s

    def _may_meet_at(self, *seeks: ActiveSeek) -> float | None:
        """The first time at which all bots of these seeks may start a match, if nothing but time passes."""
        roster = self.lobby.roster
        pauses = [roster.suspensions.pause_s(seek.key, seek.address, self.now) for seek in seeks]
        times = sorted(self.now + pause_s for pause_s in (0.0, *pauses))
        return next((at for at in times if all(roster.capacity(seek.key, at) for seek in seeks)), None)

    @invariant()
    def every_seek_that_waits_has_a_reason(self) -> None:
        for bot in self.slots:
            assert all(self.lobby.explain(bot, self.now).values())

    def teardown(self) -> None:
        if hasattr(self, "log"):
            again = [effects for _, effects in replay(self.log, Lobby(self.policy))]
            assert again == self.effects, "the same events and seeds give the same effects"

    def feed(self, event: LobbyEvent) -> list[LobbyEffect]:
        entry = LobbyLogEntry(self.now, self.chance.getrandbits(32), event)
        self.log.append(encode_line(entry))
        effects = self.lobby.receive(event, self.now, entry.make_rng())
        self.effects.append(effects)
        self.counts.update(type(effect).__name__ for effect in effects)
        for effect in effects:
            if isinstance(effect, WakeAt):
                self.wake_at = effect.time
            elif isinstance(effect, ChargeSeek):
                self.charged[effect.address] += -1 if effect.refund else 1
            elif isinstance(effect, StartMatch):
                self._start_match(effect)
            elif isinstance(effect, StartAssigned):
                self._start_assigned(effect)
        return effects

    def _start_match(self, effect: StartMatch) -> None:
        bots = tuple(map(str.lower, effect.bots))
        assert not self.lobby.is_draining
        assert len(set(bots)) == effect.spec.seats, "each bot has one seat"
        for bot in bots:
            assert self._free_for_match(bot) > 0, "no bot is in more matches than it has slots"
        if self.failure is None:
            self.matches[effect.match] = bots
            if effect.pool is not None:
                self.rated[effect.match] = effect.pool
            self.feed(MatchAdded(effect.match, bots))
            self.feed(MatchBegun(effect.match))
        else:
            self.feed(MatchNotBegun(effect.match, seeks_again=self.failure))
            for bot, seek in zip(bots, effect.seeks, strict=True):
                assert (seek in [one.id for one in self.lobby.seeks_of(bot)]) == self.failure
            self.failure = None

    def _start_assigned(self, effect: StartAssigned) -> None:
        bots = self.assigned.pop(effect.match)
        for seat, bot in enumerate(bots):
            assert (bot not in self.slots) == (seat in effect.absent)
            assert seat in effect.absent or self._free_for_match(bot) > 0
        self.matches[effect.match] = bots
        self.feed(MatchAdded(effect.match, bots))

    def _free_for_match(self, bot: str) -> int:
        return self.slots[bot] - sum(bot in bots for bots in self.matches.values())

    def _free(self, bot: str) -> int:
        return self._free_for_match(bot) - len(self.lobby.seeks_of(bot))

    def _may_start(self, seek: ActiveSeek) -> bool:
        may_start = self.lobby.roster.capacity(seek.key, self.now) > 0
        return may_start and not self.lobby.rate_delay_s(seek.key, self.now)

    def _match(self, number: int) -> tuple[str, tuple[str, ...]]:
        return list(self.matches.items())[number % len(self.matches)]

    def _number(self, prefix: str) -> str:
        self.numbers += 1
        return f"{prefix}{self.numbers}"
