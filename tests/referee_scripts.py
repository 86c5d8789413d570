"""Whatever may happen to a match, in any order, as hypothesis draws it; the matches that are played so, and what holds
after every event and in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from hypothesis import strategies as st

from arena.replay.verify import verify_record
from protocol.games import load_game
from protocol.messages import CHANCE, MAX_STRIKES, Turn
from protocol.reasons import DROP_OUT_REASONS
from referee.effects import (
    Abort,
    DeadlineReached,
    Disconnect,
    Forfeit,
    MoveReceived,
    NoShow,
    Pause,
    Reconnect,
    Resignation,
    RunnerLost,
    SeatReady,
    SendDelay,
    SendToSeat,
    SendToSeats,
    SendToWatchers,
)
from referee.record import AnyLine, Ply, Sealed, Strike, write_line
from referee.record_reader import read_lines
from referee.state import MatchStanding, Phase
from referee_table import Table

GameConfig = tuple[str, dict[str, Any]]
Script = list[tuple[tuple[Any, ...], float]]
GAMES: list[GameConfig] = [
    ("heaps", {"heaps": [3, 4]}),
    ("heaps", {"heaps": [5, 5, 5], "start": "p-position", "misere": True}),
    ("tictactoe", {}),
    ("grundy", {}),
    ("dibs", {"sticks": [9]}),
    ("dibs", {"sticks": [15], "dealt": True}),
    ("dilemma", {"rounds": 4, "noise": "0.2", "go_on": "0.8"}),
    ("kuhn", {"hands": 2}),
    ("leduc", {"hands": 1}),
    ("bids", {}),
]
BANK_S, INCREMENT_S = 8.0, 0.25
GARBAGE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["heap", "take", "cell", "x"]), inner),
    max_leaves=4,
)
INFO = st.none() | GARBAGE | st.fixed_dictionaries({"value": st.floats(-1, 1), "depth": st.integers(0, 9)})
SEATS = st.integers(0, 2)
WAITED = st.none() | st.just(0.0) | st.floats(0, 4)
STEPS = st.one_of(
    st.tuples(st.just("legal"), st.integers(0, 30), INFO, WAITED),
    st.tuples(st.just("legal"), st.integers(0, 30), st.none(), WAITED),
    st.tuples(st.just("garbage"), GARBAGE, INFO),
    st.tuples(st.just("elsewhere"), SEATS, st.integers(-1, 12), GARBAGE),
    st.tuples(st.just("repeat"), st.integers(0, 12)),
    st.tuples(st.just("ready"), SEATS, st.binary(min_size=16, max_size=16) | st.just(b"")),
    st.tuples(st.sampled_from(["resign", "leave", "return", "lose", "forfeit", "absent", "follow"]), SEATS),
    st.tuples(st.sampled_from(["expire", "early", "void"])),
    st.tuples(st.just("delay"), SEATS, st.floats(0, 5)),
    st.tuples(st.just("hold"), st.floats(0, 5)),
    st.tuples(st.just("restart"), st.floats(0, 4), st.lists(SEATS, max_size=4)),
)
OFTEN = st.tuples(st.just("legal"), st.integers(0, 30), st.none(), WAITED)
BAD = st.tuples(st.just("garbage"), st.none(), st.none())
READY = st.just([0, 1, 2]) | st.lists(SEATS, max_size=4)


def scripts(max_size: int = 40) -> st.SearchStrategy[Script]:
    """Draw what happens, and the seconds that pass before each event."""
    return st.lists(st.tuples(OFTEN | BAD | STEPS, st.floats(0, 4)), max_size=max_size)


def moves_in(standing: MatchStanding) -> list[tuple[int, int, dict[str, Any]]]:
    """What seats have moved so far: seat, ply and move, also of a round that is not over."""
    found = []
    for event in standing.events:
        if event.moves is not None:
            found += [(seat, event.ply, move) for seat, move in enumerate(event.moves) if move is not None]
        elif event.move is not None and event.seat != CHANCE:
            found.append((event.seat, event.ply, event.move))
    if standing.course is None:
        return found
    course = standing.course
    return found + [(seat, course.ply, course.game.encode_move(move)) for seat, move in course.sealed.items()]


def banks_in(lines: Iterable[AnyLine], bank_ms: int, seats: int) -> list[int]:
    """What clocks show after a restart: of who moved in a round that is not over the own, of others what they had when
    it began, as the time in between would tell them who has moved.
    """
    banks = [bank_ms] * seats
    for line in lines:
        if isinstance(line, Ply):
            banks = list(line.clock)
        elif isinstance(line, Sealed):
            banks[line.seat] = line.clock[line.seat]
    return banks


def step(table: Table, what: tuple[Any, ...]) -> Table:
    """Let something happen to a match. Return its table, which is another one after a restart."""
    kind, match = what[0], table.match
    seat = what[1] % len(table.seats) if kind in _OF_A_SEAT else 0
    if kind in ("legal", "garbage", "repeat"):
        _move(table, what)
    elif kind == "elsewhere":
        table.send(MoveReceived(seat, what[2], what[3]))
    elif kind == "ready":
        table.send(SeatReady(seat, what[2]))
    elif kind == "follow":
        match.add_follower(seat)
    elif kind == "delay":
        table.send(SendDelay(seat, table.now - what[2], table.now))
    elif kind in _OF_A_SEAT:
        table.send(_OF_A_SEAT[kind](seat))
    elif kind == "hold":
        table.send(Pause(what[1]))
    elif kind == "restart":
        return table if match.standing.phase is Phase.OVER else _restart(table, *what[1:])
    elif kind == "expire":
        if table.deadline is not None:
            table.expire()
    else:
        table.send({"early": DeadlineReached(), "void": Abort()}[kind])
    return table


_OF_A_SEAT: dict[str, Any] = {
    "elsewhere": None,
    "delay": None,
    "ready": SeatReady,
    "follow": None,
    "resign": Resignation,
    "leave": Disconnect,
    "return": Reconnect,
    "lose": RunnerLost,
    "forfeit": Forfeit,
    "absent": NoShow,
}


def _move(table: Table, what: tuple[Any, ...]) -> None:
    """Send a legal move, no move at all, or one that was accepted before, which is nothing new."""
    standing = table.match.standing
    course = standing.course
    if course is None or not course.awaited_seats:
        return
    if what[0] == "garbage":
        table.play(what[1], info=what[2])
    elif what[0] == "repeat":
        for seat, ply, move in moves_in(standing):
            if ply == what[1]:
                effects = table.send(MoveReceived(seat, ply, move))
                assert effects == [] or standing.phase is Phase.OVER
    else:
        seat = course.awaited_seats[what[1] % len(course.awaited_seats)]
        offered = course.legal_moves(seat)[0]
        move, had = offered[what[1] // 2 % len(offered)], standing.clock.banks_s[seat]
        effects = table.send(MoveReceived(seat, table.ply, move, what[2], round_trip_s=0.03, waited_s=what[3]))
        assert table.match.standing.clock.banks_s[seat] <= had + INCREMENT_S
        if seat in table.match.standing.current_course.sealed:
            assert not any(isinstance(effect, (SendToSeats, SendToWatchers)) for effect in effects)
            told = {effect.seat for effect in effects if isinstance(effect, SendToSeat)}
            assert told <= {seat}, "nobody else is told"


def _restart(table: Table, seconds: float, back: list[int]) -> Table:
    """The arena is killed, goes on with what is in the journal, and some seats come back."""
    again = table.restarted(now=table.now + seconds)
    again.received += table.received
    for seat in back:
        again.send(Reconnect(seat % len(again.seats)))
    return again


def rehearsed(
    game: GameConfig,
    ready: list[int],
    script: Script,
    *,
    check: Callable[[Table], None] = lambda table: None,
    **terms: Any,
) -> Table:
    """A match under this script, which is checked after each event."""
    rated = load_game(*game).pool is not None
    table = Table(*game, rated=rated, bank=BANK_S, increment=INCREMENT_S, **terms)
    table.match.set_watched(is_watched=True)
    table.open()
    for seat in ready:
        table.send(SeatReady(seat % len(table.seats), bytes([seat]) * 16))
    for what, after in script:
        table.now += after
        table = step(table, what)
        check(table)
    return table


def finished(table: Table) -> Table:
    """The match to its end: what is missing ends by time."""
    for _ in range(200):
        if table.deadline is None:
            break
        table.expire()
    return table


def check_end(table: Table) -> None:
    match = table.match
    assert match.standing.phase is Phase.OVER
    assert table.finishes == 1
    assert table.deadline is None
    result = match.result("x")
    ranks = [seat.rank for seat in result.seats]
    assert min(ranks) == 1
    assert all(rank == 1 or sum(other < rank for other in ranks) >= rank - 1 for rank in ranks)
    for seat in result.seats:
        assert (seat.reason == "void") == (result.reason == "void")
        if seat.reason in DROP_OUT_REASONS:
            assert seat.rank > 1
    assert result.rated == (table.header.rated and result.reason != "void")
    verify_record(table.record())
    assert [line.event for line in table.lines if isinstance(line, Ply)] == match.standing.events
    moved = [line for line in table.lines if isinstance(line, (Ply, Sealed))]
    assert all(ms >= 0 for line in moved for ms in line.clock)
    assert max(match.standing.clock.compensated_ms) <= table.header.clock.bank_ms / 100
    assert sum(line.given for line in moved) == sum(match.standing.recorded_compensation_ms)


def check_event(table: Table) -> None:
    """What holds after each event of every match."""
    standing = table.match.standing
    is_over = standing.phase is Phase.OVER
    assert table.finishes == int(is_over)
    assert (table.deadline is None) == is_over
    _check_clocks(table)
    _check_strikes(table)
    if not is_over:
        _check_views(table)
    if standing.phase is Phase.PLAYING:
        course = standing.current_course
        assert course.awaited_seats
        assert not course.is_due
        assert standing.wait_until is not None or set(standing.clock.running) == set(course.awaited_seats)
        _check_journal(table)


def _check_clocks(table: Table) -> None:
    """No clock gains but by the increment of each accepted move: what is given back was taken off before."""
    clock = table.match.standing.clock
    movers = [line.event.seat for line in table.lines if isinstance(line, Ply) and line.event.out is None]
    movers += [line.seat for line in table.lines if isinstance(line, Sealed)]
    for seat, bank in enumerate(clock.banks_s):
        assert bank <= BANK_S + INCREMENT_S * movers.count(seat) + 0.001 * len(movers) + 1e-9
    assert max(clock.compensated_ms) <= clock.max_compensation_ms


def _check_strikes(table: Table) -> None:
    """Three strikes are the end of a seat."""
    standing = table.match.standing
    counted = [line.seat for line in table.lines if isinstance(line, Strike)]
    assert {seat: counted.count(seat) for seat in counted} == dict(standing.strikes)
    for seat, strikes in standing.strikes.items():
        assert strikes <= MAX_STRIKES
        if strikes == MAX_STRIKES and standing.current_course.reason != "void":
            assert seat in standing.current_course.dropped_out


def _check_views(table: Table) -> None:
    """Before the end nobody is told a state but its view of it, or a move of a round that is not over."""
    game = table.match.game
    for seat, told in [*enumerate(table.told), (None, table.shown)]:
        for turn in told[-2:]:
            if isinstance(turn, Turn):
                assert game.view(turn.state, seat) == turn.state
                assert [game.view_event(event, seat) for event in turn.events] == turn.events
                assert all(event.ply < turn.ply or event.out is not None for event in turn.events)


def _check_journal(table: Table) -> None:
    """The journal gives the same match."""
    was = table.match.standing
    lines = read_lines([*map(write_line, table.lines)], "journal")
    again = Table(header=table.header).resume(lines).match.standing
    assert again.phase is was.phase
    assert again.current_course.digest == was.current_course.digest
    for what in ("state", "ply", "to_move", "dropped_out", "sealed"):
        assert getattr(again.current_course, what) == getattr(was.current_course, what)
    assert (again.events, again.strikes) == (was.events, was.strikes)
    assert again.nonces_by_seat == was.nonces_by_seat
    assert again.clock.compensated_ms == was.recorded_compensation_ms
    banks = [round(1000 * bank) for bank in again.clock.banks_s]
    assert banks == banks_in(table.lines, int(1000 * BANK_S), len(table.seats))
