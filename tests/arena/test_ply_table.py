"""The events of a record as rows of a table."""

from __future__ import annotations

from arena.replay.ply_rows import iter_ply_rows
from referee.effects import MoveReceived, Resignation
from referee_table import Table

COOPERATE, DEFECT = {"choose": 0}, {"choose": 1}


def test_each_move_of_a_round_is_a_row_with_what_it_cost_and_the_round_follows() -> None:
    table = Table("dilemma", {"rounds": 2}).begin()
    table.send(MoveReceived(1, 0, {"choose": 7}), 1.0)
    table.send(MoveReceived(1, 0, DEFECT, info=None), 1.0)
    table.send(MoveReceived(0, 0, COOPERATE), 1.0)
    table.send(MoveReceived(0, 1, COOPERATE), 0.5)
    table.send(Resignation(1))
    first, second, result, alone, left = iter_ply_rows(table.record())
    assert [(row.ply, row.seat, row.bot, row.move) for row in (first, second, result)] == [
        (0, 1, "bob", '{"choose":1}'),
        (0, 0, "ann", '{"choose":0}'),
        (0, -1, None, None),
    ]
    assert [(row.thought_ms, row.strikes, row.clock_ms) for row in (first, second)] == [
        (2000, 1, 58500),
        (3000, 0, 57500),
    ]
    assert (result.result, result.clock_ms) == ('{"payoffs":[0,5]}', None)
    assert (alone.ply, alone.seat, alone.thought_ms) == (1, 0, 500)
    assert (left.seat, left.out) == (1, "resigned")


def test_cards_that_were_dealt_are_in_a_row_of_no_seat() -> None:
    table = Table("kuhn", {"hands": 1}).begin().finish_at_random()
    deal, *moves = iter_ply_rows(table.record())
    assert (deal.seat, deal.bot) == (-1, None)
    assert deal.move is not None
    assert deal.move.startswith('{"cards":[')
    assert [(row.seat, row.move) for row in moves] == [(0, '{"do":"check"}'), (1, '{"do":"check"}')]
