"""The lobby: which bots wait for matches, and who plays whom. `receive(event, now, rng)` returns effects for the server
to perform, in order.

Times are arguments, in seconds of one monotonic clock. The table at the end of this file says what each event does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from itertools import accumulate
from random import Random
from typing import Any

from msgspec.structs import replace

from arena.lobby import events
from arena.lobby.assignments import Assignments
from arena.lobby.effects import (
    CallBots,
    LoadBot,
    LobbyEffect,
    LookUpNames,
    NoteMissedMatch,
    RejectMessage,
    StartAssigned,
    StopServer,
    Tell,
    WakeAt,
)
from arena.lobby.events import LobbyEvent
from arena.lobby.explanation import explain_seek
from arena.lobby.known_bots import KnownBots
from arena.lobby.pairing import SeekPairing
from arena.lobby.policy import LobbyPolicy
from arena.lobby.roster import ConnectedBot, Roster
from arena.lobby.seek_checks import opponents_of, rules_of
from arena.lobby.seeks import ActiveSeek, match_spec_of, open_match_spec
from arena.lobby.suspensions import pause_message
from machine.histogram import Histogram
from protocol import error_codes
from protocol.errors import BotFault, MalformedMessage
from protocol.messages import Error, ListedSeek, Unseeked
from protocol.names import fold_name

WAIT_BUCKETS_S = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0)
"""The upper bounds, in seconds, of the buckets in the histogram of waits from seek to match."""

DRAINING_MESSAGE = "the arena is about to stop: no match begins any more; seeks wait, and end with this connection"
"""The message to bots when the arena starts to drain, or when they connect while it drains."""
DRAIN_CANCELLED_MESSAGE = "the arena goes on after all: matches begin again"
"""The message to bots when the arena stops draining."""

Effects = list[LobbyEffect]


class Lobby:
    """The seeks of connected bots, and all that decides which of them become matches.

    Each node of an arena has a lobby of its own. The node that pairs a game (see `GamesMoved`) gets all seeks for that
    game, and plays the matches. So its lobby decides alone, by its own snapshot of ratings. Ratings that changed
    elsewhere, by the operator or because the game has moved, arrive as `RatingsReloaded`.
    """

    def __init__(self, policy: LobbyPolicy | None = None) -> None:
        self._policy = policy or LobbyPolicy()
        self.roster = Roster(self._policy)
        """The connected bots, and the slots that matches hold."""
        self.known_bots = KnownBots(self._policy)
        """The ratings and encounters of the bots that are connected or were recently."""
        self._pairing = SeekPairing(self._policy, self.roster, self.known_bots)
        self.waits = Histogram(WAIT_BUCKETS_S)
        """The histogram of the seconds from seek to match."""
        self._assignments = Assignments(self._policy, self.roster)
        self.is_draining = False
        """True while no match may start, because the server is about to stop."""
        self._drain_ends: float | None = None
        """The time at which a draining server stops although matches are in progress, if there is one."""
        self._is_paused = False
        """True if the last `Tick` said that no seeks may start a match."""
        self._unknown: dict[str, None] = {}
        """The names that are known to be unregistered, oldest first."""
        self._urls: dict[str, str] = {}
        """The URL of the node that pairs a game, for each game that another node pairs."""
        self._quotas_due: float | None = None
        """The time of the next tick for used-up quotas; None while none are used up. Some recover by time alone."""
        self._rng: Random
        """The source of randomness for the current event."""
        self._wake_at: float | None = None
        """The time of the last `WakeAt`; None if there is none, or its time has come."""

    def receive(self, event: LobbyEvent, now: float, rng: Random) -> Effects:
        """Handle an event, and return the effects for the server to perform. `rng` draws among open seeks."""
        self._rng = rng
        effects = _HANDLERS[type(event)](self, event, now) or []
        due = self._next_due()
        if due != self._wake_at:
            self._wake_at = due
            effects.insert(0, WakeAt(due))  # first, because later effects may cause events that change it again
        return effects

    @property
    def seeking(self) -> Counter[tuple[str, bool]]:
        """The number of active seeks, by game and whether they are open. The two kinds count separately, because two
        open seeks never pair.
        """
        return self._pairing.seeking

    def seeks_of(self, bot: str) -> Collection[ActiveSeek]:
        """Return a bot's active seeks, oldest first."""
        return self._pairing.index.seeks_of(bot)

    def rate_delay_s(self, bot: str, now: float) -> float:
        """Return the seconds for which the rate limit delays a bot's ladder seeks; 0 if it has no such seeks."""
        return self._pairing.rate_delay_s(bot, now)

    def list_seeks(self, bot: str) -> list[ListedSeek]:
        """Return a bot's seeks without duplicates."""
        alike = dict.fromkeys(
            (
                seek.spec.game,
                seek.spec.preset,
                seek.spec.rated,
                seek.spec.open,
                seek.presets,
                seek.private,
                seek.opponents,
            )
            for seek in self.seeks_of(bot)
        )
        weights = accumulate(self._policy.naming_seek_weight if seek[-1] else 1 for seek in alike)
        return [
            ListedSeek(
                game=game,
                preset=preset,
                rated=rated,
                open=is_open,
                presets=sorted(presets),
                private=private,
                opponents=sorted(opponents),
                unknown=sorted(name for name in opponents if name in self._unknown),
            )
            for (game, preset, rated, is_open, presets, private, opponents), weight in zip(alike, weights, strict=True)
            if weight <= self._policy.max_listed_seeks
        ]

    def explain(self, bot: str, now: float) -> dict[str, str]:
        """Return for each seek of a bot, by id, why it has not become a match yet."""
        held = "no match begins, because the server drains" if self.is_draining else None
        held = "no match begins at present, because the host has a problem" if self._is_paused else held
        return {seek.id: held or explain_seek(seek, self._pairing, self.roster, now) for seek in self.seeks_of(bot)}

    def free_slots(self, bot: str) -> int:
        """Return the number of a bot's slots without a match or a seek; 0 or less while the bot is disconnected."""
        return self.roster.slots_without_match(bot) - len(self.seeks_of(bot))

    def _next_due(self) -> float | None:
        dates = (
            self.roster.suspensions.next_pause_end,
            self._pairing.due,
            self._assignments.next_due(),
            self._drain_ends,
            self._quotas_due,
        )
        return min((date for date in dates if date is not None), default=None)

    def _on_joined(self, event: events.BotJoined, now: float) -> Effects:
        bot = fold_name(event.bot)
        self.roster.online[bot] = ConnectedBot(event.bot, event.slots, event.address, event.is_person)
        self._unknown.pop(bot, None)
        self._assignments.is_changed = True
        effects: Effects = [] if self.known_bots.on_joined(bot) else [LoadBot(bot)]
        if self.is_draining:
            effects.append(Tell(bot, Error(code=error_codes.UNAVAILABLE, message=DRAINING_MESSAGE), is_greeting=True))
        return effects

    def _on_left(self, event: events.BotLeft, now: float) -> Effects:
        effects = self._pairing.end_all(event.bot)
        self.roster.online.pop(event.bot, None)
        self.known_bots.on_left(event.bot)
        return effects

    def _on_seek(self, event: events.SeekPlaced, now: float) -> Effects:
        if self._pairing.index.find(event.bot, event.seek.id) is not None:
            return [RejectMessage(f"seek: id {event.seek.id!r} is in force already: choose another")]
        refusal = self._refusal(event, now)
        if refusal is not None:
            return [Tell(event.bot, replace(refusal, ref=event.seek.id))]
        try:
            rules = rules_of(event.bot, event.seek)
        except MalformedMessage as fault:
            return [RejectMessage(str(fault))]
        except BotFault as fault:
            return [Tell(event.bot, Error(code=fault.code, message=str(fault), ref=event.seek.id))]
        connected, message = self.roster.online[event.bot], event.seek
        opponents = frozenset(opponents_of(message))
        # A person's seek for the slow clock is unrated in the bots' pool, since only unrated matches there can have it.
        slow_person = connected.is_person and message.slow
        ratable = (
            rules is not None
            and message.rated
            and not opponents
            and not message.private
            and not slow_person
            and rules.pool is not None
        )
        if rules is None:
            spec = open_match_spec(message.game)
        else:
            spec = match_spec_of(rules, rated=ratable and self.known_bots.may_be_rated(event.bot))
        seek = ActiveSeek(
            bot=connected.name,
            key=event.bot,
            address=connected.address,
            id=message.id,
            spec=spec,
            opponents=opponents,
            since=now,
            is_person=connected.is_person,
            slow=message.slow,
            ratable=ratable,
            private=message.private,
            people_rated=message.rated and not message.private,
            presets=frozenset(message.presets),
        )
        effects = self._pairing.activate(seek, now)
        absent = tuple(
            name for name in opponents_of(message) if name not in self.roster.online and name not in self._unknown
        )
        return [*effects, LookUpNames(absent)] if absent else effects

    def _refusal(self, event: events.SeekPlaced, now: float) -> Error | None:
        """Return the error for a seek whose bot may not seek now. The seek's config is not read for that, since reading
        it takes a few milliseconds for a large map.
        """
        connected, game = self.roster.online[event.bot], event.seek.game
        if self.free_slots(event.bot) <= 0:
            hold = "the only slot of this connection holds"
            if connected.slots != 1:
                hold = f"all {connected.slots} slots of this connection hold"
            return Error(code=error_codes.NO_SLOTS, message=f"seek: {hold} a seek or a match")
        url = self._urls.get(game)
        if url is not None:
            text = f"seek: {game} is played on another node: connect to {url}"
            return Error(code=error_codes.ELSEWHERE, message=text, url=url)
        if event.refusal is not None:
            return Error(code=error_codes.UNAVAILABLE, message=f"seek: {event.refusal}")
        pause_s = self.roster.suspensions.pause_s(event.bot, connected.address, now)
        return Error(code=error_codes.UNAVAILABLE, message=pause_message(pause_s)) if pause_s > 0 else None

    def _on_withdrawn(self, event: events.SeekWithdrawn, now: float) -> Effects:
        seek = self._pairing.index.find(event.bot, event.id)
        ended = [] if seek is None else self._pairing.end(seek)
        return [*ended, Tell(event.bot, Unseeked(id=event.id))]  # a `start` sent before stays valid

    def _on_begun(self, event: events.MatchBegun, now: float) -> None:
        for seek in self._pairing.confirm(event.match):
            self.waits.observe(now - seek.since)

    def _on_not_begun(self, event: events.MatchNotBegun, now: float) -> Effects:
        self.known_bots.end_unrated(event.match)
        effects = self._pairing.revoke(event.match, now, seeks_again=event.seeks_again)
        if self.roster.release_all(event.match):
            self._pairing.reschedule(now)
        return effects + self._on_slots_free()

    def _on_ready(self, event: events.BotReady, now: float) -> None:
        if self.roster.suspensions.on_ready(event.bot, self.roster.online):
            self._pairing.reschedule(now)

    def _on_released(self, event: events.SeatReleased, now: float) -> Effects:
        """Handle that a match has released a seat. Its bot played or missed the match, and has a free slot again."""
        effects: Effects = []
        if event.missed:
            effects = self._suspend(event.bot, event.match, now)
        elif event.stayed:
            self.roster.suspensions.on_played(event.bot)
        if self.roster.release(event.match, event.bot):
            self._pairing.reschedule(now)
        return effects + self._on_slots_free()

    def _on_slots_free(self) -> Effects:
        self._assignments.is_changed = True
        return [StopServer()] if self.is_draining and self.roster.is_idle else []

    def _suspend(self, bot: str, match: str, now: float) -> Effects:
        """End the seeks of a bot that missed its match, and suspend the bot for a while."""
        pause_s = self.roster.suspensions.on_missed(bot, now)
        ended = list(self.seeks_of(bot))
        error = Error(code=error_codes.UNAVAILABLE, message=pause_message(pause_s))
        return [
            NoteMissedMatch(bot, match, pause_s),
            *self._pairing.end_all(bot),
            *(Tell(bot, replace(error, ref=seek.id)) for seek in ended),
        ]

    def _on_loaded(self, event: events.BotLoaded, now: float) -> Effects:
        changed = self.known_bots.load(event)
        return self._pairing.reconsider(event.bot, now) if changed else []

    def _on_unknown_name(self, event: events.NameUnknown, now: float) -> None:
        self._unknown[event.name] = None
        if len(self._unknown) > self._policy.max_unknown_names:
            del self._unknown[next(iter(self._unknown))]

    def _on_quota(self, event: events.QuotaChanged, now: float) -> None:
        if event.is_used_up:
            self.roster.used_up.add(event.address)
        else:
            self.roster.used_up.discard(event.address)
            self._pairing.reschedule(now)
        if not self.roster.used_up:
            self._quotas_due = None
        elif self._quotas_due is None:
            self._quotas_due = now + self._policy.quota_check_interval_s

    def _on_games_moved(self, event: events.GamesMoved, now: float) -> Effects:
        """End the seeks for games that another node pairs now, and send their bots the URL of that node."""
        self._urls = event.urls
        effects: Effects = []
        for game, url in event.urls.items():
            text = f"{game} is now played on another node: connect to {url}"
            effects += self._end_seeks_for(game, Error(code=error_codes.ELSEWHERE, message=text, url=url))
        return effects

    def _on_game_closed(self, event: events.GameClosed, now: float) -> Effects:
        return self._end_seeks_for(event.game, Error(code=error_codes.UNAVAILABLE, message=event.message))

    def _end_seeks_for(self, game: str, error: Error) -> Effects:
        error = replace(error, message=f"this seek has ended: {error.message}")
        effects: Effects = []
        for bot in self.roster.online:
            for seek in [seek for seek in self.seeks_of(bot) if seek.spec.game == game]:
                effects += [*self._pairing.end(seek), Tell(bot, replace(error, ref=seek.id))]
        return effects

    def _on_assignment_withdrawn(self, event: events.AssignmentWithdrawn, now: float) -> None:
        if self._assignments.remove(event.match):
            self._pairing.reschedule(now)

    def _start_assigned(self, now: float) -> Effects:
        """Start the assigned matches whose bots are free, and call the bots that others wait for."""
        effects: Effects = []
        while (ready := self._assignments.find_ready(now)) is not None:
            match, bots = ready
            present = [bot for bot in bots if bot in self.roster.online]
            for bot in present:
                if self.free_slots(bot) <= 0:
                    effects += self._end_newest_seek(bot)
            if self._assignments.remove(match):
                self._pairing.reschedule(now)
            self.roster.seat(match, bots)
            absent = tuple(seat for seat, bot in enumerate(bots) if bot not in present)
            effects.append(StartAssigned(match, absent))
        called = self._assignments.bots_to_call(now)
        self._assignments.reserve_slots(now)
        return [*effects, CallBots(called)] if called else effects

    def _end_newest_seek(self, bot: str) -> Effects:
        """End a bot's newest seek, so that its slot is free for an assigned match."""
        seek = list(self.seeks_of(bot))[-1]
        text = "this seek has ended, because the bot was assigned to a tournament match: seek again"
        error = Error(code=error_codes.UNAVAILABLE, message=text, ref=seek.id)
        return [*self._pairing.end(seek), Tell(bot, error)]

    def _on_drain(self, event: events.DrainStarted, now: float) -> Effects:
        effects = [] if self.is_draining else self._tell_all(DRAINING_MESSAGE)
        self.is_draining = True
        self._drain_ends = None if event.timeout_s is None else now + event.timeout_s
        return [*effects, StopServer()] if self.roster.is_idle else effects

    def _on_drain_cancelled(self, event: events.DrainCancelled, now: float) -> Effects:
        effects = self._tell_all(DRAIN_CANCELLED_MESSAGE) if self.is_draining else []
        self.is_draining, self._drain_ends = False, None
        return effects

    def _tell_all(self, text: str) -> Effects:
        return [Tell(bot, Error(code=error_codes.UNAVAILABLE, message=text)) for bot in self.roster.online]

    def _on_tick(self, event: events.Tick, now: float) -> Effects:
        self._wake_at = None
        effects: Effects = []
        if self._drain_ends is not None and self._drain_ends <= now:
            self._drain_ends = None
            effects.append(StopServer())
        if self._quotas_due is not None and self._quotas_due <= now:
            self._quotas_due = now + self._policy.quota_check_interval_s
        if self.roster.suspensions.pop_ended_pauses(now):
            self._pairing.reschedule(now)
        if self._assignments:
            effects += self._start_assigned(now)
        self._is_paused = event.is_paused
        is_paused = event.is_paused or self.is_draining
        return effects + self._pairing.step(now, self._rng, event.match, is_paused=is_paused)


