"""A match under whatever happens, as a state machine that hypothesis drives: restarts too, and events that are lost."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from arena.replay.verify import verify_record
from protocol.games import load_game
from protocol.messages import MAX_STRIKES, Turn
from protocol.reasons import DROP_OUT_REASONS
from referee.effects import (
    Abort,
    DeadlineReached,
    Disconnect,
    Effect,
    Forfeit,
    MoveReceived,
    NoShow,
    Pause,
    Reconnect,
    Resignation,
    SeatReady,
    SendDelay,
    SendToSeat,
    SendToSeats,
    SendToWatchers,
)
from referee.record import Ply, Sealed, Strike, write_line
from referee.record_reader import read_lines
from referee.state import Phase
from referee_scripts import GAMES, GARBAGE, INFO, SEATS, WAITED, banks_in, moves_in
from referee_table import Table

SECONDS = st.floats(0, 0.1) | st.floats(0, 4)
BANK, INCREMENT = 8.0, 0.25


class RefereeMachine(RuleBasedStateMachine):
    """One match, from `start` to its end and beyond. The games for three have to be registered."""

    table: Table

    @initialize(game=st.sampled_from(GAMES), watched=st.booleans(), away=st.sampled_from((0.0, 3.0)))
    def open(self, game: tuple[str, dict[str, Any]], watched: bool, away: float) -> None:
        self.table = Table(*game, rated=load_game(*game).pool is not None, bank=BANK, increment=INCREMENT, away=away)
        self.table.match.set_watched(is_watched=watched)
        self.table.open()

    @rule(seconds=SECONDS)
    def wait(self, seconds: float) -> None:
        self.table.now += seconds

    @rule(nonce=st.binary(min_size=16, max_size=16) | st.just(b""))
    def all_are_ready(self, nonce: bytes) -> None:
        for seat in self.table.seats:
            self._send(SeatReady(seat, nonce))

    @rule(seat=SEATS, nonce=st.binary(min_size=16, max_size=16) | st.just(b""))
    def one_is_ready(self, seat: int, nonce: bytes) -> None:
        self._send(SeatReady(self._seat(seat), nonce))

    @precondition(lambda self: self._is_playing)
    @rule(at=SEATS, number=st.integers(0, 30), info=INFO, waited=WAITED, seconds=SECONDS)
    def move(self, at: int, number: int, info: Any, waited: float | None, seconds: float) -> None:
        table = self.table
        seat, before = self._mover(at), table.match.standing.clock.banks_s
        offered = self._offered(seat)
        move = offered[number % len(offered)]
        effects = self._send(
            MoveReceived(seat, table.ply, move, info=info, round_trip_s=0.03, waited_s=waited), seconds
        )
        if seat in table.match.standing.current_course.sealed:
            assert not any(isinstance(effect, (SendToSeats, SendToWatchers)) for effect in effects)
            assert {effect.seat for effect in effects if isinstance(effect, SendToSeat)} <= {seat}, (
                "nobody else is told"
            )
        assert table.match.standing.clock.banks_s[seat] <= before[seat] + INCREMENT

    @precondition(lambda self: self._is_playing)
    @rule(at=SEATS, move=GARBAGE)
    def move_illegally(self, at: int, move: Any) -> None:
        self._send(MoveReceived(self._mover(at), self.table.ply, move))

    @rule(seat=SEATS, ply=st.integers(-1, 12), move=GARBAGE)
    def move_elsewhere(self, seat: int, ply: int, move: Any) -> None:
        self._send(MoveReceived(self._seat(seat), ply, move))

    @precondition(lambda self: self._is_playing)
    @rule(seat=SEATS)
    def repeat(self, seat: int) -> None:
        """What was accepted before is nothing new; nor is it once more."""
        for mover, ply, move in moves_in(self.table.match.standing):
            if mover == self._seat(seat):
                assert self._send(MoveReceived(mover, ply, move)) == []

    @rule(kind=st.sampled_from([Resignation, Disconnect, Reconnect, Forfeit, NoShow]), seat=SEATS)
    def come_and_go(self, kind: Any, seat: int) -> None:
        self._send(kind(self._seat(seat)))

    @rule(seat=SEATS)
    def follow(self, seat: int) -> None:
        self.table.match.add_follower(self._seat(seat))

    @rule(early=st.booleans())
    def run_out(self, early: bool) -> None:
        if early:
            self._send(DeadlineReached())
        elif self.table.deadline is not None:
            self._send(DeadlineReached(), max(0.0, self.table.deadline - self.table.now))

    @rule(seat=SEATS, seconds=SECONDS)
    def be_late(self, seat: int, seconds: float) -> None:
        self._send(SendDelay(self._seat(seat), self.table.now - seconds, self.table.now))

    @rule(seconds=SECONDS)
    def hold(self, seconds: float) -> None:
        self.table.now += seconds
        self._send(Pause(seconds))

    @precondition(lambda self: self._is_playing)
    @rule(at=SEATS)
    def lose_a_move(self, at: int) -> None:
        """The arena fails before it has recorded a move: the match is void, as if the move had not been."""
        table, seat = self.table, self._mover(at)
        before = [*table.match.standing.events]
        table.match.receive(MoveReceived(seat, table.ply, self._offered(seat)[0]), table.now)
        self._send(Abort(undo_last_event=True))
        assert table.match.standing.current_course.reason == "void"
        assert table.match.standing.events == before

    @rule()
    def void(self) -> None:
        if self.table.received % 8 == 7:  # else there would be few matches that get far
            self._send(Abort())

    @precondition(lambda self: self.table.match.standing.phase is not Phase.OVER)
    @rule(seconds=SECONDS)
    def restart(self, seconds: float) -> None:
        """The arena is killed and goes on with what is in the journal."""
        before = self.table
        self.table = self._again(before, before.now + seconds)
        for seat in before.match.standing.followers:
            self.table.match.add_follower(seat)

    @invariant()
    def the_journal_gives_the_same_match(self) -> None:
        was = self.table.match.standing
        if was.phase is not Phase.PLAYING:
            return
        again = self._again(self.table, self.table.now).match.standing
        assert again.phase is was.phase
        assert again.current_course.digest == was.current_course.digest
        for what in ("state", "ply", "to_move", "dropped_out", "sealed"):
            assert getattr(again.current_course, what) == getattr(was.current_course, what)
        assert (again.events, again.strikes) == (was.events, was.strikes)
        assert again.nonces_by_seat == was.nonces_by_seat
        assert again.clock.compensated_ms == was.recorded_compensation_ms
        banks = [round(1000 * bank) for bank in again.clock.banks_s]
        assert banks == banks_in(self.table.lines, int(1000 * BANK), len(self.table.seats))

    @invariant()
    def no_clock_gains(self) -> None:
        """But by the increment of each accepted move: what is given back was taken off before."""
        standing = self.table.match.standing
        alone = [line.event.seat for line in self.table.lines if isinstance(line, Ply) and line.event.out is None]
        movers = alone + [line.seat for line in self.table.lines if isinstance(line, Sealed)]
        for seat, bank in enumerate(standing.clock.banks_s):
            assert bank <= BANK + INCREMENT * movers.count(seat) + 0.001 * len(movers) + 1e-9
        assert max(standing.clock.compensated_ms) <= standing.clock.max_compensation_ms

    @invariant()
    def all_are_asked_who_have_to_move(self) -> None:
        """And only they: who has moved in a round that is not over waits, and nothing is left that is due."""
        standing = self.table.match.standing
        if standing.phase is Phase.PLAYING:
            course = standing.current_course
            assert course.awaited_seats
            assert not course.is_due
            assert standing.wait_until is not None or set(standing.clock.running) == set(course.awaited_seats)

    @invariant()
    def nobody_is_told_what_is_not_for_it(self) -> None:
        """Before the end: no state but its view, and of the moves of a round that is not over none."""
        match = self.table.match
        if match.standing.phase is not Phase.OVER:
            tellings = [*enumerate(self.table.told), (None, self.table.shown)]
            for seat, told in tellings:
                for turn in told:
                    if isinstance(turn, Turn):
                        assert match.game.view(turn.state, seat) == turn.state
                        assert [match.game.view_event(event, seat) for event in turn.events] == turn.events
                        assert all(event.ply < turn.ply or event.out is not None for event in turn.events)

    @invariant()
    def it_ends_once(self) -> None:
        over = self.table.match.standing.phase is Phase.OVER
        assert self.table.finishes == int(over)
        assert not over or self.table.deadline is None
        assert over or self.table.deadline is not None
        if over:
            self._check_the_end()

    @invariant()
    def three_strikes_are_the_end_of_a_seat(self) -> None:
        standing = self.table.match.standing
        for seat, strikes in standing.strikes.items():
            assert strikes <= MAX_STRIKES
            if strikes == MAX_STRIKES and standing.current_course.reason != "void":
                assert seat in standing.current_course.dropped_out
        counted = [line.seat for line in self.table.lines if isinstance(line, Strike)]
        assert {seat: counted.count(seat) for seat in counted} == dict(standing.strikes)

    @property
    def _is_playing(self) -> bool:
        return self.table.match.standing.phase is Phase.PLAYING

    def _seat(self, number: int) -> int:
        return number % len(self.table.seats)

    def _mover(self, number: int) -> int:
        """One of the seats that have to move."""
        awaited = self.table.match.standing.current_course.awaited_seats
        return awaited[number % len(awaited)]

    def _offered(self, seat: int) -> list[Any]:
        return list(self.table.match.standing.current_course.legal_moves(seat)[0])

    def _send(self, event: Any, after: float = 0.0) -> list[Effect]:
        return self.table.send(event, after)

    def _again(self, before: Table, now: float) -> Table:
        """The same match in an arena that knows it from its journal alone; before anything is asked of it."""
        again = Table(header=before.header)
        again.match.set_watched(is_watched=before.match._watched)
        again.now = now
        again.resume(read_lines([*map(write_line, before.lines)], "journal"))
        return again

    def _check_the_end(self) -> None:
        match = self.table.match
        result = match.result("2026-01-01T00:01:00.000Z")
        ranks = [seat.rank for seat in result.seats]
        assert min(ranks) == 1
        assert all(rank == 1 or sum(other < rank for other in ranks) >= rank - 1 for rank in ranks)
        assert all(seat.rank > 1 for seat in result.seats if seat.reason in DROP_OUT_REASONS)
        assert [line.event for line in self.table.lines if isinstance(line, Ply)] == match.standing.events
        verify_record(self.table.record())


class CountedMachine(RefereeMachine):
    """The same, with a count of what was done."""

    runs = steps = over = 0

    def check_invariants(self, *args: Any, **more: Any) -> None:
        """Called after each step."""
        type(self).steps += 1
        super().check_invariants(*args, **more)

    def teardown(self) -> None:
        """Called after each run."""
        type(self).runs += 1
        type(self).over += self.table.finishes
