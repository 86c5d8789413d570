"""The referee of one match, without I/O. `receive(event, now)` returns effects for the runner to perform, in order.

Times are arguments, in seconds of one monotonic clock. Dice come from the match's seed. The table at the end says what
each event does in each phase.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from protocol.codec import read_info
from protocol.errors import IllegalMove, MalformedMessage, MalformedMove
from protocol.games import rules_of
from protocol.messages import CHANCE, MAX_STRIKES, End, Event, Info, ListedMatch, Player, Start, Turn
from protocol.pools import is_of_people
from protocol.reasons import DISCONNECTED, FAILED, ILLEGAL, NO_SHOW, RESIGNED, TIMEOUT
from referee import messages
from referee.clock import TimeBanks
from referee.course import Course
from referee.effects import (
    Absent,
    Deadline,
    Delayed,
    Effect,
    Expired,
    Finish,
    Forfeited,
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
from referee.footer import footer_of, result_of, thinking
from referee.record import AnyLine, Begun, Footer, Header, Ply, Sealed, Secret, Strike, Void
from referee.replay import Recalled, course_of, recall
from referee.result import Ratings, Result
from referee.state import MatchStanding, Older, Phase, Snapshot, restored


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchTimeouts:
    """The referee's time limits for a seat before its clock runs, in seconds."""

    ready_timeout_s: float = 10.0
    """Time for every seat to report that it is ready."""
    return_timeout_s: float = 30.0
    """Time for every seat to come back after a restart of the arena; no clock runs meanwhile."""


