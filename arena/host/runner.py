"""Runs one match: performs the referee's effects in order and owns its timer. A seat may change its connection."""

from __future__ import annotations

import asyncio
import logging
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import msgspec
from msgspec.structs import replace

from arena.host.broadcast import Audience, Broadcaster, EncodedMessages, Peer, Report
from arena.host.journal import JournalFault, MatchJournal
from arena.host.recorder import Recorder
from arena.host.work_queue import WorkQueue
from machine.log_output import about
from protocol.error_codes import UNAVAILABLE
from protocol.errors import Fault
from protocol.messages import Error, FromServer, ListedMatch, Turn
from referee.effects import (
    Absent,
    Deadline,
    Delayed,
    Effect,
    Expired,
    Finish,
    Held,
    Left,
    MatchEvent,
    Played,
    Readied,
    Release,
    Resigned,
    Returned,
    Show,
    Tell,
    TellMany,
    Voided,
    Write,
)
from referee.footer import Closed
from referee.match import Match
from referee.record import Ply, write_line
from referee.replay import Recalled
from referee.result import Ratings, Result

ANEW = 1.0
"""A spectator gets at most one full view in this many seconds; newcomers share one, clock times included."""
WATCHED = (
    "watch: you watch this match already: its start without a seat is the answer, which needs none, and its turns come "
    "by themselves"
)

MOST_KEPT = 8
"""Messages of one seat that are kept while its match waits; an honest bot sends one or two."""

log = logging.getLogger("arena.host.runner")


class Backlog:
    """Events that arrived while a match waited to be recorded."""

    def __init__(self) -> None:
        self.events: list[MatchEvent] = []
        """The events in order of arrival."""
        self.lost: set[int] = set()
        """Seats whose connection has gone."""
        self.back: dict[int, tuple[Peer, bool]] = {}
        """The seats with a new connection, and whether it follows every turn."""
        self.watchers: dict[Peer, None] = {}
        """Peers that asked to watch."""
        self._sent: Counter[int] = Counter()

    def keep(self, event: MatchEvent) -> None:
        """Keep an event for later, unless its seat has sent too many."""
        if isinstance(event, (Readied, Played, Resigned)):
            self._sent[event.seat] += 1
            if self._sent[event.seat] > MOST_KEPT:
                return
        self.events.append(event)

    def lose(self, seat: int, peer: Peer, seated: Peer | None) -> bool:
        """Note that a connection has gone. Return whether it was the one that is `seated`."""
        if seat in self.back and self.back[seat][0] is peer:
            del self.back[seat]
        if seated is not peer:
            return False
        self.lost.add(seat)
        return True