_HANDLERS: dict[type[LobbyEvent], Callable[[Lobby, Any, float], Effects | None]] = {
    events.BotJoined: Lobby._on_joined,
    events.BotLeft: Lobby._on_left,
    events.SeekPlaced: Lobby._on_seek,
    events.SeekWithdrawn: Lobby._on_withdrawn,
    events.MatchAdded: lambda lobby, event, now: lobby.roster.seat(event.match, event.bots),
    events.MatchBegun: Lobby._on_begun,
    events.MatchNotBegun: Lobby._on_not_begun,
    events.BotReady: Lobby._on_ready,
    events.SeatReleased: Lobby._on_released,
    events.BotLoaded: Lobby._on_loaded,
    events.RatingsReloaded: lambda lobby, event, now: lobby.known_bots.reload(event),
    events.BotForgotten: lambda lobby, event, now: lobby.known_bots.forget(event.bot),
    events.BotRenamed: lambda lobby, event, now: lobby.known_bots.rename(event.bot, event.new),
    events.RatedMatchResumed: lambda lobby, event, now: lobby.known_bots.begin_rated(
        event.match, event.pool, event.bots
    ),
    events.MatchRated: lambda lobby, event, now: lobby.known_bots.end_rated(event, now),
    events.MatchUnrated: lambda lobby, event, now: lobby.known_bots.end_unrated(event.match),
    events.NameUnknown: Lobby._on_unknown_name,
    events.QuotaChanged: Lobby._on_quota,
    events.GamesMoved: Lobby._on_games_moved,
    events.GameClosed: Lobby._on_game_closed,
    events.MatchAssigned: lambda lobby, event, now: lobby._assignments.add(event.match, event.bots, now, event.wait_s),
    events.AssignmentWithdrawn: Lobby._on_assignment_withdrawn,
    events.DrainStarted: Lobby._on_drain,
    events.DrainCancelled: Lobby._on_drain_cancelled,
    events.Tick: Lobby._on_tick,
}
"""The handler of each type of event; None stands for no effects."""
