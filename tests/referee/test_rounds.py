"""Rounds in which several move at once: what is asked, recorded and told, and what is not."""

from __future__ import annotations

from typing import Any

import pytest

from arena.replay.verify import verify_record
from protocol.messages import Turn
from referee.effects import Disconnect, MoveReceived, Reconnect, SendToSeat, SetDeadline, WriteLine
from referee.record import Ply, Sealed
from referee_table import Table, ended

COOPERATE, DEFECT = {"choose": 0}, {"choose": 1}


def dilemma(rounds: int = 3, **config: Any) -> Table:
    return Table("dilemma", {"rounds": rounds, **config}).begin()


def choose(table: Table, seat: int, move: Any, after: float = 0.0) -> list[Any]:
    return table.send(MoveReceived(seat, table.ply, move), after)


def test_every_seat_is_asked_at_once_with_its_own_choices() -> None:
    table = dilemma()
    for seat in (0, 1):
        turn = table.last(seat)
        assert isinstance(turn, Turn)
        assert (turn.ply, turn.to_move, turn.legal) == (0, (0, 1), [COOPERATE, DEFECT])


def test_a_move_is_recorded_and_told_to_nobody_until_all_have_moved() -> None:
    table = dilemma()
    table.match.set_watched(is_watched=True)
    effects = choose(table, 1, DEFECT, after=1.0)
    assert [type(effect) for effect in effects] == [WriteLine, SetDeadline]
    assert isinstance(table.lines[-1], Sealed)
    effects = choose(table, 0, COOPERATE, after=1.0)
    assert [type(effect.line) for effect in effects if isinstance(effect, WriteLine)] == [Sealed, Ply]
    assert {effect.seat for effect in effects if isinstance(effect, SendToSeat)} == {0, 1}
    (event,) = table.last(0).events
    assert (event.moves, event.result) == ([COOPERATE, DEFECT], {"payoffs": [0, 5]})


@pytest.mark.parametrize("first", [0, 1])
def test_the_order_of_moves_changes_neither_state_nor_digest_nor_what_is_told(first: int) -> None:
    tables = [dilemma(), dilemma()]
    for table, order in zip(tables, ((0, 1), (1, 0)), strict=True):
        for seat in order:
            choose(table, seat, DEFECT if seat == first else COOPERATE)
    one, two = tables
    assert one.match.standing.current_course.digest == two.match.standing.current_course.digest
    assert one.told == two.told


def test_who_has_moved_does_not_show_in_anybodys_clock() -> None:
    shown = []
    for moves in (False, True):
        table = dilemma()
        if moves:
            choose(table, 1, DEFECT, after=2.0)
        else:
            table.now += 2.0
        table.now += 3.0
        table.send(Disconnect(0))
        table.send(Reconnect(0))
        view = table.match.spectator_turn(table.now)
        assert view is not None
        shown.append((table.last(0).clock, view.clock, table.match.public_clocks(table.now)))
    assert shown[0] == shown[1]
    assert shown[0][0] == [55_000, 60_000]


def test_whose_time_ends_first_is_out_and_the_round_did_not_happen() -> None:
    table = dilemma()
    choose(table, 0, COOPERATE, after=5.0)
    table.expire()
    assert ended(table) == ["win", "timeout"]
    assert all(turn.events == [] for turn in table.told[0] if isinstance(turn, Turn))


@pytest.mark.parametrize("kept", range(5, 12))
def test_a_restart_goes_on_in_the_midst_of_a_round(kept: int) -> None:
    before = dilemma()
    for seat, move in ((1, DEFECT), (0, COOPERATE), (0, DEFECT), (1, DEFECT)):
        choose(before, seat, move)
    table = Table("dilemma", {"rounds": 3}).resume(before.lines[:kept])
    for seat in (0, 1):
        table.send(Reconnect(seat))
    while table.match.standing.current_course.ply < 3:
        for seat in table.match.standing.current_course.awaited_seats:
            choose(table, seat, DEFECT)
    assert set(ended(table)) <= {"win", "draw"}
    sealed = [(line.ply, line.seat) for line in table.lines if isinstance(line, Sealed)]
    assert sorted(sealed) == [(ply, seat) for ply in range(3) for seat in (0, 1)], "no move is lost, none made twice"


def test_a_record_of_rounds_verifies_and_counts_every_seats_moves() -> None:
    table = dilemma(noise="0.3", go_on="0.5", rounds=50)
    while not table.finishes:
        for seat in (1, 0):
            choose(table, seat, DEFECT if seat else COOPERATE)
    verify_record(table.record())
    plies = table.match.standing.current_course.ply
    assert [seat.moves for seat in table.match.result("x").seats] == [plies, plies]
