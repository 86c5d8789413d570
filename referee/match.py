"""The referee of one match, without I/O. `receive(event, now)` returns effects for the runner to perform, in order.

Times are arguments, in seconds of one monotonic clock. Dice come from the match's seed. The table at the end of this
file says what each event does in each phase.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from protocol.codec import read_info
from protocol.errors import ArenaFault, IllegalMove, MalformedMessage, MalformedMove, RulesFault
from protocol.games import shared_game
from protocol.games.base import Game
from protocol.games.isolated import RulesWanted
from protocol.messages import CHANCE, MAX_STRIKES, End, Event, Info, ListedMatch, Player, Start, Turn
from protocol.pools import is_people_pool
from protocol.reasons import DISCONNECTED, FAILED, ILLEGAL, NO_SHOW, RESIGNED, TIMEOUT
from referee import messages
from referee.clock import TimeBanks
from referee.course import Course
from referee.effects import (
    Abort,
    DeadlineReached,
    Disconnect,
    Effect,
    FinishMatch,
    Forfeit,
    MatchEvent,
    MoveReceived,
    NoShow,
    Pause,
    Reconnect,
    ReleaseSeat,
    ReportRulesFault,
    Resignation,
    RunnerLost,
    SeatReady,
    SendDelay,
    SendToSeat,
    SendToSeats,
    SendToWatchers,
    SetDeadline,
    WriteLine,
)
from referee.footer import make_footer, make_result, thinking_times
from referee.record import (
    MAX_STATE_BYTES,
    MAX_STATES_BYTES,
    AnyLine,
    Begun,
    Footer,
    Header,
    Ply,
    Sealed,
    Secret,
    Strike,
    Void,
    encoded_size,
    rules_digest,
)
from referee.replay import JournalSummary, apply_journal, make_course
from referee.result import Ratings, Result
from referee.state import MatchStanding, OlderEvents, Phase, Snapshot, restore_snapshot


class OversizedStates(ArenaFault):
    """The states of a match are too large for its record. The rules of the game are at fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchTimeouts:
    """The referee's time limits for a seat before its clock runs, in seconds."""

    ready_timeout_s: float = 10.0
    """Seconds within which every seat must report that it is ready."""
    return_timeout_s: float = 30.0
    """Seconds within which every seat must come back after a restart of the arena, or the loss of a runner. Until then,
    no clock runs.
    """