class Runner:
    """A match with its journal, its seats and its spectators.

    `finish` is called once, when the match is over; `release` for each seat that leaves before. The `recorder` writes
    what an event has to record at the end of the turn of the event loop. Until then nothing of it is sent, and what
    arrives waits in a backlog. While recording fails, the clocks stand still, and it is tried again every
    `retry_delay_s`; `held(id, reason)` is called with the reason, and with None when the match continues. A match whose
    config is no preset is called off when its journal exceeds `most_bytes`. Expired clocks go through the queue `due`.
    """

    def __init__(
        self,
        match: Match,
        journal: MatchJournal,
        recorder: Recorder,
        finish: Callable[[Runner], None],
        release: Callable[[Runner, int], None] = lambda runner, seat: None,
        held: Callable[[str, str | None], None] = lambda match, reason: None,
        rounds: Broadcaster | None = None,
        due: WorkQueue | None = None,
        most_bytes: float = math.inf,
        retry_delay_s: float = 1.0,
    ) -> None:
        self.id = match.id
        self.game = match.header.game
        """The game's name."""
        self.bots = [player.bot for player in match.players]
        """The bots in seat order."""
        self.failures: dict[int, str] = {}
        """The reasons why bots' programs failed, by seat, as their clients reported."""
        self._match = match
        self._journal = journal
        self._recorder = recorder
        self._seats: list[Peer | None] = [None] * len(self.bots)
        self._excused: set[int] = set()
        self.audience = Audience(rounds or Broadcaster(), self.id)
        """Spectators and reporters. Add them with the runner's `watch` and `report_to`, which also ask for turns."""
        self._view: EncodedMessages | None = None
        """The view for new spectators, made for the first of them, and the time of its making."""
        self._viewed = 0.0
        self._viewers: dict[Peer, float] = {}
        self._taught: set[Peer] = set()
        self._retry_delay_s = retry_delay_s
        self._most_bytes = math.inf if match.game.preset is not None else most_bytes
        self._due_work = due or WorkQueue()
        self._finish = finish
        self._release = release
        self._held = held
        self._unrecorded: list[Effect] | None = None
        """Effects that wait until their lines are recorded."""
        self.lines = b""
        """The lines to record."""
        self._backlog: Backlog | None = None
        """The events that have arrived meanwhile; None if there are none."""
        self._waits_since = 0.0
        self._fails = self._told_so = False
        """Two flags: recording has failed so far, and the seats have been told."""
        self._loop = asyncio.get_running_loop()
        self._deadline: float | None = None
        self._timer: asyncio.Handle | None = None
        self._due = 0.0
        """The time at which the timer fires. uvloop's handle does not know this for a timer that is due at once."""
        self._resumed_at = 0
        """Plies that were played before a restart."""
        self._stopped = False
        self._ended = False
        self._ratings: Ratings | None = None
        """The ratings that were sent with the end of the match."""

    def open(
        self,
        before_start: Callable[[], asyncio.Future[None] | None] = lambda: None,
        on_refused: Callable[[Fault], None] = lambda fault: None,
        on_begun: Callable[[], None] = lambda: None,
    ) -> None:
        """Begin the match: write the journal, await `before_start`, then call `on_begun` and send each seat `start`.

        If `before_start` fails with a `Fault`, the match does not begin and `on_refused` is called instead. Raises
        `JournalFault`; then no seat has been sent anything.
        """
        effects = self._match.open(self._loop.time())
        self._journal.write(_lines(effects))
        first = before_start()
        if first is None:
            on_begun()
            self._carry_out(effects)
        else:
            self._unrecorded, self._waits_since = effects, self._loop.time()
            first.add_done_callback(partial(self._is_noted, on_refused, on_begun))

    def _is_noted(
        self, on_refused: Callable[[Fault], None], on_begun: Callable[[], None], first: asyncio.Future[None]
    ) -> None:
        """Start the match after its preparation. If that was cancelled, the match stays in its journal."""
        if first.cancelled():
            return
        fault = first.exception()
        if isinstance(fault, Fault):
            on_refused(fault)
        else:
            on_begun()
            self.recorded(self._loop.time() - self._waits_since)

    def resume(self, recalled: Recalled) -> None:
        """Continue a match that was replayed from its journal."""
        self._resumed_at = self._match.ply
        self._perform(self._match.resume(recalled, self._loop.time()))
        for seat, peer in enumerate(self._seats):
            if peer is not None:
                self.receive(Returned(seat))

    def receive(self, event: MatchEvent) -> None:
        """Pass an event to the referee and perform its effects. An internal error voids the match."""
        if type(event) is Absent:
            self._excused.add(event.seat)
        if self._stopped and not self._ended:
            return
        if self._unrecorded is not None:
            if not (self._fails and isinstance(event, (Expired, Delayed))):  # time stands still
                self._wait().keep(event)
            return
        try:
            self._perform(self._match.receive(event, self._loop.time()))
        except Exception:
            self._void(type(event).__name__, undo=True)

    def _void(self, failed: str, *, undo: bool) -> None:
        """Void the match because of an internal error. The end is recorded before it is sent, as recording may fail."""
        log.exception("match %s is void: the arena failed at %s", self.id, failed, extra=about(match=self.id))
        if not self._ended:
            effects = self._match.receive(Voided(undo=undo), self._loop.time())
            self._perform(effects or [Deadline(None), Finish()])  # nothing is left to be called off, but to be finished

    def _wait(self) -> Backlog:
        """Return the backlog for events that arrive while the match waits to be recorded."""
        if self._backlog is None:
            self._backlog = Backlog()
        return self._backlog

    def sit(self, seat: int, peer: Peer, *, follow: bool) -> None:
        """Assign a connection to a seat."""
        self._seats[seat] = peer
        if follow:
            self._match.follow(seat)

    def come_back(self, seat: int, peer: Peer, *, follow: bool) -> None:
        """Assign a new connection to a seat, and send it the state of the match."""
        if self._unrecorded is not None:
            self._wait().back[seat] = peer, follow
            return
        self.sit(seat, peer, follow=follow)
        self.receive(Returned(seat))

    def tell_missed(self, seat: int, peer: Peer) -> None:
        """Send the start and the end to a seat that reconnected just as its match ended."""
        self._send(peer, self._match.start(seat, resumed=True))
        self._send(peer, self._match.farewell(seat, self._ratings))

    def lose(self, seat: int, peer: Peer) -> None:
        """Remove a seat's connection, unless the seat has a newer one."""
        if self._unrecorded is not None:
            if self._wait().lose(seat, peer, self._seats[seat]):
                self._seats[seat] = None
        elif self._seats[seat] is peer:
            self._seats[seat] = None
            self.receive(Left(seat))

    def watch(self, peer: Peer) -> None:
        """Send a spectator the state of the match, and every turn from now on."""
        if self._unrecorded is not None:
            self._wait().watchers[peer] = None
            return
        now = self._loop.time()
        if now - self._viewers.get(peer, -ANEW) < ANEW:
            self._teach(peer)
            return
        self._viewers[peer] = now
        self.audience.watch(peer)
        self._match.watch(wanted=True)
        if self._view is None or now - self._viewed >= ANEW:
            view = self._match.view(now)
            self._view = EncodedMessages([self._match.start()] if view is None else [self._match.start(), view])
            self._viewed = now
            self._loop.call_later(ANEW, self._forget_view)  # that of a long match is large
        self._show(peer, self._view)

    def _forget_view(self) -> None:
        if self._loop.time() - self._viewed >= ANEW:
            self._view = None

    def _teach(self, peer: Peer) -> None:
        """Explain to a spectator, once, why a second `watch` has no answer: many take the `start` for a question."""
        if peer not in self._taught:
            self._taught.add(peer)
            peer.send(Error(code=UNAVAILABLE, message=WATCHED, ref=self.id))

    def report_to(self, report: Report) -> None:
        """Pass every message from now on to a reporter, without delay. It does not get earlier ones."""
        self.audience.report_to(report)
        self._match.watch(wanted=True)

    def unwatch(self, peer: Peer) -> None:
        """Send a spectator no more turns."""
        self.audience.unwatch(peer)
        self._viewers.pop(peer, None)
        self._taught.discard(peer)
        if self._backlog is not None:
            self._backlog.watchers.pop(peer, None)
        self._match.watch(wanted=self.audience.wants_turns)

    @property
    def played(self) -> int:
        """Plies played since the match started or resumed on this host."""
        return self._match.ply - self._resumed_at

    @property
    def is_over(self) -> bool:
        """True once the match has ended, even if that is not sent yet."""
        return self._ended

    @property
    def size(self) -> int:
        """The size of the journal in bytes."""
        return self._journal.size

    @property
    def said(self) -> Mapping[int, int]:
        """The bytes of the journal that each seat's own search info takes, by seat."""
        return self._match.standing.said

    @property
    def is_expendable(self) -> bool:
        """True if the match may be called off to save space: it is not rated, not part of a tournament and not over."""
        header = self._match.header
        return not (header.rated or header.tournament is not None or self._ended or self._stopped)

    @property
    def config_bytes(self) -> int:
        """The size of the config in bytes; 0 for a preset."""
        game = self._match.game
        return 0 if game.preset is not None else len(msgspec.msgpack.encode(game.config))

    def listed(self) -> ListedMatch:
        """Return the state of the match and its spectator count for a listing, without moves not yet recorded."""
        listed = self._match.listed(len(self.audience.watchers))
        waiting = [effect.line for effect in self._unrecorded or () if type(effect) is Write]
        moves = sum(type(line) is Ply and line.event.out is None for line in waiting)
        return replace(listed, ply=listed.ply - moves) if moves else listed

    def clocks(self) -> tuple[list[int], int | None]:
        """Return the milliseconds that each seat has left, and the seat whose clock runs, or None."""
        return self._match.clocks(self._loop.time())

    def farewell(self, ratings: Ratings | None) -> None:
        """Send the end of the match to every seat that still needs it and to the spectators."""
        self._ratings = ratings
        for seat, peer in enumerate(self._seats):
            if peer is not None:
                self._send(peer, self._match.farewell(seat, ratings))
        self.audience.show(self._match.farewell(None, ratings))

    def absent(self, seat: int) -> bool:
        """Return whether a seat dropped out without a word and before its first move.

        A seat that the host declared `Absent` does not count: its bot was invited and had not asked for the match.
        """
        return seat not in self._excused and self._match.standing.absent(seat)

    def stayed(self, seat: int) -> bool:
        """Return whether the match is over and a seat stayed to the end."""
        return self._match.standing.stayed(seat)

    def result(self, finished: str) -> Result:
        """Return the result of a finished match; `finished` is the time of its end."""
        return self._match.result(finished)

    def closed(self, result: Result) -> Closed:
        """Return the finished match with its record. Raise `JournalFault`."""
        lines = tuple(self._journal.record_lines())
        return Closed(result, lines, self._match.footer(result, None), self.failures)

    def stop(self) -> None:
        """Stop the timer. A match that is not over receives nothing more, and can resume from its journal later."""
        self._stopped = True
        self._arm(None)
        if not self._ended:
            self._journal.close()

    def close(self) -> None:
        """Close the journal of a finished match."""
        self._journal.close()

    def _perform(self, effects: list[Effect]) -> None:
        """Perform the referee's effects. If some must be recorded, all wait until that is done."""
        lines = _lines(effects)
        if lines:
            self.lines = lines
            self._unrecorded = effects
            self._waits_since = self._loop.time()
            self._recorder.soon(self)
        else:
            self._carry_out(effects)

    def record(self) -> int | None:
        """Write the waiting lines, all or none, and return their offset; None if they can't or need not be written."""
        if self._unrecorded is None or self._stopped:
            return None
        try:
            return self._journal.append(self.lines)
        except JournalFault as fault:
            self._try_later(fault)
            return None

    def unrecorded(self, at: int, exc: BaseException) -> None:
        """Handle that the written lines could not be committed."""
        if not self._stopped:
            self._try_later(self._journal.take_back(at, exc))

    def _try_later(self, fault: JournalFault) -> None:
        """Hold the match, and try again to record it after the delay."""
        self._held(self.id, str(fault))
        if self._fails and not self._told_so:
            self._told_so = True
            text = "the arena can't record this match now: it is held, its clocks stand, and it goes on by itself"
            self.announce(Error(code=UNAVAILABLE, message=text, ref=self.id))
        self._fails = True
        self._loop.call_later(self._retry_delay_s, self._recorder.soon, self)

    def recorded(self, held: float = 0.0) -> None:
        """Perform the recorded effects, for which the match waited `held` seconds, and then handle the backlog."""
        if self._unrecorded is None or self._stopped:
            return
        effects, self._unrecorded = self._unrecorded, None
        backlog, self._backlog = self._backlog, None
        failed, self._fails, self._told_so = self._fails, False, False
        if failed:
            self._held(self.id, None)
            held = self._loop.time() - self._waits_since
        try:
            self._carry_out(effects)
        except Exception:
            self._void("what was recorded", undo=False)
        if held:
            self.receive(Held(held))
        if backlog is not None:
            self._catch_up(backlog, timely=not failed)
        if self._journal.size > self._most_bytes and not self._ended:
            self._most_bytes, most = math.inf, self._most_bytes
            self.call_off(f"its record has {self._journal.size} bytes, of {most:.0f} at most where no preset is played")

    def refuse(self, why: str) -> None:
        """Tell the seats of a match that does not begin, by the seeks of which it came."""
        for seat, peer in enumerate(self._seats):
            if peer is not None:
                seek = self._match.seek_of(seat)
                message = why if seek is None else f"{why}: seek again"
                self._send(peer, Error(code=UNAVAILABLE, message=message, ref=seek or self.id))

    def call_off(self, why: str) -> None:
        """Void the match, and send the seats the reason."""
        log.warning("match %s is called off: %s", self.id, why, extra=about(match=self.id))
        self.announce(Error(code=UNAVAILABLE, message=f"the match is called off: {why}", ref=self.id))
        self.receive(Voided())

    def _catch_up(self, backlog: Backlog, *, timely: bool) -> None:
        """Handle the backlog. After a failure timer events are left out, as the clocks stood still."""
        for event in backlog.events:
            if timely or not isinstance(event, (Expired, Delayed)):
                self.receive(event)
        for seat in backlog.lost:
            self.receive(Left(seat))
        for seat, (peer, follow) in backlog.back.items():
            self.come_back(seat, peer, follow=follow)
        for peer in backlog.watchers:
            self.watch(peer)

    def announce(self, message: Error) -> None:
        """Send every seat an error that is not part of the match."""
        for peer in self._seats:
            if peer is not None:
                self._send(peer, message)

    def _carry_out(self, effects: list[Effect]) -> None:
        self._view = None
        for effect in effects:
            if type(effect) is Write:
                continue
            if type(effect) is Tell:
                peer = self._seats[effect.seat]
                if peer is not None:
                    self._send(peer, effect.message)
            elif type(effect) is Deadline:
                self._arm(effect.at)
            elif type(effect) is Release:
                self._seats[effect.seat] = None
                self._release(self, effect.seat)
            elif type(effect) is TellMany:
                self._tell_many(effect.seats, effect.message)
            elif type(effect) is Show:
                self.audience.show(effect.message)
            elif type(effect) is Finish:
                self._ended = True
                self._finish(self)

    def _tell_many(self, seats: Sequence[int], message: Turn) -> None:
        """Send several seats the same message, encoded once."""
        shown = EncodedMessages([message])
        for peer in [self._seats[seat] for seat in seats]:
            if peer is not None:
                self._show(peer, shown)

    def _show(self, peer: Peer, shown: EncodedMessages) -> None:
        try:
            peer.show(shown)
        except Exception:
            self._could_not_send(shown.messages[-1])

    def _send(self, peer: Peer, message: FromServer) -> None:
        try:
            peer.send(message)
        except Exception:
            self._could_not_send(message)

    def _could_not_send(self, message: FromServer) -> None:
        """Log that a message could not be sent. The error affects only this peer."""
        what = type(message).__name__.lower()
        log.exception("match %s: a %s could not be sent", self.id, what, extra=about(match=self.id))

    def _arm(self, at: float | None) -> None:
        """Set the deadline. A timer that fires earlier stays: it checks the deadline when it fires."""
        self._deadline = at
        if self._timer is not None:
            if at is not None and at >= self._due:
                return
            self._timer.cancel()
            self._timer = None
        if at is not None:
            self._ring_at(at)

    def _ring_at(self, due: float) -> None:
        self._due = due
        self._timer = self._loop.call_at(due, self._ring)

    def _ring(self) -> None:
        self._timer = None
        now = self._loop.time()
        if self._deadline is None:
            return
        if now < self._deadline:
            self._ring_at(self._deadline)
        else:
            self._loop.call_soon(self._look_again, 2)

    def _look_again(self, times: int) -> None:
        """Let the event loop read every frame that has arrived before the time expires."""
        if times:
            self._loop.call_soon(self._look_again, times - 1)
        else:
            self._due_work.soon(self._expire)

    def _expire(self) -> None:
        if self._deadline is not None and self._deadline <= self._loop.time():
            self.receive(Expired())


def _lines(effects: list[Effect]) -> bytes:
    data = b""
    for effect in effects:
        if type(effect) is Write:
            data += write_line(effect.line)
    return data