class Match:
    """One match under a header, from `open` (or `resume` after a restart) to `Finish`. If `older` can fetch recorded
    events, only the latest stay in memory.
    """

    def __init__(
        self,
        header: Header,
        seed: bytes,
        players: Sequence[Player],
        seeks: Sequence[str | None] = (),
        older: Older | None = None,
        timeouts: MatchTimeouts | None = None,
    ) -> None:
        self._timeouts = timeouts or MatchTimeouts()
        self.header = header
        self.id = header.match
        self.game = rules_of(header.game, header.config)
        self.players = list(players)
        banks = TimeBanks.new(self.game.seats, header.clock.bank_ms, header.clock.increment_ms)
        self.standing = MatchStanding(banks, older=older, round_ms=banks.milliseconds(0.0), noted=banks.given)
        self._before: Snapshot | None = None
        """The standing before the last event."""
        self._seed = seed
        self._seeks = list(seeks) or [None] * self.game.seats
        self._watched = False
        self._away = header.away_ms / 1000

    def open(self, now: float) -> list[Effect]:
        """Return the first effects of a new match."""
        self.standing.until = now + self._timeouts.ready_timeout_s
        return [
            Write(Secret(seed=self._seed.hex())),
            Write(self.header),
            *(Tell(seat, self.start(seat)) for seat in range(self.game.seats)),
            Show(self.start()),
            Deadline(self.standing.until),
        ]

    def recall(self, lines: Iterable[AnyLine]) -> Recalled:
        """Apply the journal of a match, for `resume`. A long journal takes a while. Raises `BadRecord` if the journal
        does not follow from the rules.
        """
        recalled = recall(self.standing, lines, self._new_course, self.id)
        self.standing.drop()
        return recalled

    def resume(self, recalled: Recalled, now: float) -> list[Effect]:
        """Go on with a recalled match. Clocks stand still until every seat is back or time is up."""
        self.standing.away = dict.fromkeys(range(self.game.seats), now)
        self.standing.until = now + self._timeouts.return_timeout_s
        effects: list[Effect] = [Release(seat) for seat in recalled.free]
        if recalled.deal is not None:
            effects.append(self._happened(recalled.deal, now))
        if recalled.begun:
            effects += self._catch_up(now)
        if recalled.called_off:
            _recorded, *finish = self._voided(Voided(), now)
            return [*(effect for effect in effects if type(effect) is Release), *finish]
        return effects if self.standing.phase is Phase.OVER else [*effects, Deadline(self.standing.until)]

    def receive(self, event: MatchEvent, now: float) -> list[Effect]:
        """Return the effects of an event. Legal, illegal and late moves all arrive here."""
        if type(event) is not Voided or not event.undo:
            self._before = self.standing.snapshot()
        elif self._before is not None:
            self.standing, self._before = restored(self._before), None
        return _TRANSITIONS[self.standing.phase][type(event)](self, event, now)

    @property
    def ply(self) -> int:
        """The number of plies played."""
        course = self.standing.course
        return 0 if course is None else course.ply

    def follow(self, seat: int) -> None:
        """Send a seat the turn of every ply, until its connection is lost."""
        self.standing.follows |= {seat}

    def watch(self, *, wanted: bool) -> None:
        """Turn `Show` effects on or off: they are needed while there are watchers."""
        self._watched = wanted

    def seek_of(self, seat: int) -> str | None:
        """Return the id of the seek by which a seat came to this match, if it sought it."""
        return self._seeks[seat]

    def start(self, seat: int | None = None, *, resumed: bool = False) -> Start:
        """Build the `start` for a seat, or for a watcher (None)."""
        seek = None if seat is None or resumed else self._seeks[seat]
        return messages.start(self.header, self.game, self.players, seat, seek=seek, resumed=resumed)

    def listed(self, watchers: int) -> ListedMatch:
        """Build the match's entry in a listing."""
        return messages.listed(self.header, self.game, self.standing, watchers)

    def view(self, now: float) -> Turn | None:
        """Build the current turn for a new watcher, with all events so far; None unless the match is being played."""
        standing = self.standing
        if standing.phase is not Phase.PLAYING:
            return None
        return messages.turn(self.id, standing, standing.since(0), *self._shown(now))

    def clocks(self, now: float) -> tuple[list[int], int | None]:
        """Return the milliseconds that each seat publicly has left, and the seat whose clock runs, if exactly
        one does.
        """
        course = self.standing.course
        to_move = None if course is None or not self.standing.clock.running else course.to_move
        return self._clock_shown(now), to_move if isinstance(to_move, int) else None

    def result(self, finished: str) -> Result:
        """Return the outcome of a match that is over, for the store."""
        standing = self.standing
        thought = thinking(self.header, standing.moves, [int(bank * 1000) for bank in standing.clock.banks])
        return result_of(self.header, standing.playing, self.players, finished, thought)

    def footer(self, result: Result, ratings: Ratings | None) -> Footer:
        """Build the last line of the record."""
        return footer_of(result, self._seed, self.standing.nonces_in_hex, ratings)

    def farewell(self, seat: int | None, ratings: Ratings | None = None) -> End:
        """Build the `end` for a seat that has had none, or a watcher (None). It has the seed once the whole match is
        over.
        """
        return messages.end(self.id, self.players, self.standing, seat, self._seed, ratings)

    def _new_course(self) -> Course:
        return course_of(self.header, self.game, self._seed, self.standing.mixed_in)

    def _catch_up(self, now: float) -> list[Effect]:
        """Finish what a crash cut off after the last line of the journal: end the match, or let seats drop out."""
        standing = self.standing
        if standing.playing.over:
            return self._finish(now)
        effects: list[Effect] = self._follow_up(now) if standing.playing.due else []
        struck_out = {seat: ILLEGAL for seat, strikes in standing.strikes.items() if strikes >= MAX_STRIKES}
        for seat, reason in {**standing.quitting, **struck_out}.items():
            if standing.phase is Phase.PLAYING:
                effects += self._leave(seat, reason, now)
        return effects

    def _set_off(self, now: float) -> list[Effect]:
        """Start play, with the clocks: no further seat is expected."""
        standing = self.standing
        deal = standing.begin(self._new_course())
        standing.until = None
        effects: list[Effect] = [Write(Begun(nonces=standing.nonces_in_hex, out=dict(standing.quitting)))]
        if deal is not None:
            effects.append(self._happened(deal, now))
        for seat, reason in standing.quitting.items():
            if not standing.playing.over:
                effects += self._drop(seat, reason, now)
        return effects + self._next(now)

    def _happened(self, event: Event, now: float, mover: int | None = None) -> Write:
        """Append an event that is no move. `mover` is the seat whose turn it was."""
        self.standing.events.append(event)
        course = self.standing.playing
        return Write(self._ply_line(course, event, self.standing.clock.milliseconds(now), mover), course.state)

    def _ready(self, event: Readied, now: float) -> list[Effect]:
        standing = self.standing
        standing.nonces = {event.seat: event.nonce, **standing.nonces}
        return self._set_off(now) if len(standing.nonces) == self.game.seats else []

    def _played(self, event: Played, now: float) -> list[Effect]:
        standing, seat, waited = self.standing, event.seat, event.waited or 0.0
        course, clock = standing.playing, standing.clock
        if event.ply != course.ply or (seat != course.to_move and not course.awaits(seat)):
            return self._misplaced(event)
        if event.waited is not None and clock.over(seat, now - waited):
            return self._leave(seat, TIMEOUT, now)
        try:
            course, happened = course.play(seat, self.game.decode_move(event.move))
        except (MalformedMove, IllegalMove) as fault:
            return self._strike(event, fault, now)
        if standing.until is not None:  # clocks stand still after a restart, but the increment is due
            clock = clock.start(seat, now)
        standing.course, standing.clock = course, clock.press(seat, now, waited, event.round_trip)
        if happened is None:
            return self._sealed(event, now)
        standing.accept(happened)
        if event.info is None:
            line = self._ply_line(course, happened, standing.clock.milliseconds(now), seat)
            return [Write(line, course.state), *self._next(now, line)]
        info, complaint = self._info(event)
        line = self._ply_line(course, happened, standing.clock.milliseconds(now), seat, info)
        return [Write(line, course.state), *complaint, *self._next(now, line)]

    def _sealed(self, event: Played, now: float) -> list[Effect]:
        """Keep a move of a simultaneous round sealed: no seat gets it until all have chosen."""
        standing, seat = self.standing, event.seat
        standing.seal(seat)
        info, complaint = (None, []) if event.info is None else self._info(event)
        shown = standing.clock.milliseconds(now)
        move = self.game.encode_move(standing.playing.sealed[seat])
        given = standing.newly_given(seat)
        line = Sealed(ply=event.ply, seat=seat, move=move, clock=shown, given=given, info=info)
        if standing.playing.due:
            return [Write(line), *complaint, *self._next(now)]
        return [Write(line), *complaint, self._deadline()]

    def _info(self, event: Played) -> tuple[Info | None, list[Effect]]:
        try:
            return self.standing.keep(event.seat, read_info(event.info)), []
        except MalformedMessage as fault:
            return None, [Tell(event.seat, messages.bad_info(self.id, event.ply, fault))]

    def _misplaced(self, event: Played) -> list[Effect]:
        """Reject a move that answers no turn of this seat. Ignore it if it repeats an accepted move."""
        accepted = self._accepted(event.seat, event.ply)
        if accepted is not None and accepted == self._as_told(event.move):
            return []
        return [Tell(event.seat, messages.misplaced(self.id, event.seat, event.ply, self.standing.playing))]

    def _accepted(self, seat: int, ply: int) -> dict[str, Any] | None:
        course = self.standing.playing
        if ply == course.ply and seat in course.sealed:
            return self.game.encode_move(course.sealed[seat])
        return self.standing.accepted(seat, ply)

    def _as_told(self, move: Any) -> dict[str, Any] | None:
        """Return a move as its event has it; None if it is malformed."""
        try:
            return self.game.encode_move(self.game.decode_move(move))
        except MalformedMove:
            return None

    def _strike(self, event: Played, fault: MalformedMove | IllegalMove, now: float) -> list[Effect]:
        seat, standing = event.seat, self.standing
        strikes = standing.strike(seat)
        standing.course = standing.playing.strike(seat)
        rejected = messages.struck(self.id, event.ply, fault, strikes, standing.clock.milliseconds(now)[seat])
        line = Strike(ply=event.ply, seat=seat, code=fault.code, message=str(fault))
        effects: list[Effect] = [Write(line), Tell(seat, rejected)]
        return effects if strikes < MAX_STRIKES else effects + self._leave(seat, ILLEGAL, now)

    def _needs_both(self, *seats: int) -> bool:
        """Whether the match is called off by seats that leave without a move.

        One with people is, as a page may have failed. Where more than two play, the others go on once it has begun.
        """
        pool, standing = self.header.pool, self.standing
        if pool is None or not is_of_people(pool) or any(seat in standing.answered for seat in seats):
            return False
        return self.game.seats == 2 or standing.phase is Phase.WAITING

    def _called_off_by(self, reasons: Mapping[int, str], now: float) -> list[Effect]:
        """Call the match off, and note who left it, and why."""
        self.standing.quitting = {**self.standing.quitting, **reasons}
        return self._voided(Voided(), now)

    def _resigned(self, event: Resigned, now: float) -> list[Effect]:
        if event.failed and self._needs_both(event.seat):
            return self._called_off_by({event.seat: FAILED}, now)
        return self._leave(event.seat, FAILED if event.failed else RESIGNED, now)

    def _quit_early(self, event: Resigned | Absent, now: float) -> list[Effect]:
        """Let a seat drop out before play. With more than two seats, the others keep their time to be ready."""
        standing, seats = self.standing, self.game.seats
        reason = NO_SHOW if isinstance(event, Absent) else FAILED if event.failed else RESIGNED
        if reason == FAILED and self._needs_both(event.seat):
            return self._called_off_by({event.seat: reason}, now)
        standing.quitting = {**standing.quitting, event.seat: reason}
        standing.nonces = {event.seat: b"", **standing.nonces}
        alone = len(standing.quitting) >= seats - 1
        return self._set_off(now) if alone or len(standing.nonces) == seats else []

    def _forfeited(self, event: Forfeited | Absent, now: float) -> list[Effect]:
        return self._leave(event.seat, DISCONNECTED, now)

    def _left(self, event: Left, now: float) -> list[Effect]:
        self.standing.lose(event.seat, now)
        return [self._deadline()] if self._away and self.standing.phase is Phase.PLAYING else []

    def _deadline(self) -> Deadline:
        return Deadline(self.standing.deadline(self._away))

    def _returned(self, event: Returned, now: float) -> list[Effect]:
        standing, course, seat = self.standing, self.standing.course, event.seat
        standing.regain(seat)
        effects: list[Effect] = [Tell(seat, self.start(seat, resumed=True))]
        if course is None or standing.phase is Phase.OVER or seat in course.out:
            return effects
        if standing.until is not None:
            standing.stop_waiting()
            effects += self._run_clock(now)
        if course.awaits(seat) or seat in standing.follows:
            standing.forget(seat)
            effects.append(self._tell_turn(seat, *self._shown(now, seat)))
        return effects

    def _run_clock(self, now: float) -> list[Effect]:
        """Start the clocks of the seats to move, unless the match is waiting for seats."""
        standing = self.standing
        course = standing.course
        if standing.until is not None or course is None or course.to_move is None:
            return []
        to_move = course.to_move
        if type(to_move) is not int:
            standing.clock = standing.clock.start_all(course.awaited, now)
            return [self._deadline()]
        standing.clock = clock = standing.clock.start(to_move, now)
        return [self._deadline() if standing.away else Deadline(now + clock.banks[to_move])]

    def _too_long(self, event: Expired, now: float) -> list[Effect]:
        standing = self.standing
        if standing.until is not None and now < standing.until:
            return [Deadline(standing.until)]
        if len(standing.nonces) == len(standing.quitting):
            return self._voided(Voided(), now)
        absent = [seat for seat in range(self.game.seats) if seat not in standing.nonces]
        if self._needs_both(*absent):
            return self._called_off_by(dict.fromkeys(absent, NO_SHOW), now)
        standing.quitting = {**standing.quitting, **dict.fromkeys(absent, NO_SHOW)}
        return self._set_off(now)

    def _expired(self, event: Expired, now: float) -> list[Effect]:
        standing, course = self.standing, self.standing.playing
        deadline = standing.deadline(self._away)
        if deadline is not None and now < deadline:
            return [Deadline(deadline)]
        if standing.until is not None:  # after a restart: the time to come back is over
            gone = len(standing.away.keys() | course.out.keys()) == self.game.seats
            standing.until = None
            return self._voided(Voided(), now) if gone else self._run_clock(now)
        is_away = deadline != standing.clock.deadline
        seat = standing.longest_away() if is_away else standing.clock.first
        reason = DISCONNECTED if is_away or seat in standing.away else TIMEOUT
        if self._needs_both(seat):
            return self._called_off_by({seat: reason}, now)
        return self._leave(seat, reason, now)

    def _delayed(self, event: Delayed, now: float) -> list[Effect]:
        standing = self.standing
        if event.seat not in standing.clock.running:
            return []
        standing.clock = standing.clock.delayed(event.seat, event.after, event.until)
        return [self._deadline()]

    def _held(self, event: Held, now: float) -> list[Effect]:
        self.standing.hold(event.by, now)
        return [self._deadline()]

    def _voided(self, event: Voided, now: float) -> list[Effect]:
        self.standing.course = (self.standing.course or self._new_course()).voided()
        return [Write(Void()), *self._finish(now)]

    def _leave(self, seat: int, reason: str, now: float) -> list[Effect]:
        standing, was = self.standing, self.standing.playing
        if seat in was.out:
            return []
        standing.clock = standing.clock.stop(now)
        effects = self._drop(seat, reason, now)
        if standing.playing.over:
            return effects + self._finish(now)
        standing.stop_waiting()
        if standing.playing.to_move != was.to_move:
            return effects + self._next(now, goes_on=isinstance(was.to_move, tuple))
        return effects + self._run_clock(now)

    def _drop(self, seat: int, reason: str, now: float) -> list[Effect]:
        """Let a seat drop out. If the match goes on, the seat gets its own `end` at once and is free."""
        mover = self.standing.playing.to_move
        self.standing.course, event = self.standing.playing.leave(seat, reason)
        left = self._happened(event, now, mover if isinstance(mover, int) else None)
        return [left] if self.standing.course.over else [left, Tell(seat, self.farewell(seat)), Release(seat)]

    def _finish(self, now: float) -> list[Effect]:
        standing = self.standing
        assert len(standing.playing.ranks) == self.game.seats
        standing.phase = Phase.OVER
        standing.clock = standing.clock.stop(now)
        return [Deadline(None), Finish()]

    def _next(self, now: float, line: Ply | None = None, *, goes_on: bool = False) -> list[Effect]:
        """Ask the next seats to move, or finish. After a move, `line` is its line, which already has the clocks. A
        round that `goes_on` without a seat keeps showing the clocks from its start: newer ones would reveal who has
        chosen.
        """
        standing = self.standing
        course = standing.playing
        seat = course.to_move
        if seat is None or course.over:
            return self._finish(now)
        if type(seat) is not int or seat == CHANCE:
            if course.due:
                return self._follow_up(now)
            if not goes_on:
                standing.round_ms = standing.clock.milliseconds(now)
            return self._ask_all(now)
        clock_ms, digest = self._shown(now) if line is None else (line.clock, line.digest)
        effects = self._run_clock(now)
        effects.append(self._tell_turn(seat, clock_ms, digest))
        if standing.follows or self._watched:
            effects += self._tell_others({seat}, clock_ms, digest)
        standing.shown = standing.dropped + len(standing.events)
        return effects

    def _ask_all(self, now: float) -> list[Effect]:
        standing, asked = self.standing, self.standing.playing.awaited
        effects = self._run_clock(now)
        effects += [self._tell_turn(seat, *self._shown(now, seat)) for seat in asked]
        effects += self._tell_others(asked, *self._shown(now))
        standing.shown = standing.dropped + len(standing.events)
        return effects

    def _tell_others(self, asked: Iterable[int], clock_ms: list[int], digest: str) -> list[Effect]:
        standing = self.standing
        effects: list[Effect] = []
        if standing.follows:
            effects += self._tell_followers(standing.follows - {*asked, *standing.playing.out}, clock_ms, digest)
        if self._watched:
            effects.append(Show(messages.turn(self.id, standing, standing.news(None), clock_ms, digest)))
        return effects

    def _follow_up(self, now: float) -> list[Effect]:
        """Play what is due: a round in which all have chosen, or a deal."""
        standing = self.standing
        standing.course, event = standing.playing.go_on()
        return [self._happened(event, now), *self._next(now)]

    def _shown(self, now: float, seat: int | None = None) -> tuple[list[int], str]:
        """Return the clocks as a seat sees them (None: as the public does), and the digest in hex."""
        return self._clock_shown(now, seat), self.standing.playing.digest.hex()

    def _clock_shown(self, now: float, seat: int | None = None) -> list[int]:
        """Return the clocks as a seat sees them (None: as the public does). During a simultaneous round, other seats'
        clocks show the start of the round: newer ones would reveal who has chosen.
        """
        standing = self.standing
        shown = standing.clock.milliseconds(now)
        if standing.course is None or not isinstance(standing.course.to_move, tuple):
            return shown
        return [
            ms if at == seat else known for at, (ms, known) in enumerate(zip(shown, standing.round_ms, strict=True))
        ]

    def _tell_turn(self, seat: int, clock_ms: list[int], digest: str) -> Tell:
        standing = self.standing
        return Tell(seat, messages.turn(self.id, standing, standing.tell(seat), clock_ms, digest, seat))

    def _tell_followers(self, seats: Iterable[int], clock_ms: list[int], digest: str) -> list[TellMany]:
        standing = self.standing
        alike: dict[tuple[int, bool, int], list[int]] = {}
        for seat in seats:
            sees = seat if self.game.hidden else 0
            alike.setdefault((standing.told.get(seat, 0), seat in standing.answered, sees), []).append(seat)
        tell = []
        for group in alike.values():
            *_, events = map(standing.tell, group)
            turn = messages.turn(self.id, standing, events, clock_ms, digest, group[0])
            tell.append(TellMany(tuple(group), turn))
        return tell

    def _ply_line(
        self, course: Course, event: Event, clock_ms: list[int], mover: int | None, info: Info | None = None
    ) -> Ply:
        """Return the line of an event, with the course after it. `mover` is the seat whose turn it was."""
        standing = self.standing
        given = 0 if mover is None or standing.clock.given == standing.noted else standing.newly_given(mover)
        return Ply(event=event, clock=clock_ms, digest=course.digest.hex(), given=given, info=info)

    def _too_early(self, event: Played, now: float) -> list[Effect]:
        return [Tell(event.seat, messages.too_early(self.id, event.ply))]

    def _too_late(self, event: Played, now: float) -> list[Effect]:
        return [Tell(event.seat, messages.too_late(self.id, event.ply))]

    def _nothing(self, event: MatchEvent, now: float) -> list[Effect]:
        return []


