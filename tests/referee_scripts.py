"""Whatever may happen to a match, in any order, as hypothesis draws it; and the matches that are played so."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hypothesis import strategies as st

from protocol.games import load_game
from protocol.messages import CHANCE
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
    SeatReady,
    SendDelay,
)
from referee.record import AnyLine, Ply, Sealed
from referee.state import MatchStanding, Phase
from referee_table import Table

GAMES: list[tuple[str, dict[str, Any]]] = [
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
    st.tuples(st.sampled_from(["resign", "leave", "return", "forfeit", "absent", "follow"]), SEATS),
    st.tuples(st.sampled_from(["expire", "early", "void"])),
    st.tuples(st.just("delay"), SEATS, st.floats(0, 5)),
    st.tuples(st.just("hold"), st.floats(0, 5)),
)
OFTEN = st.tuples(st.just("legal"), st.integers(0, 30), st.none(), WAITED)
BAD = st.tuples(st.just("garbage"), st.none(), st.none())
SCRIPTS = st.lists(st.tuples(OFTEN | BAD | STEPS, st.floats(0, 4)), max_size=40)
READY = st.lists(SEATS, max_size=4)


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


def step(table: Table, what: tuple[Any, ...]) -> None:
    kind, match = what[0], table.match
    seat = what[1] % len(table.seats) if kind in _OF_A_SEAT else 0
    if kind in ("legal", "garbage", "repeat"):
        course = match.standing.course
        if course is None or not course.awaited_seats:
            return
        if kind == "legal":
            seat = course.awaited_seats[what[1] % len(course.awaited_seats)]
            offered = course.legal_moves(seat)[0]
            move = offered[what[1] // 2 % len(offered)]
            table.send(MoveReceived(seat, table.ply, move, what[2], round_trip_s=0.03, waited_s=what[3]))
        elif kind == "garbage":
            table.play(what[1], info=what[2])
        else:
            for seat, ply, move in moves_in(match.standing):
                if ply == what[1]:
                    effects = table.send(MoveReceived(seat, ply, move))
                    assert effects == [] or match.standing.phase is Phase.OVER
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
    elif kind == "expire":
        if table.deadline is not None:
            table.expire()
    else:
        table.send({"early": DeadlineReached(), "void": Abort()}[kind])


_OF_A_SEAT: dict[str, Any] = {
    "elsewhere": None,
    "delay": None,
    "ready": SeatReady,
    "follow": None,
    "resign": Resignation,
    "leave": Disconnect,
    "return": Reconnect,
    "forfeit": Forfeit,
    "absent": NoShow,
}


def rehearsed(game: tuple[str, dict[str, Any]], ready: list[int], script: list[Any]) -> Table:
    """A match under this script."""
    table = Table(*game, rated=load_game(*game).pool is not None, bank=8, increment=0.25)
    table.match.set_watched(is_watched=True)
    table.open()
    for seat in ready:
        table.send(SeatReady(seat % len(table.seats), bytes([seat]) * 16))
    for what, after in script:
        table.now += after
        step(table, what)
    return table