class Match:
    """The referee of one match, from `start_match` (or `resume` after a restart) to `FinishMatch`. If `older` can fetch
    recorded events, only the latest events stay in memory. `game` has the rules, if they are guarded.

    If guarded rules fail, the match is void: the event during which they failed is undone.
    """

    def __init__(
        self,
        header: Header,
        seed: bytes,
        players: Sequence[Player],
        seeks: Sequence[str | None] = (),
        older: OlderEvents | None = None,
        timeouts: MatchTimeouts | None = None,
        game: Game[Any, Any] | None = None,
    ) -> None:
        self._timeouts = timeouts or MatchTimeouts()
        self.header = header
        self.id = header.match
        self.is_guarded = game is not None
        """True if the rules are not built in."""
        self.game = shared_game(header.game, header.config, rules_digest(header)) if game is None else game
        self.players = list(players)
        banks = TimeBanks.new(self.game.seats, header.clock.bank_ms, header.clock.increment_ms)
        self.standing = MatchStanding(
            banks,
            load_older=older,
            round_start_ms=banks.milliseconds_left(0.0),
            recorded_compensation_ms=banks.compensated_ms,
        )
        self._standing_before: Snapshot | None = None
        """The standing before the last `MatchEvent`, for an `Abort` that undoes it."""
        self._seed = seed
        self._seeks = list(seeks) or [None] * self.game.seats
        self._watched = False
        self._away_limit_s = header.away_ms / 1000
        self._records_states = header.rules is not None
        self._states_bytes = 0
        """The bytes of the states in the record."""

    def start_match(self, now: float) -> list[Effect]:
        """Return the first effects of a new match, to be performed by the host."""
        self.standing.wait_until = now + self._timeouts.ready_timeout_s
        return [
            WriteLine(Secret(seed=self._seed.hex())),
            WriteLine(self.header),
            *(SendToSeat(seat, self.start_message(seat)) for seat in range(self.game.seats)),
            SendToWatchers(self.start_message()),
            SetDeadline(self.standing.wait_until),
        ]

    def load_journal(self, lines: Iterable[AnyLine]) -> JournalSummary:
        """Apply the journal of a match and return its summary, which `resume` needs. A long journal takes some time.
        Raise `BadRecord` if the journal does not follow from the rules. If they fail, `resume` calls the match off.
        """
        lines = list(lines)
        recalled = apply_journal(self.standing, lines, self._new_course, self.id)
        states = [line.state for line in lines if isinstance(line, Ply) and line.state is not None]
        self._states_bytes = sum(map(encoded_size, states))
        self.standing.trim_events()
        return recalled

    def resume(self, summary: JournalSummary, now: float) -> list[Effect]:
        """Continue a match after `load_journal`, and return the effects for the host to perform. Clocks stand still
        until every seat is back, for at most `return_timeout_s` seconds. Raise `RulesWanted` if answers of isolated
        rules are missing; the match is then as before the call.
        """
        before, states_bytes = self.standing.snapshot(), self._states_bytes
        try:
            return self._resume(summary, now)
        except RulesWanted:
            self.standing, self._states_bytes = restore_snapshot(before), states_bytes
            raise

    def _resume(self, summary: JournalSummary, now: float) -> list[Effect]:
        self.standing.disconnected_since = dict.fromkeys(range(self.game.seats), now)
        self.standing.wait_until = now + self._timeouts.return_timeout_s
        effects: list[Effect] = [ReleaseSeat(seat) for seat in summary.released_seats]
        if summary.is_void:
            _recorded, *finish = self._call_off(Abort(), now)
            return [*effects, *finish]
        if summary.deal is not None:
            effects.append(self._append_event(summary.deal, now))
        if summary.fault is not None:
            return [*effects, *self.call_off_by_fault(summary.fault, now)]
        if summary.begun:
            self._standing_before = self.standing.snapshot()
            try:
                effects += self._finish_interrupted_event(now)
            except Exception as exc:
                return [*effects, *self._undo_by_fault(exc, now)]
        return effects if self.standing.phase is Phase.OVER else [*effects, SetDeadline(self.standing.wait_until)]

    def receive(self, event: MatchEvent, now: float) -> list[Effect]:
        """Handle an event, such as a move that may be illegal or late. Return the effects for the host to perform.
        Raise `RulesWanted` if answers of isolated rules are missing; the match is then as before the event.
        """
        states_bytes = self._states_bytes
        if type(event) is not Abort or not event.undo_last_event:
            self._standing_before = self.standing.snapshot()
        else:
            self._undo()
        try:
            return _HANDLERS_BY_PHASE[self.standing.phase][type(event)](self, event, now)
        except RulesWanted:
            self._undo()
            self._states_bytes = states_bytes
            raise
        except Exception as exc:
            return self._undo_by_fault(exc, now)

    def call_off_by_fault(self, exc: Exception, now: float) -> list[Effect]:
        """Call the match off because of an exception outside of an event, and return the effects for the host to
        perform. Raise the exception again if the rules are not guarded.
        """
        if not self.is_guarded:
            raise exc
        fault = exc if isinstance(exc, RulesFault) else RulesFault(self.game.name, f"{type(exc).__name__}: {exc}")
        return [ReportRulesFault(fault), *self._call_off(Abort(), now)]

    def _undo_by_fault(self, exc: Exception, now: float) -> list[Effect]:
        """Undo the last event, during which guarded rules failed or gave a result that the referee can't use, and call
        the match off.
        """
        if self.is_guarded:
            self._undo()
        return self.call_off_by_fault(exc, now)

    def _undo(self) -> None:
        """Take back what the last event has changed, unless that was done already."""
        if self._standing_before is not None:
            self.standing, self._standing_before = restore_snapshot(self._standing_before), None

    @property
    def ply(self) -> int:
        """The number of plies played."""
        course = self.standing.course
        return 0 if course is None else course.ply

    def add_follower(self, seat: int) -> None:
        """Send a seat a `turn` message at every ply from now on, not only when it is to move. This ends when its
        connection is lost.
        """
        self.standing.followers |= {seat}

    def set_watched(self, *, is_watched: bool) -> None:
        """Turn `SendToWatchers` effects on or off. They are needed only while the match has watchers."""
        self._watched = is_watched
        self.standing.states_unshown = ()

    def seek_of(self, seat: int) -> str | None:
        """Return the id of the seek that brought a seat to this match; None if there was no seek."""
        return self._seeks[seat]

    def start_message(self, seat: int | None = None, *, resumed: bool = False) -> Start:
        seek = None if seat is None or resumed else self._seeks[seat]
        return messages.make_start(self.header, self.game, self.players, seat, seek=seek, resumed=resumed)

    def listed_match(self, watchers: int) -> ListedMatch:
        return messages.make_listed_match(self.header, self.game, self.standing, watchers)

    @property
    def records_states(self) -> bool:
        """True if the record has the states: the rules of the game do not come with bot-arena."""
        return self._records_states

    def spectator_turn(self, now: float, recorded_states: Sequence[dict[str, Any]] = ()) -> Turn | None:
        """Build the current turn for a new watcher, with all events so far, and with the states between them as far as
        `recorded_states` has those after the latest events. Return None unless the match is in play.
        """
        standing = self.standing
        if standing.phase is not Phase.PLAYING:
            return None
        states = recorded_states[:-1]
        if recorded_states and len(recorded_states) == standing.events_dropped + len(standing.events):
            first, deal = self._new_course().begin()
            states = states if deal else [first.encoded_state, *states]
        events, shown = standing.events_since(0), self._clocks_and_digest(now)
        return messages.make_turn(self.id, standing, events, *shown, states=states)

    def public_clocks(self, now: float) -> tuple[list[int], int | None]:
        """Return the milliseconds left to each seat, as the public sees them, and the seat whose clock runs. The second
        result is None if several clocks run or none.
        """
        course = self.standing.course
        to_move = None if course is None or not self.standing.clock.running else course.to_move
        return self._clocks_seen_by(now), to_move if isinstance(to_move, int) else None

    def result(self, finished: str) -> Result:
        """Return the result of a match that is over, as the store keeps it."""
        standing = self.standing
        thought = thinking_times(
            self.header, standing.move_counts, [int(bank * 1000) for bank in standing.clock.banks_s]
        )
        return make_result(self.header, standing.current_course, self.players, finished, thought)

    def footer(self, result: Result, ratings: Ratings | None) -> Footer:
        return make_footer(result, self._seed, self.standing.nonces_in_hex, ratings)

    def end_message(self, seat: int | None, ratings: Ratings | None = None) -> End:
        """Build the `end` message for a seat that has not been sent one, or for a watcher (None). The message has the
        seed once the match is over for all seats.
        """
        return messages.make_end(self.id, self.players, self.standing, seat, self._seed, ratings)

    def _new_course(self) -> Course:
        return make_course(self.header, self.game, self._seed, self.standing.nonces_by_seat)

    def _finish_interrupted_event(self, now: float) -> list[Effect]:
        """Complete the event that a crash interrupted after writing its line: end the match, or let seats drop out."""
        standing = self.standing
        if standing.current_course.is_over:
            return self._finish(now)
        effects: list[Effect] = self._play_due(now) if standing.current_course.is_due else []
        struck_out = {seat: ILLEGAL for seat, strikes in standing.strikes.items() if strikes >= MAX_STRIKES}
        for seat, reason in {**standing.early_quits, **struck_out}.items():
            if standing.phase is Phase.PLAYING:
                effects += self._remove_seat(seat, reason, now)
        return effects

    def _begin_play(self, now: float) -> list[Effect]:
        standing = self.standing
        deal = standing.begin(self._new_course())
        standing.wait_until = None
        effects: list[Effect] = [WriteLine(Begun(nonces=standing.nonces_in_hex, out=dict(standing.early_quits)))]
        if deal is not None:
            effects.append(self._append_event(deal, now))
        for seat, reason in standing.early_quits.items():
            if not standing.current_course.is_over:
                effects += self._drop_seat(seat, reason, now)
        return effects + self._ask_next(now)

    def _append_event(self, event: Event, now: float, mover: int | None = None) -> WriteLine:
        """Append an event other than a seat's move, and return its line. `mover` is the seat whose turn it was."""
        self.standing.events.append(event)
        course = self.standing.current_course
        return WriteLine(
            self._make_ply_line(course, event, self.standing.clock.milliseconds_left(now), mover), course.state
        )

    def _on_ready(self, event: SeatReady, now: float) -> list[Effect]:
        standing = self.standing
        standing.nonces = {event.seat: event.nonce, **standing.nonces}
        return self._begin_play(now) if len(standing.nonces) == self.game.seats else []

    def _on_move(self, event: MoveReceived, now: float) -> list[Effect]:
        standing, seat, waited = self.standing, event.seat, event.waited_s or 0.0
        course, clock = standing.course, standing.clock
        assert course is not None  # `current_course` would take a call at each ply
        if event.ply != course.ply or (seat != course.to_move and not course.is_awaited(seat)):
            return self._reject_misplaced(event)
        if event.waited_s is not None and clock.is_late(seat, now - waited):
            return self._remove_seat(seat, TIMEOUT, now)
        try:
            course, happened = course.play(seat, self.game.decode_move(event.move))
        except (MalformedMove, IllegalMove) as fault:
            return self._on_bad_move(event, fault, now)
        if standing.wait_until is not None:  # clocks stand still after a restart, but the increment is due
            clock = clock.start(seat, now)
        standing.course, standing.clock = course, clock.press(seat, now, waited, event.round_trip_s)
        if happened is None:
            return self._seal_move(event, now)
        standing.note_move(happened)
        if event.info is None:
            line = self._make_ply_line(course, happened, standing.clock.milliseconds_left(now), seat)
            return [WriteLine(line, course.state), *self._ask_next(now, line)]
        info, complaint = self._read_info(event)
        line = self._make_ply_line(course, happened, standing.clock.milliseconds_left(now), seat, info)
        return [WriteLine(line, course.state), *complaint, *self._ask_next(now, line)]

    def _seal_move(self, event: MoveReceived, now: float) -> list[Effect]:
        """Accept a move of a simultaneous round and keep it sealed: no seat sees the move until all have chosen."""
        standing, seat = self.standing, event.seat
        standing.note_sealed_move(seat)
        info, complaint = (None, []) if event.info is None else self._read_info(event)
        shown = standing.clock.milliseconds_left(now)
        move = self.game.encode_move(standing.current_course.sealed[seat])
        given = standing.take_unrecorded_compensation(seat)
        line = Sealed(ply=event.ply, seat=seat, move=move, clock=shown, given=given, info=info)
        if standing.current_course.is_due:
            return [WriteLine(line), *complaint, *self._ask_next(now)]
        return [WriteLine(line), *complaint, self._next_deadline()]

    def _read_info(self, event: MoveReceived) -> tuple[Info | None, list[Effect]]:
        try:
            return self.standing.count_new_info(event.seat, read_info(event.info)), []
        except MalformedMessage as fault:
            return None, [SendToSeat(event.seat, messages.report_bad_info(self.id, event.ply, fault))]

    def _reject_misplaced(self, event: MoveReceived) -> list[Effect]:
        """Reject a move that answers no turn of its seat. If it repeats an accepted move, ignore it."""
        accepted = self._find_accepted_move(event.seat, event.ply)
        if accepted is not None and accepted == self._normalise_move(event.move):
            return []
        return [
            SendToSeat(
                event.seat, messages.reject_misplaced(self.id, event.seat, event.ply, self.standing.current_course)
            )
        ]

    def _find_accepted_move(self, seat: int, ply: int) -> dict[str, Any] | None:
        course = self.standing.current_course
        if ply == course.ply and seat in course.sealed:
            return self.game.encode_move(course.sealed[seat])
        return self.standing.find_accepted_move(seat, ply)

    def _normalise_move(self, move: Any) -> dict[str, Any] | None:
        """Return a move in the form in which events have it; None if it is malformed."""
        try:
            return self.game.encode_move(self.game.decode_move(move))
        except MalformedMove:
            return None

    def _on_bad_move(self, event: MoveReceived, fault: MalformedMove | IllegalMove, now: float) -> list[Effect]:
        seat, standing = event.seat, self.standing
        strikes = standing.add_strike(seat)
        standing.course = standing.current_course.add_strike(seat)
        rejected = messages.reject_bad_move(
            self.id, event.ply, fault, strikes, standing.clock.milliseconds_left(now)[seat]
        )
        line = Strike(ply=event.ply, seat=seat, code=fault.code, message=str(fault))
        effects: list[Effect] = [WriteLine(line), SendToSeat(seat, rejected)]
        return effects if strikes < MAX_STRIKES else effects + self._remove_seat(seat, ILLEGAL, now)

    def _is_called_off_without(self, *seats: int) -> bool:
        """Return whether the match is called off if these seats leave. It is called off only if people play in it and
        none of these seats has moved, because a web page may have failed.

        A match of two seats is called off even after it has begun. A match of more seats is called off only before it
        begins; after that, it goes on without the seats that leave.
        """
        pool, standing = self.header.pool, self.standing
        if pool is None or not is_people_pool(pool) or any(seat in standing.events_before_last_move for seat in seats):
            return False
        return self.game.seats == 2 or standing.phase is Phase.WAITING

    def _call_off_after_leaving(self, reasons: Mapping[int, str], now: float) -> list[Effect]:
        """Call the match off because seats left. `reasons` has these seats, each with its reason."""
        self.standing.early_quits = {**self.standing.early_quits, **reasons}
        return self._call_off(Abort(), now)

    def _on_resignation(self, event: Resignation, now: float) -> list[Effect]:
        if event.failed and self._is_called_off_without(event.seat):
            return self._call_off_after_leaving({event.seat: FAILED}, now)
        return self._remove_seat(event.seat, FAILED if event.failed else RESIGNED, now)

    def _on_early_quit(self, event: Resignation | NoShow, now: float) -> list[Effect]:
        """Let a seat drop out before play begins. In a match of more than two seats, the other seats may still become
        ready until the timeout.
        """
        standing, seats = self.standing, self.game.seats
        reason = NO_SHOW if isinstance(event, NoShow) else FAILED if event.failed else RESIGNED
        if reason == FAILED and self._is_called_off_without(event.seat):
            return self._call_off_after_leaving({event.seat: reason}, now)
        standing.early_quits = {**standing.early_quits, event.seat: reason}
        standing.nonces = {event.seat: b"", **standing.nonces}
        alone = len(standing.early_quits) >= seats - 1
        return self._begin_play(now) if alone or len(standing.nonces) == seats else []

    def _on_forfeit(self, event: Forfeit | NoShow, now: float) -> list[Effect]:
        return self._remove_seat(event.seat, DISCONNECTED, now)

    def _on_disconnect(self, event: Disconnect, now: float) -> list[Effect]:
        self.standing.note_disconnect(event.seat, now)
        return [self._next_deadline()] if self._away_limit_s and self.standing.phase is Phase.PLAYING else []

    def _on_runner_lost(self, event: RunnerLost, now: float) -> list[Effect]:
        """Stop the clocks until every seat is back, as after a restart of the arena."""
        standing = self.standing
        if standing.course is not None and event.seat in standing.course.dropped_out:
            return []
        standing.note_disconnect(event.seat, now)
        standing.clock = standing.clock.stop(now)
        standing.wait_until = now + self._timeouts.return_timeout_s
        return [SetDeadline(standing.wait_until)]

    def _next_deadline(self) -> SetDeadline:
        return SetDeadline(self.standing.deadline(self._away_limit_s))

    def _on_reconnect(self, event: Reconnect, now: float) -> list[Effect]:
        standing, course, seat = self.standing, self.standing.course, event.seat
        standing.note_reconnect(seat)
        effects: list[Effect] = [SendToSeat(seat, self.start_message(seat, resumed=True))]
        if course is None or standing.phase is Phase.OVER or seat in course.dropped_out:
            return effects
        if standing.wait_until is not None:
            standing.stop_waiting()
            effects += self._run_clock(now)
        if course.is_awaited(seat) or seat in standing.followers:
            standing.mark_unsent(seat)
            effects.append(self._send_turn(seat, *self._clocks_and_digest(now, seat)))
        return effects

    def _run_clock(self, now: float) -> list[Effect]:
        """Start the clocks of the seats to move, unless the match is waiting for seats."""
        standing = self.standing
        course = standing.course
        if standing.wait_until is not None or course is None or course.to_move is None:
            return []
        to_move = course.to_move
        if type(to_move) is not int:
            standing.clock = standing.clock.start_all(course.awaited_seats, now)
            return [self._next_deadline()]
        return [self._start_clock(to_move, now)]

    def _start_clock(self, seat: int, now: float) -> SetDeadline:
        standing = self.standing
        standing.clock = clock = standing.clock.start(seat, now)
        return self._next_deadline() if standing.disconnected_since else SetDeadline(now + clock.banks_s[seat])

    def _on_ready_timeout(self, event: DeadlineReached, now: float) -> list[Effect]:
        standing = self.standing
        if standing.wait_until is not None and now < standing.wait_until:
            return [SetDeadline(standing.wait_until)]
        if len(standing.nonces) == len(standing.early_quits):
            return self._call_off(Abort(), now)
        absent = [seat for seat in range(self.game.seats) if seat not in standing.nonces]
        if self._is_called_off_without(*absent):
            return self._call_off_after_leaving(dict.fromkeys(absent, NO_SHOW), now)
        standing.early_quits = {**standing.early_quits, **dict.fromkeys(absent, NO_SHOW)}
        return self._begin_play(now)

    def _on_deadline(self, event: DeadlineReached, now: float) -> list[Effect]:
        standing, course = self.standing, self.standing.current_course
        deadline = standing.deadline(self._away_limit_s)
        if deadline is not None and now < deadline:
            return [SetDeadline(deadline)]
        if standing.wait_until is not None:  # after a restart: the time to come back is over
            gone = len(standing.disconnected_since.keys() | course.dropped_out.keys()) == self.game.seats
            standing.wait_until = None
            return self._call_off(Abort(), now) if gone else self._run_clock(now)
        is_away = deadline != standing.clock.deadline
        seat = standing.longest_away() if is_away else standing.clock.first_to_expire
        if seat in course.dropped_out:
            raise RulesFault(self.game.name, f"seat {seat} is to move, although it left the match")
        reason = DISCONNECTED if is_away or seat in standing.disconnected_since else TIMEOUT
        if self._is_called_off_without(seat):
            return self._call_off_after_leaving({seat: reason}, now)
        return self._remove_seat(seat, reason, now)

    def _on_send_delay(self, event: SendDelay, now: float) -> list[Effect]:
        standing = self.standing
        if event.seat not in standing.clock.running:
            return []
        standing.clock = standing.clock.delay_start(event.seat, event.sent_after, event.written_at)
        return [self._next_deadline()]

    def _on_pause(self, event: Pause, now: float) -> list[Effect]:
        self.standing.shift_times(event.pause_s, now)
        return [self._next_deadline()]

    def _call_off(self, event: Abort, now: float) -> list[Effect]:
        self.standing.course = (self.standing.course or self._new_course()).call_off()
        return [WriteLine(Void()), *self._finish(now)]

    def _remove_seat(self, seat: int, reason: str, now: float) -> list[Effect]:
        standing, was = self.standing, self.standing.current_course
        if seat in was.dropped_out:
            return []
        if self.is_guarded and reason != RESIGNED:
            self.game.check_turn(was.state)  # no bot pays for rules by which it could not play
        standing.clock = standing.clock.stop(now)
        effects = self._drop_seat(seat, reason, now)
        if standing.current_course.is_over:
            return effects + self._finish(now)
        standing.stop_waiting()
        if standing.current_course.to_move != was.to_move:
            return effects + self._ask_next(now, round_continues=isinstance(was.to_move, tuple))
        return effects + self._run_clock(now)

    def _drop_seat(self, seat: int, reason: str, now: float) -> list[Effect]:
        """Let a seat drop out. If the match goes on, the seat is sent its `end` at once, and its bot is free."""
        mover = self.standing.current_course.to_move
        self.standing.course, event = self.standing.current_course.drop_out(seat, reason)
        left = self._append_event(event, now, mover if isinstance(mover, int) else None)
        return (
            [left]
            if self.standing.course.is_over
            else [left, SendToSeat(seat, self.end_message(seat)), ReleaseSeat(seat)]
        )

    def _finish(self, now: float) -> list[Effect]:
        standing = self.standing
        standing.current_course.check_result()
        if self.header.rules is not None:
            standing.course = standing.current_course.bind_result()
        standing.phase = Phase.OVER
        standing.clock = standing.clock.stop(now)
        return [SetDeadline(None), FinishMatch()]

    def _ask_next(self, now: float, line: Ply | None = None, *, round_continues: bool = False) -> list[Effect]:
        """Ask the next seats to move, or finish the match. After a move, `line` is the move's line, which already has
        the clocks.

        `round_continues` means that a simultaneous round continues after a seat left. Seats still see the clocks from
        the start of the round, because newer clocks would reveal who has chosen.
        """
        standing = self.standing
        course = standing.course
        assert course is not None
        seat = course.to_move
        if seat is None or (line is None and course.is_over):
            return self._finish(now)
        if type(seat) is not int or seat == CHANCE:
            if course.is_due:
                return self._play_due(now)
            if not round_continues:
                standing.round_start_ms = standing.clock.milliseconds_left(now)
            return self._ask_round(now)
        clock_ms, digest = self._clocks_and_digest(now) if line is None else (line.clock, line.digest)
        turn = self._send_turn(seat, clock_ms, digest)
        effects: list[Effect] = [turn] if standing.wait_until is not None else [self._start_clock(seat, now), turn]
        if standing.followers or self._watched:
            effects += self._send_turn_to_others({seat}, clock_ms, digest)
        standing.events_shown = standing.events_dropped + len(standing.events)
        return effects

    def _ask_round(self, now: float) -> list[Effect]:
        standing, asked = self.standing, self.standing.current_course.awaited_seats
        effects = self._run_clock(now)
        effects += [self._send_turn(seat, *self._clocks_and_digest(now, seat)) for seat in asked]
        effects += self._send_turn_to_others(asked, *self._clocks_and_digest(now))
        standing.events_shown = standing.events_dropped + len(standing.events)
        return effects

    def _send_turn_to_others(self, asked: Iterable[int], clock_ms: list[int], digest: str) -> list[Effect]:
        standing = self.standing
        effects: list[Effect] = []
        if standing.followers:
            effects += self._send_turn_to_followers(
                standing.followers - {*asked, *standing.current_course.dropped_out}, clock_ms, digest
            )
        if self._watched:
            events, states = standing.unsent_events(None), standing.states_unshown[:-1]
            turn = messages.make_turn(self.id, standing, events, clock_ms, digest, states=states)
            effects.append(SendToWatchers(turn))
            standing.states_unshown = ()
        return effects

    def _play_due(self, now: float) -> list[Effect]:
        standing = self.standing
        standing.course, event = standing.current_course.play_due()
        return [self._append_event(event, now), *self._ask_next(now)]

    def _clocks_and_digest(self, now: float, seat: int | None = None) -> tuple[list[int], str]:
        """Return the clocks as a seat, or the public (None), sees them, and the digest of the match in hexadecimal."""
        return self._clocks_seen_by(now, seat), self.standing.current_course.digest.hex()

    def _clocks_seen_by(self, now: float, seat: int | None = None) -> list[int]:
        """Return the clocks as a seat, or the public (None), sees them. During a simultaneous round, the clocks of
        other seats show the start of the round: newer clocks would reveal who has chosen.
        """
        standing = self.standing
        shown = standing.clock.milliseconds_left(now)
        if standing.course is None or not isinstance(standing.course.to_move, tuple):
            return shown
        return [
            ms if at == seat else known
            for at, (ms, known) in enumerate(zip(shown, standing.round_start_ms, strict=True))
        ]

    def _send_turn(self, seat: int, clock_ms: list[int], digest: str) -> SendToSeat:
        standing = self.standing
        return SendToSeat(
            seat, messages.make_turn(self.id, standing, standing.take_unsent_events(seat), clock_ms, digest, seat)
        )

    def _send_turn_to_followers(self, seats: Iterable[int], clock_ms: list[int], digest: str) -> list[SendToSeats]:
        standing = self.standing
        alike: dict[tuple[int, bool, int], list[int]] = {}
        for seat in seats:
            sees = seat if self.game.hidden else 0
            alike.setdefault(
                (standing.events_sent.get(seat, 0), seat in standing.events_before_last_move, sees), []
            ).append(seat)
        tell = []
        for group in alike.values():
            *_, events = map(standing.take_unsent_events, group)
            turn = messages.make_turn(self.id, standing, events, clock_ms, digest, group[0])
            tell.append(SendToSeats(tuple(group), turn))
        return tell

    def _make_ply_line(
        self, course: Course, event: Event, clock_ms: list[int], mover: int | None, info: Info | None = None
    ) -> Ply:
        """Return the line of the record for an event. `course` is the match after the event, `mover` the seat whose
        turn it was.
        """
        standing = self.standing
        given = (
            0
            if mover is None or standing.clock.compensated_ms == standing.recorded_compensation_ms
            else standing.take_unrecorded_compensation(mover)
        )
        state = self._state_to_record(course) if self._records_states else None
        return Ply(event=event, clock=clock_ms, digest=course.digest.hex(), given=given, info=info, state=state)

    def _state_to_record(self, course: Course) -> dict[str, Any]:
        """Return the state after an event, for its line. Raise `OversizedStates` if the record has no room for it."""
        size = encoded_size(course.encoded_state)
        self._states_bytes += size
        if size > MAX_STATE_BYTES:
            raise OversizedStates(
                f"{self.id}: the state of {self.game.name} at ply {course.ply} has {size:,} bytes: at most "
                f"{MAX_STATE_BYTES:,} fit in a record"
            )
        if self._states_bytes > MAX_STATES_BYTES:
            raise OversizedStates(
                f"{self.id}: the states of {self.game.name} have more than {MAX_STATES_BYTES:,} bytes at ply "
                f"{course.ply}: a record has no room for more"
            )
        if self._watched:
            self.standing.states_unshown += (course.encoded_state,)
        return course.encoded_state

    def _reject_early_move(self, event: MoveReceived, now: float) -> list[Effect]:
        return [SendToSeat(event.seat, messages.reject_early(self.id, event.ply))]

    def _reject_late_move(self, event: MoveReceived, now: float) -> list[Effect]:
        return [SendToSeat(event.seat, messages.reject_late(self.id, event.ply))]

    def _ignore(self, event: MatchEvent, now: float) -> list[Effect]:
        return []