_Transition = Callable[[Match, Any, float], list[Effect]]
_WAITING: dict[type[MatchEvent], _Transition] = {
    Readied: Match._ready,
    Played: Match._too_early,
    Resigned: Match._quit_early,
    Left: Match._left,
    Returned: Match._returned,
    Forfeited: Match._nothing,
    Absent: Match._quit_early,
    Expired: Match._too_long,
    Delayed: Match._nothing,
    Held: Match._held,
    Voided: Match._voided,
}
_PLAYING: dict[type[MatchEvent], _Transition] = {
    Readied: Match._nothing,
    Played: Match._played,
    Resigned: Match._resigned,
    Left: Match._left,
    Returned: Match._returned,
    Forfeited: Match._forfeited,
    Absent: Match._forfeited,
    Expired: Match._expired,
    Delayed: Match._delayed,
    Held: Match._held,
    Voided: Match._voided,
}
_OVER: dict[type[MatchEvent], _Transition] = {
    **dict.fromkeys(_PLAYING, Match._nothing),
    Played: Match._too_late,
    Left: Match._left,
    Returned: Match._returned,
}
_TRANSITIONS = (_WAITING, _PLAYING, _OVER)
"""The handler of each event, by phase. A repeated `ready`, and most events after the end, do nothing."""
