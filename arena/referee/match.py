"""The referee of one match: pure. `receive(event, now)` returns effects for the runner to perform, in order.

Time is seconds of one monotonic clock and comes in as an argument; dice come from the match's seed. What may happen in
which phase is the table at the end.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from arena.referee.clock import TimeBanks
from arena.referee.course import Course
from arena.referee.effects import (
    Deadline,
    Delayed,
    Effect,
    Expired,
    Finish,
    Forfeited,
    Left,
    MatchEvent,
    Played,
    Readied,
    Release,
    Resigned,
    Returned,
    Show,
    Tell,
    Voided,
    Write,
)
from arena.referee.record import AnyLine, Begun, Footer, Header, Ply, Secret, Strike, Void, is_rated
from arena.referee.redo import course_of, redo
from arena.referee.result import Ratings, Result, SeatResult
from protocol.codec import read_info
from protocol.errors import BadRecord, IllegalMove, MalformedMessage, MalformedMove
from protocol.games import load
from protocol.messages import MAX_STRIKES, End, Error, Event, Info, Outcome, Player, Rejected, Start, Turn

READY_WITHIN = 10.0
RETURN_WITHIN = 30.0
MOST_TOLD = 512 * 1024
"""Bytes of events, in JSON, that one message carries at most: a frame is 1 MiB, and a seat may have slept for long."""
_SURELY_FIT = 64


class Phase(enum.IntEnum):
    """Where a match is: until every seat is ready, until nobody is to move, until the result is stored."""

    WAITING = 0
    PLAYING = 1
    OVER = 2


class Match:
    """One match under a header, from `open` (or `resume` after a restart) to `Finish`."""

    def __init__(
        self, header: Header, seed: bytes, players: Sequence[Player], seeks: Sequence[str | None] = ()
    ) -> None:
        self.header = header
        self.id = header.match
        self.game = load(header.game, header.config)
        self.players = list(players)
        self.phase = Phase.WAITING
        self.course: Course | None = None
        self.events: list[Event] = []
        self.away: set[int] = set()
        self._follows: set[int] = set()
        self._watched = False
        self._seed = seed
        self._seeks = list(seeks) or [None] * self.game.seats
        self._nonces: dict[int, bytes] = {}
        self._clock = TimeBanks.new(self.game.seats, header.clock.bank_ms / 1000, header.clock.increment_ms / 1000)
        self._until: float | None = None
        """When the time to be ready, or to come back after a restart, ends; None once the clocks run."""
        self._strikes = [0] * self.game.seats
        self._quitting: dict[int, str] = {}
        self._accepted: dict[int, tuple[int, Any]] = {}
        self._before: tuple[Course | None, int, list[int], int] = (None, 0, [], 0)
        """The course before the last event, and how many events there were and had been told and shown."""
        self._moved: set[int] = set()
        self._answered = [0] * self.game.seats
        self._told = [0] * self.game.seats
        self._shown = 0

    def open(self, now: float) -> list[Effect]:
        """The first effects of a new match."""
        self._until = now + READY_WITHIN
        return [
            Write(Secret(seed=self._seed.hex())),
            Write(self.header),
            *(Tell(seat, self.start(seat)) for seat in range(self.game.seats)),
            Show(self.start()),
            Deadline(self._until),
        ]

    def resume(self, lines: Iterable[AnyLine], now: float) -> list[Effect]:
        """Bring a new match to where its journal left it. Clocks stand still until every seat is back, or 30 s.

        Raises `BadRecord` if the journal does not follow from the rules.
        """
        lines = list(lines)
        self.away = set(range(self.game.seats))
        self._until = now + RETURN_WITHIN
        begun = next((line for line in lines if isinstance(line, Begun)), None)
        events = [line for line in lines if isinstance(line, (Ply, Strike))]
        if events and begun is None:
            raise BadRecord(f"{self.id}: the journal holds events of a match that had not begun")
        effects = self._redo(begun, events, now) if begun else []
        if any(isinstance(line, Void) for line in lines):
            _recorded, *finish = self._voided(Voided(), now)
            return [*(effect for effect in effects if type(effect) is Release), *finish]
        return effects if self.phase is Phase.OVER else [*effects, Deadline(self._until)]

    def receive(self, event: MatchEvent, now: float) -> list[Effect]:
        """What follows from an event. Legal moves, illegal ones and late ones all end here."""
        if type(event) is not Voided or not event.undo:
            self._before = self.course, len(self.events), self._told[:], self._shown
        return _TRANSITIONS[self.phase, type(event)](self, event, now)

    def follow(self, seat: int) -> None:
        """Tell a seat the turn of every ply, until it leaves."""
        self._follows.add(seat)

    def watch(self, *, wanted: bool) -> None:
        """Make `Show` effects, or none: whether anybody watches."""
        self._watched = wanted

    def start(self, seat: int | None = None, *, resumed: bool = False) -> Start:
        """The `start` for a seat, or for a watcher."""
        return Start(
            match=self.id,
            seek=None if seat is None or resumed else self._seeks[seat],
            game=self.game.name,
            config=self.game.config,
            seat=seat,
            seats=self.players,
            clock=self.header.clock,
            commitment=self.header.commitment,
            rated=self.header.rated,
            resumed=resumed,
        )

    def view(self, now: float) -> Turn | None:
        """The current turn for a watcher that comes in now, with all events so far."""
        if self.phase is not Phase.PLAYING:
            return None
        return self._turn(self.events, self._clock.milliseconds(now))

    def result(self, finished: str) -> Result:
        """The outcome, for the store; only when the match is over."""
        course = self._playing
        reasons = [course.seat_reason(seat) for seat in range(self.game.seats)]
        return Result(
            match=self.id,
            game=self.game.name,
            config=self.game.config,
            rated=is_rated(self.header, course.reason, reasons),
            seats=tuple(
                SeatResult(bot=player.bot, version=player.version, rank=rank, reason=reason)
                for player, rank, reason in zip(self.players, course.ranks, reasons, strict=True)
            ),
            reason=course.reason,
            plies=course.ply,
            digest=course.digest.hex(),
            started=self.header.started,
            finished=finished,
            tournament=self.header.tournament,
            place=self.header.place,
        )

    def footer(self, result: Result, ratings: Ratings | None) -> Footer:
        """The last line of the record."""
        return Footer(
            ranks=[seat.rank for seat in result.seats],
            reason=result.reason,
            reasons=[seat.reason for seat in result.seats],
            plies=result.plies,
            digest=result.digest,
            seed=self._seed.hex(),
            nonces=self._hex_nonces,
            finished=result.finished,
            ratings=ratings,
        )

    def farewell(self, seat: int | None, ratings: Ratings | None = None) -> End:
        """The `end` for a seat that was told none, or for a watcher. The seed is in it once nobody plays on."""
        course = self._playing
        outcomes = []
        for at, (player, rank) in enumerate(zip(self.players, course.ranks, strict=True)):
            outcome = Outcome(bot=player.bot, rank=rank, reason=course.seat_reason(at))
            rated = msgspec.structs.asdict(ratings.seats[at]) if ratings else {}
            outcomes.append(msgspec.structs.replace(outcome, **rated))
        return End(
            match=self.id,
            ply=course.ply,
            events=latest(self.events[self._shown if seat is None else self._told[seat] :]),
            state=course.wire,
            digest=course.digest.hex(),
            ranks=list(course.ranks),
            reason=course.reason if self.phase is Phase.OVER or seat is None else course.seat_reason(seat),
            seats=outcomes,
            seed=self._seed.hex() if self.phase is Phase.OVER else None,
            nonces=self._hex_nonces,
            record=f"{self.id}.jsonl.gz",
        )

    @property
    def _playing(self) -> Course:
        assert self.course is not None
        return self.course

    @property
    def _hex_nonces(self) -> list[str]:
        return [self._nonces.get(seat, b"").hex() for seat in range(self.game.seats)]

    def _new_course(self) -> Course:
        """The match before its first state; who gave no nonce by now adds nothing."""
        nonces = [self._nonces.setdefault(seat, b"") for seat in range(self.game.seats)]
        return course_of(self.header, self.game, self._seed, nonces)

    def _begin(self) -> Event | None:
        self.course, deal = self._new_course().begin()
        self.phase = Phase.PLAYING
        return deal

    def _redo(self, begun: Begun, lines: list[Ply | Strike], now: float) -> list[Effect]:
        """Referee again what the journal holds, and what it was about to hold."""
        self._nonces = {seat: bytes.fromhex(nonce) for seat, nonce in enumerate(begun.nonces)}
        self._quitting = begun.out
        deal = self._begin()
        effects: list[Effect] = []
        for line, course in redo(self._playing, deal, lines, self.id):
            self.course = course
            if isinstance(line, Strike):
                self._strikes[line.seat] += 1
                continue
            self._clock = msgspec.structs.replace(self._clock, banks=tuple(ms / 1000 for ms in line.clock))
            if line.event.out is None and line.event.seat >= 0:
                self._enter(line.event, line.event.move)
                self._told[line.event.seat] = self._answered[line.event.seat]
            else:
                self.events.append(line.event)
            if line.event.out is not None and not course.over:
                effects.append(Release(line.event.seat))
        if deal is not None and not self.events:
            effects.append(self._happened(deal, now))
        if self._playing.over:
            return effects + self._finish(now)
        struck_out = {seat: "illegal" for seat, strikes in enumerate(self._strikes) if strikes >= MAX_STRIKES}
        for seat, reason in {**self._quitting, **struck_out}.items():
            if self.phase is Phase.PLAYING:
                effects += self._leave(seat, reason, now)
        return effects

    def _set_off(self, now: float) -> list[Effect]:
        """Every seat that will come is here: from now on the clocks run."""
        deal = self._begin()
        self._until = None
        effects: list[Effect] = [Write(Begun(nonces=self._hex_nonces, out=self._quitting))]
        if deal is not None:
            effects.append(self._happened(deal, now))
        for seat, reason in self._quitting.items():
            if not self._playing.over:
                effects += self._drop(seat, reason, now)
        return effects + self._next(now)

    def _happened(self, event: Event, now: float) -> Write:
        """Note an event that is no move."""
        self.events.append(event)
        return Write(self._ply_line(event, self._clock.milliseconds(now)))

    def _ready(self, event: Readied, now: float) -> list[Effect]:
        self._nonces.setdefault(event.seat, event.nonce)
        return self._set_off(now) if len(self._nonces) == self.game.seats else []

    def _played(self, event: Played, now: float) -> list[Effect]:
        course, seat = self._playing, event.seat
        if event.ply != course.ply or seat != course.to_move:
            return self._misplaced(event)
        try:
            self.course, happened = course.play(self.game.decode_move(event.move))
        except (MalformedMove, IllegalMove) as fault:
            return self._strike(event, fault, now)
        if self._until is not None:  # after a restart time stands still, yet the increment is due
            self._clock = self._clock.start(seat, now)
        self._clock = self._clock.press(now, event.round_trip)
        self._enter(happened, event.move)
        info, complaint = self._info(event)
        line = self._ply_line(happened, self._clock.milliseconds(now), info)
        return [Write(line), *complaint, *self._next(now, line.clock)]

    def _enter(self, happened: Event, move: Any) -> None:
        seat = happened.seat
        self._moved.add(seat)
        self._answered[seat] = len(self.events)
        self._accepted[happened.ply] = seat, move
        self.events.append(happened)

    def _info(self, event: Played) -> tuple[Info | None, list[Effect]]:
        try:
            return read_info(event.info), []
        except MalformedMessage as fault:
            message = f"{fault}; the move at ply {event.ply} stands"
            return None, [Tell(event.seat, Error(code="bad_message", message=message, ref=self.id))]

    def _misplaced(self, event: Played) -> list[Effect]:
        """A move that answers no turn of this seat; a repeat of an accepted one is nothing new."""
        course = self._playing
        if self._accepted.get(event.ply) == (event.seat, event.move):
            return []
        if event.ply == course.ply:
            code, message = "not_your_turn", f"seat {course.to_move} is to move at ply {event.ply}"
        elif event.ply < course.ply:
            code, message = "stale_ply", f"ply {event.ply} has passed: the match is at ply {course.ply}"
        else:
            code, message = "stale_ply", f"ply {event.ply} is not asked yet: the match is at ply {course.ply}"
        return [Tell(event.seat, Rejected(match=self.id, ply=event.ply, code=code, message=message))]

    def _strike(self, event: Played, fault: MalformedMove | IllegalMove, now: float) -> list[Effect]:
        seat = event.seat
        self._strikes[seat] += 1
        left = MAX_STRIKES - self._strikes[seat]
        rejected = Rejected(
            match=self.id,
            ply=event.ply,
            code=fault.code,
            message=str(fault),
            strikes_left=left,
            clock_ms=self._clock.milliseconds(now)[seat],
        )
        strike = Strike(ply=event.ply, seat=seat, code=fault.code, message=str(fault))
        effects: list[Effect] = [Write(strike), Tell(seat, rejected)]
        return effects if left else effects + self._leave(seat, "illegal", now)

    def _resigned(self, event: Resigned, now: float) -> list[Effect]:
        return self._leave(event.seat, "resigned", now)

    def _resigned_early(self, event: Resigned, now: float) -> list[Effect]:
        """With more than two seats, those that want to play still have their time to be ready."""
        self._quitting.setdefault(event.seat, "resigned")
        self._nonces.setdefault(event.seat, b"")
        alone = len(self._quitting) >= self.game.seats - 1
        return self._set_off(now) if alone or len(self._nonces) == self.game.seats else []

    def _forfeited(self, event: Forfeited, now: float) -> list[Effect]:
        return self._leave(event.seat, "disconnected", now)

    def _left(self, event: Left, now: float) -> list[Effect]:
        self.away.add(event.seat)
        self._follows.discard(event.seat)
        return []

    def _returned(self, event: Returned, now: float) -> list[Effect]:
        seat = event.seat
        self.away.discard(seat)
        effects: list[Effect] = [Tell(seat, self.start(seat, resumed=True))]
        course = self.course
        if course is None or self.phase is Phase.OVER or seat in course.out:
            return effects
        if self._until is not None:
            self._stop_waiting()
            effects += self._run_clock(now)
        if seat == course.to_move or seat in self._follows:
            self._told[seat] = self._answered[seat]
            effects.append(self._tell_turn(seat, self._clock.milliseconds(now)))
        return effects

    def _stop_waiting(self) -> None:
        """After a restart the clocks stand still, unless nobody is missing any more."""
        if not self.away - self._playing.out.keys():
            self._until = None

    def _run_clock(self, now: float) -> list[Effect]:
        """Let the clock run for whoever is to move, unless it stands still."""
        course = self._playing
        if self._until is not None or course.to_move is None:
            return []
        self._clock = self._clock.start(course.to_move, now)
        return [Deadline(self._clock.deadline)]

    def _too_long(self, event: Expired, now: float) -> list[Effect]:
        """The time to be ready is over."""
        if self._until is not None and now < self._until:
            return [Deadline(self._until)]
        absent = [seat for seat in range(self.game.seats) if seat not in self._nonces]
        if len(self._nonces) == len(self._quitting):
            return self._voided(Voided(), now)
        self._quitting |= dict.fromkeys(absent, "no_show")
        return self._set_off(now)

    def _expired(self, event: Expired, now: float) -> list[Effect]:
        course = self._playing
        deadline = self._clock.deadline if self._until is None else self._until
        if deadline is not None and now < deadline:
            return [Deadline(deadline)]
        if self._until is not None:  # after a restart: the seats had their time to come back
            gone = len(self.away | course.out.keys()) == self.game.seats
            self._until = None
            return self._voided(Voided(), now) if gone else self._run_clock(now)
        assert course.to_move is not None
        return self._leave(course.to_move, "disconnected" if course.to_move in self.away else "timeout", now)

    def _delayed(self, event: Delayed, now: float) -> list[Effect]:
        if self._until is not None:
            self._until += event.by
            return [Deadline(self._until)]
        self._clock = self._clock.delayed(event.by, now)
        return [Deadline(self._clock.deadline)]

    def _voided(self, event: Voided, now: float) -> list[Effect]:
        if event.undo:
            self._undo()
        self.course = (self.course or self._new_course()).voided()
        return [Write(Void()), *self._finish(now)]

    def _undo(self) -> None:
        """Take back what the last event did."""
        self.course, events, self._told, self._shown = self._before
        del self.events[events:]

    def _voided_after_all(self, event: Voided, now: float) -> list[Effect]:
        """What ended the match was not recorded, so it did not happen."""
        return self._voided(event, now) if event.undo else []

    def _leave(self, seat: int, reason: str, now: float) -> list[Effect]:
        course = self._playing
        if seat in course.out:
            return []
        was = course.to_move
        self._clock = self._clock.stop(now)
        effects = self._drop(seat, reason, now)
        if self._playing.over:
            return effects + self._finish(now)
        self._stop_waiting()
        if self._playing.to_move != was:
            return effects + self._next(now)
        return effects + self._run_clock(now)

    def _drop(self, seat: int, reason: str, now: float) -> list[Effect]:
        """A seat drops out; where the match goes on without it, it is told its own end at once and is free."""
        self.course, event = self._playing.leave(seat, reason)
        left = self._happened(event, now)
        return [left] if self.course.over else [left, Tell(seat, self.farewell(seat)), Release(seat)]

    def _finish(self, now: float) -> list[Effect]:
        course = self._playing
        assert len(course.ranks) == self.game.seats
        self.phase = Phase.OVER
        self._clock = self._clock.stop(now)
        return [Deadline(None), Finish()]

    def _next(self, now: float, clock_ms: list[int] | None = None) -> list[Effect]:
        """Ask whoever is to move, or finish."""
        course = self._playing
        seat = course.to_move
        if course.over or seat is None:
            return self._finish(now)
        clock_ms = clock_ms or self._clock.milliseconds(now)
        effects = [*self._run_clock(now), self._tell_turn(seat, clock_ms)]
        effects += [self._tell_turn(other, clock_ms) for other in self._follows if other not in {seat, *course.out}]
        if self._watched:
            effects.append(Show(self._turn(self.events[self._shown :], clock_ms)))
        self._shown = len(self.events)
        return effects

    def _tell_turn(self, seat: int, clock_ms: list[int]) -> Tell:
        turn = self._turn(self.events[self._told[seat] :], clock_ms, seat)
        self._told[seat] = len(self.events)
        return Tell(seat, turn)

    def _turn(self, events: Sequence[Event], clock_ms: list[int], seat: int | None = None) -> Turn:
        course = self._playing
        assert course.to_move is not None
        legal, options = self.game.offer(course.state) if seat == course.to_move else (None, None)
        return Turn(
            match=self.id,
            ply=course.ply,
            to_move=course.to_move,
            state=course.wire,
            events=latest(events),
            clock=clock_ms,
            legal=legal,
            options=options,
            digest=course.digest.hex(),
            nonces=None if seat is None or seat in self._moved else self._hex_nonces,
        )

    def _ply_line(self, event: Event, clock_ms: list[int], info: Info | None = None) -> Ply:
        return Ply(event=event, clock=clock_ms, digest=self._playing.digest.hex(), info=info)

    def _too_early(self, event: Played, now: float) -> list[Effect]:
        message = "the match has not begun: it begins when every seat has sent ready"
        rejected = Rejected(match=self.id, ply=event.ply, code="not_your_turn", message=message)
        return [Tell(event.seat, rejected)]

    def _too_late(self, event: Played, now: float) -> list[Effect]:
        rejected = Rejected(match=self.id, ply=event.ply, code="no_such_match", message="the match is over")
        return [Tell(event.seat, rejected)]

    def _nothing(self, event: MatchEvent, now: float) -> list[Effect]:
        return []


def latest(events: Sequence[Event]) -> list[Event]:
    """Of more events than a frame may hold, those at the end."""
    if len(events) > _SURELY_FIT:
        size = 0
        for at in range(len(events) - 1, -1, -1):
            size += len(msgspec.json.encode(events[at]))
            if size > MOST_TOLD:
                return list(events[at + 1 :])
    return list(events)


_TRANSITIONS: dict[tuple[Phase, type[MatchEvent]], Callable[[Match, Any, float], list[Effect]]] = {
    (Phase.WAITING, Readied): Match._ready,
    (Phase.WAITING, Played): Match._too_early,
    (Phase.WAITING, Resigned): Match._resigned_early,
    (Phase.WAITING, Left): Match._left,
    (Phase.WAITING, Returned): Match._returned,
    (Phase.WAITING, Forfeited): Match._nothing,
    (Phase.WAITING, Expired): Match._too_long,
    (Phase.WAITING, Delayed): Match._delayed,
    (Phase.WAITING, Voided): Match._voided,
    (Phase.PLAYING, Readied): Match._nothing,
    (Phase.PLAYING, Played): Match._played,
    (Phase.PLAYING, Resigned): Match._resigned,
    (Phase.PLAYING, Left): Match._left,
    (Phase.PLAYING, Returned): Match._returned,
    (Phase.PLAYING, Forfeited): Match._forfeited,
    (Phase.PLAYING, Expired): Match._expired,
    (Phase.PLAYING, Delayed): Match._delayed,
    (Phase.PLAYING, Voided): Match._voided,
    (Phase.OVER, Readied): Match._nothing,
    (Phase.OVER, Played): Match._too_late,
    (Phase.OVER, Resigned): Match._nothing,
    (Phase.OVER, Left): Match._left,
    (Phase.OVER, Returned): Match._returned,
    (Phase.OVER, Forfeited): Match._nothing,
    (Phase.OVER, Expired): Match._nothing,
    (Phase.OVER, Delayed): Match._nothing,
    (Phase.OVER, Voided): Match._voided_after_all,
}
"""Which event does what in which phase; a `ready` once more, or anything after the end, is no news."""
