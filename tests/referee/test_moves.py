"""The moves of a record, each with the states around it: no deals, no strikes, nobody's leaving."""

from __future__ import annotations

from golden import make
from referee import record_reader
from referee.effects import Resignation
from referee.replay import iter_moves, replay
from referee_table import Table


def test_moves_are_those_of_seats_with_the_states_around_them() -> None:
    table = Table("nim", {"heaps": [3, 3], "start": "p-position"}).begin()
    table.play({"heap": 0, "take": 99})
    sent = table.match.game.legal_moves_for_turn(dealt := table.match.standing.current_course.state)[0][0]
    table.play(sent)
    after = table.match.standing.current_course.state
    table.send(Resignation(1))
    lines = replay(table.record())
    _, begun = next(lines)
    (moved,) = iter_moves(begun, lines)
    assert (moved.event.ply, moved.event.seat, moved.event.move) == (1, 0, sent)
    assert (moved.before, moved.move, moved.after) == (dealt, table.match.game.decode_move(sent), after)


def test_a_move_leads_from_the_state_before_to_the_state_after_it_also_where_a_seat_has_left() -> None:
    name = "campaign-drop-out"
    lines = replay(record_reader.read_record(make.HERE.joinpath(f"{name}.jsonl").read_bytes(), name))
    _, begun = next(lines)
    told = list(iter_moves(begun, lines))
    assert len(told) > 10
    for moved in told:
        assert moved.after in [after for _, after in begun.game.outcomes(moved.before, moved.move)]
