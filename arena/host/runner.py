"""Runs one match: performs the referee's effects in order, and has the match's timer. Seats may change connections."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import Any

import msgspec
from msgspec.structs import replace

from arena.host.backlog import Backlog
from arena.host.broadcast import Audience, Broadcaster, EncodedMessages, Peer, Reporter
from arena.host.finished_match import FinishedMatch
from arena.host.journal import JournalFault, MatchJournal
from arena.host.recorder import Recorder
from arena.host.spectator_views import SPECTATOR_VIEW_TTL_S, SpectatorViews
from arena.host.work_queue import WorkQueue
from arena.store.health import Health
from machine.event_loop import call_after_reading
from machine.log_output import log_fields
from protocol.error_codes import UNAVAILABLE
from protocol.errors import Fault, RulesFault
from protocol.games.isolated import Answers, IsolatedGame, RulesWanted
from protocol.messages import Error, FromServer, ListedMatch, Turn
from referee.effects import (
    Abort,
    DeadlineReached,
    Disconnect,
    Effect,
    FinishMatch,
    MatchEvent,
    NoShow,
    Pause,
    Reconnect,
    ReleaseSeat,
    ReportRulesFault,
    SendDelay,
    SendToSeat,
    SendToSeats,
    SendToWatchers,
    SetDeadline,
    WriteLine,
)
from referee.match import Match
from referee.record import Ply, write_line
from referee.replay import JournalSummary
from referee.result import Ratings
from referee.state import Phase

MAX_CHARGED_RULES_TIME_S = 0.001
"""Seconds that calls of rules which are not built in may take from the clock of the next seat. More is given back."""

log = logging.getLogger("arena.host.runner")


class MatchRunner:
    """A match with its journal, its seats and its spectators.

    `on_finished` is called once, when the match is over. `on_released` is called for each seat that leaves before the
    end. The `recorder` writes the lines of an event at the end of the turn of the event loop. Until then, none of the
    event's messages are sent, and new events wait in a backlog.

    If recording fails, it is tried again every `retry_delay_s`, and the clocks stand still meanwhile. Until it
    succeeds, the match is a problem of the host's `health`. A match whose config is not a preset's is called off when
    its journal exceeds `max_journal_bytes`. `due_queue` handles expired clocks, a few in each turn of the event loop.
    `on_rules_fault` is called if the match is void because the rules of its game failed. `fetch_answers` returns the
    answers to a question of isolated rules.
    """

    __slots__ = (
        "_absent_seats", "_backlog", "_deadline", "_due_queue", "_ended", "_fetch_answers", "_fetching",
        "_finish", "_health", "_journal", "_loop", "_match", "_max_journal_bytes", "_on_rules_fault",
        "_pending_effects", "_ratings", "_recorder", "_recording_fails", "_release", "_resumed_at_ply",
        "_retry_delay_s", "_rules_time_s", "_seats", "_seats_know_failure", "_stopped", "_timer", "_timer_due",
        "_views", "_waiting_since", "audience", "bots", "failures", "game", "id", "lines",
    )  # fmt: skip  # with more than 30 attributes, an instance without slots is slow in Python 3.11

    def __init__(
        self,
        match: Match,
        journal: MatchJournal,
        recorder: Recorder,
        on_finished: Callable[[MatchRunner], None],
        on_released: Callable[[MatchRunner, int], None] = lambda runner, seat: None,
        health: Health | None = None,
        broadcaster: Broadcaster | None = None,
        due_queue: WorkQueue | None = None,
        max_journal_bytes: float = math.inf,
        retry_delay_s: float = 1.0,
        on_rules_fault: Callable[[RulesFault], None] = lambda fault: None,
        fetch_answers: Callable[[IsolatedGame, bytes], Coroutine[Any, Any, Answers]] | None = None,
    ) -> None:
        self.id = match.id
        self.game = match.header.game
        """The name of the game."""
        self.bots = [player.bot for player in match.players]
        """The names of the bots in seat order."""
        self.failures: dict[int, str] = {}
        """The reasons why bots' programs failed, by seat, as their clients reported."""
        self._match = match
        self._journal = journal
        self._recorder = recorder
        self._seats: list[Peer | None] = [None] * len(self.bots)
        self._absent_seats: set[int] = set()
        self.audience = Audience(broadcaster or Broadcaster(), self.id)
        """The spectators and reporters of the match. Add them with `watch` and `report_to`, so that they get turns."""
        self._views = SpectatorViews()
        self._retry_delay_s = retry_delay_s
        self._max_journal_bytes = math.inf if match.game.preset is not None else max_journal_bytes
        self._due_queue = due_queue or WorkQueue()
        self._finish = on_finished
        self._release = on_released
        self._on_rules_fault = on_rules_fault
        self._fetch_answers = fetch_answers
        self._fetching: asyncio.Task[Answers] | None = None
        self._health = health or Health()
        self._pending_effects: list[Effect] | None = None
        """The effects that wait until their lines are recorded, or an empty list while answers of isolated rules are
        fetched; None if nothing is waited for.
        """
        self.lines = b""
        """The lines of the pending effects, which a `Recorder` appends to the match's journal."""
        self._backlog: Backlog | None = None
        """The events that have arrived while effects are pending, or answers of isolated rules; None if there are
        none.
        """
        self._waiting_since = 0.0
        self._rules_time_s = 0.0
        """The seconds that the referee took for the event whose effects are pending, if its rules are not built in."""
        self._recording_fails = self._seats_know_failure = False
        """`_recording_fails` says whether recording the pending effects has failed, `_seats_know_failure` whether the
        seats were notified of that.
        """
        self._loop = asyncio.get_running_loop()
        self._deadline: float | None = None
        self._timer: asyncio.Handle | None = None
        self._timer_due = 0.0
        """The time at which the timer fires. uvloop's handle does not have this time if the timer is due at once."""
        self._resumed_at_ply = 0
        """The number of plies that were played before the match resumed on this host."""
        self._stopped = False
        self._ended = False
        self._ratings: Ratings | None = None
        """The ratings that were sent with `end`."""

    def start(
        self,
        before_start: Callable[[], asyncio.Future[None] | None] = lambda: None,
        on_refused: Callable[[Fault], None] = lambda fault: None,
        on_begun: Callable[[], None] = lambda: None,
    ) -> None:
        """Start the match: write the journal, wait for the future of `before_start`, then call `on_begun` and send each
        seat `start`.

        If that future fails with a `Fault`, the match does not begin, and `on_refused` is called instead. Raise
        `JournalFault` if the journal can't be written; then nothing is sent.
        """
        effects = self._match.start_match(self._loop.time())
        self._journal.write(b"".join(write_line(effect.line) for effect in effects if type(effect) is WriteLine))
        first = before_start()
        if first is None:
            on_begun()
            self._perform_effects(effects)
        else:
            self._pending_effects, self._waiting_since = effects, self._loop.time()
            first.add_done_callback(partial(self._on_prepared, on_refused, on_begun))

    def _on_prepared(
        self, on_refused: Callable[[Fault], None], on_begun: Callable[[], None], first: asyncio.Future[None]
    ) -> None:
        """Begin the match when its preparation is done. If that was cancelled, the match stays in its journal."""
        if first.cancelled():
            return
        fault = first.exception()
        if isinstance(fault, Fault):
            on_refused(fault)
        else:
            on_begun()
            self.on_recorded(self._loop.time() - self._waiting_since)

    def resume(self, summary: JournalSummary) -> None:
        """Continue a match that was replayed from its journal."""
        self._resumed_at_ply = self._match.ply
        self._resume(summary)
        for seat, peer in enumerate(self._seats):
            if peer is not None:
                self.receive(Reconnect(seat))

    def _resume(self, summary: JournalSummary) -> None:
        try:
            self._record_and_perform(self._match.resume(summary, self._loop.time()))
        except RulesWanted as wanted:
            self._wait_for_rules(wanted, partial(self._resume, summary))
        except Exception:
            self._void("the restart", undo=True)

    def receive(self, event: MatchEvent) -> None:
        """Pass an event to the referee and perform the referee's effects. An internal error voids the match."""
        if type(event) is NoShow:
            self._absent_seats.add(event.seat)
        if self._stopped and not self._ended:
            return
        if self._pending_effects is not None:
            if not (
                self._recording_fails and isinstance(event, (DeadlineReached, SendDelay))
            ):  # the clocks stand still
                self._get_backlog().add(event)
            return
        is_guarded = self._match.is_guarded
        began = perf_counter() if is_guarded else 0.0
        try:
            effects = self._match.receive(event, self._loop.time())
            self._rules_time_s = perf_counter() - began if is_guarded else 0.0
            self._record_and_perform(effects)
        except RulesWanted as wanted:
            self._wait_for_rules(wanted, partial(self.receive, event))
        except Exception:
            self._void(type(event).__name__, undo=True)

    def _wait_for_rules(self, wanted: RulesWanted, go_on: Callable[[], None]) -> None:
        """Fetch the answers that isolated rules want, then `go_on`. Until then clocks stand still and events wait."""
        assert self._fetch_answers is not None
        assert isinstance(self._match.game, IsolatedGame)
        self._pending_effects, self._waiting_since = [], self._loop.time()
        self._fetching = asyncio.create_task(self._fetch_answers(self._match.game, wanted.question))
        self._fetching.add_done_callback(partial(self._on_answers, go_on))

    def _on_answers(self, go_on: Callable[[], None], fetching: asyncio.Task[Answers]) -> None:
        self._fetching = None
        if self._stopped or fetching.cancelled():
            return
        self._pending_effects = None
        try:
            answers = fetching.result()
        except Exception as exc:
            self._record_and_perform(self._match.call_off_by_fault(exc, self._loop.time()))
        else:
            assert isinstance(self._match.game, IsolatedGame)
            self._match.game.add_answers(answers)
            now = self._loop.time()
            self._perform_effects(self._match.receive(Pause(now - self._waiting_since), now))
            go_on()
        if self._pending_effects is None and self._backlog is not None:
            backlog, self._backlog = self._backlog, None
            self._process_backlog(backlog, with_timers=True)

    def _void(self, failed_step: str, *, undo: bool) -> None:
        """Void the match because of an internal error. Like any end, this is recorded before it is sent."""
        log.exception(
            "match %s is void: internal error while handling %s", self.id, failed_step, extra=log_fields(match=self.id)
        )
        if not self._ended:
            effects = self._match.receive(Abort(undo_last_event=undo), self._loop.time())
            self._record_and_perform(
                effects or [SetDeadline(None), FinishMatch()]
            )  # a match that can't be called off any more still has to be finished

    def _get_backlog(self) -> Backlog:
        if self._backlog is None:
            self._backlog = Backlog()
        return self._backlog

    def seat_peer(self, seat: int, peer: Peer, *, follow: bool) -> None:
        self._seats[seat] = peer
        if follow:
            self._match.add_follower(seat)

    def return_seat(self, seat: int, peer: Peer, *, follow: bool) -> None:
        """Assign a new connection to a seat, and send it the state of the match."""
        if self._pending_effects is not None:
            self._get_backlog().returned_seats[seat] = peer, follow
            return
        self.seat_peer(seat, peer, follow=follow)
        self.receive(Reconnect(seat))

    def send_missed_end(self, seat: int, peer: Peer) -> None:
        """Send `start` and `end` to a seat that reconnected just as its match ended."""
        self._send(peer, self._match.start_message(seat, resumed=True))
        self._send(peer, self._match.end_message(seat, self._ratings))

    def remove_peer(self, seat: int, peer: Peer) -> None:
        """Remove a seat's connection, unless the seat has a newer one."""
        if self._pending_effects is not None:
            if self._get_backlog().note_lost(seat, peer, self._seats[seat]):
                self._seats[seat] = None
        elif self._seats[seat] is peer:
            self._seats[seat] = None
            self.receive(Disconnect(seat))

    def watch(self, peer: Peer) -> None:
        """Send a spectator the state of the match, and every turn from now on."""
        if self._pending_effects is not None:
            self._get_backlog().watchers[peer] = None
            return
        now, views = self._loop.time(), self._views
        if views.was_sent(peer, now):
            views.explain_already_watching(peer, self.id)
            return
        views.note_sent(peer, now)
        self.audience.add_spectator(peer)
        self._match.set_watched(is_watched=True)
        views.discard_expired(now)
        shown = views.messages
        if shown is None:
            try:
                states = self._journal.read_latest_states() if self._match.records_states else ()
                view = self._match.spectator_turn(now, states)
            except RulesWanted as wanted:
                views.forget(peer)
                self._wait_for_rules(wanted, lambda: None)
                self._get_backlog().watchers[peer] = None
                return
            except Exception as exc:
                self._show(peer, EncodedMessages([self._match.start_message()]))
                self._record_and_perform(self._match.call_off_by_fault(exc, now))
                return
            start = self._match.start_message()
            shown = EncodedMessages([start] if view is None else [start, view])
            views.keep(shown, now)
            self._loop.call_later(SPECTATOR_VIEW_TTL_S, self._discard_view)
        self._show(peer, shown)

    def _discard_view(self) -> None:
        self._views.discard_expired(self._loop.time())

    def report_to(self, report: Reporter) -> None:
        """Pass every message from now on to a reporter, without delay. The reporter does not get earlier messages."""
        self.audience.add_reporter(report)
        self._match.set_watched(is_watched=True)

    def unwatch(self, peer: Peer) -> None:
        """Stop sending turns to a spectator."""
        self.audience.remove_spectator(peer)
        self._views.forget(peer)
        if self._backlog is not None:
            self._backlog.watchers.pop(peer, None)
        self._match.set_watched(is_watched=self.audience.wants_turns)

    @property
    def plies_played(self) -> int:
        """The number of plies played since the match started or resumed on this host."""
        return self._match.ply - self._resumed_at_ply

    @property
    def is_over(self) -> bool:
        """True once the match has ended, even if `end` is not sent yet."""
        return self._ended

    @property
    def is_decided(self) -> bool:
        """True once the referee has ended the match, even if that is not recorded yet."""
        return self._match.standing.phase is Phase.OVER

    @property
    def journal_bytes(self) -> int:
        return self._journal.size_bytes

    @property
    def info_bytes(self) -> Mapping[int, int]:
        """The bytes that search info takes in the journal, by the seat that sent it."""
        return self._match.standing.info_bytes

    @property
    def is_expendable(self) -> bool:
        """True if the match may be called off to save space: it is not rated, not part of a tournament and not over."""
        header = self._match.header
        return not (header.rated or header.tournament is not None or self._ended or self._stopped)

    @property
    def config_bytes(self) -> int:
        """The size of the match's config in bytes; 0 for a preset."""
        game = self._match.game
        return 0 if game.preset is not None else len(msgspec.msgpack.encode(game.config))

    def version_of(self, seat: int) -> str:
        """Return the version that the bot of a seat had announced when the match began."""
        return self._match.header.seats[seat].version

    def make_listing(self) -> ListedMatch:
        """Return the entry of the match in a listing: its state, without moves that are not recorded yet, and the
        number of its spectators.
        """
        listed = self._match.listed_match(len(self.audience.spectators))
        waiting = [effect.line for effect in self._pending_effects or () if type(effect) is WriteLine]
        moves = sum(type(line) is Ply and line.event.out is None for line in waiting)
        return replace(listed, ply=listed.ply - moves) if moves else listed

    def get_clocks(self) -> tuple[list[int], int | None]:
        """Return the milliseconds that each seat has left, and the seat whose clock runs; None if none runs."""
        return self._match.public_clocks(self._loop.time())

    def send_end(self, ratings: Ratings | None) -> None:
        """Send `end` to all seats that are still connected to the match, and to the spectators."""
        self._ratings = ratings
        for seat, peer in enumerate(self._seats):
            if peer is not None:
                self._send(peer, self._match.end_message(seat, ratings))
        self.audience.publish(self._match.end_message(None, ratings))

    def is_absent(self, seat: int) -> bool:
        """Return whether a seat missed the match: it dropped out before its first move, and did not resign.

        A seat that the host declared absent with `NoShow` does not count, because its bot had not sought the match.
        """
        return seat not in self._absent_seats and self._match.standing.was_absent(seat)

    def has_stayed(self, seat: int) -> bool:
        """Return whether the match is over and a seat stayed in it to the end."""
        return self._match.standing.stayed_to_end(seat)

    def finished_match(self, finished_at: str) -> FinishedMatch:
        """Return the match, which is over, as it is to be stored."""
        result = self._match.result(finished_at)
        return FinishedMatch(result, self._match.footer(result, None), self.failures, self._journal)

    def stop(self) -> None:
        """Stop the timer. A match that is not over handles no further events, and can resume from its journal later."""
        self._stopped = True
        self._set_deadline(None)
        if self._fetching is not None:
            self._fetching.cancel()
        if not self._ended:
            self._journal.close()

    def close(self) -> None:
        """Close the journal of a finished match."""
        self._journal.close()

    def _record_and_perform(self, effects: list[Effect]) -> None:
        """Perform the referee's effects. If one of them must be recorded, all of them wait for that."""
        lines = b""
        for effect in effects:
            if type(effect) is WriteLine:
                lines += write_line(effect.line)
        if lines:
            self.lines, self._pending_effects = lines, effects
            self._waiting_since = self._loop.time()
            self._recorder.enqueue(self)
        else:
            self._perform_effects(effects)

    def write_lines(self) -> int | None:
        """Write the lines of the pending effects, all or none, and return their offset. Return None if they can't be
        written now, or no longer need to be.
        """
        if self._pending_effects is None or self._stopped:
            return None
        try:
            return self._journal.append(self.lines)
        except JournalFault as fault:
            self._retry_recording(fault)
            return None

    def on_record_failed(self, at: int, exc: BaseException) -> None:
        """Handle a failure to commit the lines that were written."""
        if not self._stopped:
            self._retry_recording(self._journal.roll_back(at, exc))

    def _retry_recording(self, fault: JournalFault) -> None:
        """Hold the match, and try again after `retry_delay_s` to record it."""
        self._health.set_problem(self.id, str(fault))
        if self._recording_fails and not self._seats_know_failure:
            self._seats_know_failure = True
            text = "the arena can't record this match at present: its clocks are stopped, and it resumes by itself"
            self.announce(Error(code=UNAVAILABLE, message=text, ref=self.id))
        self._recording_fails = True
        self._loop.call_later(self._retry_delay_s, self._recorder.enqueue, self)

    def on_recorded(self, held: float = 0.0) -> None:
        """Perform the pending effects, now recorded, then handle the backlog. The match has waited `held` seconds."""
        if self._pending_effects is None or self._stopped:
            return
        effects, self._pending_effects = self._pending_effects, None
        backlog, self._backlog = self._backlog, None
        failed = self._recording_fails
        if failed:
            self._recording_fails = self._seats_know_failure = False
            self._health.set_problem(self.id, None)
            held = self._loop.time() - self._waiting_since
        try:
            self._perform_effects(effects)
        except Exception:
            self._void("what was recorded", undo=False)
        if self._rules_time_s > MAX_CHARGED_RULES_TIME_S:  # the seat that is asked next has not caused it
            held += self._rules_time_s
        self._rules_time_s = 0.0
        if held:
            self.receive(Pause(held))
        if backlog is not None:
            self._process_backlog(backlog, with_timers=not failed)
        if self._journal.size_bytes > self._max_journal_bytes and not self._ended:
            self._max_journal_bytes, most = math.inf, self._max_journal_bytes
            self.call_off(
                f"its record has {self._journal.size_bytes} bytes, of {most:.0f} at most where no preset is played"
            )

    def refuse(self, why: str) -> None:
        """Send each seat of a match that does not begin an error, which refers to the seek that led to the match."""
        for seat, peer in enumerate(self._seats):
            if peer is not None:
                seek = self._match.seek_of(seat)
                message = why if seek is None else f"{why}: seek again"
                self._send(peer, Error(code=UNAVAILABLE, message=message, ref=seek or self.id))

    def call_off(self, reason: str) -> None:
        """Void the match, and send the seats the reason."""
        log.warning("match %s is void: %s", self.id, reason, extra=log_fields(match=self.id))
        self.announce(Error(code=UNAVAILABLE, message=f"the match is void: {reason}", ref=self.id))
        self.receive(Abort())

    def _report_rules_fault(self, fault: RulesFault) -> None:
        log.error("match %s is void: %s", self.id, fault, extra=log_fields(match=self.id, game=fault.game))
        self._on_rules_fault(fault)
        text = f"the match is void: the rules of {fault.game} failed, which is no bot's fault"
        self.announce(Error(code=UNAVAILABLE, message=text, ref=self.id))

    def _process_backlog(self, backlog: Backlog, *, with_timers: bool) -> None:
        """Handle the events of a backlog. Without `with_timers`, ignore timer events: the clocks stood still."""
        for event in backlog.events:
            if with_timers or not isinstance(event, (DeadlineReached, SendDelay)):
                self.receive(event)
        for seat in backlog.lost_seats:
            self.receive(Disconnect(seat))
        for seat, (peer, follow) in backlog.returned_seats.items():
            self.return_seat(seat, peer, follow=follow)
        for peer in backlog.watchers:
            self.watch(peer)

    def announce(self, message: Error) -> None:
        """Send every seat an error that is not part of the match."""
        for peer in self._seats:
            if peer is not None:
                self._send(peer, message)

    def _perform_effects(self, effects: list[Effect]) -> None:
        self._views.messages = None
        for effect in effects:
            if type(effect) is WriteLine:
                continue
            if type(effect) is SendToSeat:
                peer = self._seats[effect.seat]
                if peer is not None:
                    try:
                        peer.send(effect.message)
                    except Exception:
                        self._log_send_error(effect.message)
            elif type(effect) is SetDeadline:
                self._set_deadline(effect.time)
            elif type(effect) is ReleaseSeat:
                self._seats[effect.seat] = None
                self._release(self, effect.seat)
            elif type(effect) is SendToSeats:
                self._send_shared(effect.seats, effect.message)
            elif type(effect) is SendToWatchers:
                self.audience.publish(effect.message)
            elif type(effect) is ReportRulesFault:
                self._report_rules_fault(effect.fault)
            elif type(effect) is FinishMatch:
                self._ended = True
                self._finish(self)

    def _send_shared(self, seats: Sequence[int], message: Turn) -> None:
        shown = EncodedMessages([message])
        for peer in [self._seats[seat] for seat in seats]:
            if peer is not None:
                self._show(peer, shown)

    def _show(self, peer: Peer, encoded: EncodedMessages) -> None:
        try:
            peer.send_shared(encoded)
        except Exception:
            self._log_send_error(encoded.messages[-1])

    def _send(self, peer: Peer, message: FromServer) -> None:
        try:
            peer.send(message)
        except Exception:
            self._log_send_error(message)

    def _log_send_error(self, message: FromServer) -> None:
        what = type(message).__name__.lower()
        log.exception("match %s: a %s could not be sent", self.id, what, extra=log_fields(match=self.id))

    def _set_deadline(self, deadline: float | None) -> None:
        """Set the deadline of the match. An earlier timer is kept: it checks the deadline when it fires."""
        self._deadline = deadline
        if self._timer is not None:
            if deadline is not None and deadline >= self._timer_due:
                return
            self._timer.cancel()
            self._timer = None
        if deadline is not None:
            self._start_timer(deadline)

    def _start_timer(self, due: float) -> None:
        self._timer_due = due
        self._timer = self._loop.call_at(due, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        now = self._loop.time()
        if self._deadline is None:
            return
        if now < self._deadline:
            self._start_timer(self._deadline)
        else:
            call_after_reading(self._loop, partial(self._due_queue.enqueue, self._expire))

    def _expire(self) -> None:
        if self._deadline is not None and self._deadline <= self._loop.time():
            self.receive(DeadlineReached())
