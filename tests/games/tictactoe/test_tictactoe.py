"""The rules of tic-tac-toe, pinned by the number of positions at every depth."""

from __future__ import annotations

from typing import Any

import pytest

from games.tictactoe.rules import LINES, Grid, TicTacToe
from protocol.errors import BadConfig, IllegalMove, MalformedMove
from protocol.games.base import NO_DICE

GAME = TicTacToe({})
EMPTY = Grid((0,) * 9)


def after(*cells: int) -> Grid:
    state = EMPTY
    for cell in cells:
        state, _ = GAME.apply(state, cell, NO_DICE)
    return state


def test_the_tree_has_as_many_nodes_at_every_depth_as_it_should() -> None:
    counts = []
    leaves = 0
    level = {EMPTY: 1}  # positions of one depth, and by how many orders of moves each is reached
    while level:
        following: dict[Grid, int] = {}
        for state, ways in level.items():
            moves = GAME.legal_moves(state)
            assert bool(moves) == (GAME.to_move(state) is not None)
            leaves += ways if not moves else 0
            for move in moves:
                child, _ = GAME.apply(state, move, NO_DICE)
                following[child] = following.get(child, 0) + ways
        counts.append(sum(following.values()))
        level = following
    assert counts == [9, 72, 504, 3024, 15120, 54720, 148176, 200448, 127872, 0]
    assert sum(counts) + 1 == 549_946
    assert leaves == 255_168


@pytest.mark.parametrize("line", LINES)
def test_three_in_a_row_win(line: tuple[int, ...]) -> None:
    others = [cell for cell in range(9) if cell not in line]
    state = after(line[0], others[0], line[1], others[1], line[2])
    assert GAME.winner(state) == 0
    assert GAME.to_move(state) is None
    assert GAME.ranks(state) == (1, 2)
    assert GAME.reason(state) == "win"


def test_seat_1_can_win() -> None:
    state = after(0, 3, 1, 4, 8, 5)
    assert GAME.ranks(state) == (2, 1)


def test_a_full_board_without_a_row_is_a_draw() -> None:
    state = after(0, 1, 2, 4, 3, 5, 7, 6, 8)
    assert GAME.to_move(state) is None
    assert GAME.ranks(state) == (1, 1)
    assert GAME.reason(state) == "draw"
    assert GAME.draw_board(state) == "X O X\nX O O\nO X X"


@pytest.mark.parametrize(
    ("cells", "move", "said"),
    [
        ((4,), 4, "cell 4 holds X; empty cells: 0, 1, 2, 3, 5, 6, 7, 8"),
        ((4, 0), 0, "cell 0 holds O"),
        ((), 9, "there is no cell 9: cells are 0 to 8"),
        ((), -1, "there is no cell -1"),
        ((0, 3, 1, 4, 2), 8, "the game is over"),
    ],
)
def test_an_illegal_mark_is_refused_with_what_would_be_legal(cells: tuple[int, ...], move: int, said: str) -> None:
    with pytest.raises(IllegalMove, match=said):
        GAME.apply(after(*cells), move, NO_DICE)


@pytest.mark.parametrize("wire", [4, {"cell": 4.0}, {"cell": False}, {"square": 4}, {"cell": 4, "mark": "X"}])
def test_a_malformed_mark_is_refused_with_its_form(wire: Any) -> None:
    with pytest.raises(MalformedMove, match=r'\{"cell": 4\}'):
        GAME.decode_move(wire)


def test_a_state_that_is_no_grid_is_not_decoded() -> None:
    for cells in ([0] * 8, [0] * 10, [3] + [0] * 8):
        with pytest.raises(ValueError, match="not nine cells"):
            GAME.decode_state({"cells": cells})


def test_there_is_nothing_to_configure() -> None:
    assert TicTacToe({"preset": "classic"}).config == {}
    with pytest.raises(BadConfig, match="tictactoe has no config key 'size'"):
        TicTacToe({"size": 4})