_Handler = Callable[[Match, Any, float], list[Effect]]
_WAITING_HANDLERS: dict[type[MatchEvent], _Handler] = {
    SeatReady: Match._on_ready,
    MoveReceived: Match._reject_early_move,
    Resignation: Match._on_early_quit,
    Disconnect: Match._on_disconnect,
    Reconnect: Match._on_reconnect,
    RunnerLost: Match._on_runner_lost,
    Forfeit: Match._ignore,
    NoShow: Match._on_early_quit,
    DeadlineReached: Match._on_ready_timeout,
    SendDelay: Match._ignore,
    Pause: Match._on_pause,
    Abort: Match._call_off,
}
"""The handlers of events before every seat is ready, by type of event."""
_PLAYING_HANDLERS: dict[type[MatchEvent], _Handler] = {
    SeatReady: Match._ignore,
    MoveReceived: Match._on_move,
    Resignation: Match._on_resignation,
    Disconnect: Match._on_disconnect,
    Reconnect: Match._on_reconnect,
    RunnerLost: Match._on_runner_lost,
    Forfeit: Match._on_forfeit,
    NoShow: Match._on_forfeit,
    DeadlineReached: Match._on_deadline,
    SendDelay: Match._on_send_delay,
    Pause: Match._on_pause,
    Abort: Match._call_off,
}
"""The handlers of events during play, by type of event."""
_OVER_HANDLERS: dict[type[MatchEvent], _Handler] = {
    **dict.fromkeys(_PLAYING_HANDLERS, Match._ignore),
    MoveReceived: Match._reject_late_move,
    Disconnect: Match._on_disconnect,
    Reconnect: Match._on_reconnect,
}
"""The handlers of events after the end of the match, by type of event."""
_HANDLERS_BY_PHASE = (_WAITING_HANDLERS, _PLAYING_HANDLERS, _OVER_HANDLERS)
"""The handlers of events, by phase of a match. Some do nothing, such as those of most events after the end."""
