"""What is told of an exact table of bounded Risk before there is one."""

from __future__ import annotations

import pytest

from exact_boards import STAR, board
from games.risk.exact import shape as duel_shape
from games.risk.exact.shape import shape_of
from games.risk.exact.table import can_grade
from games.risk.rules.board import Board
from games.risk.rules.duel import Duel


def test_whether_moves_can_be_graded_is_told_without_numbering_a_map(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duel_shape, "_canonical_labelling", lambda board: pytest.fail("numbered"))
    can_grade(Duel({"map": "africa", "max_troops": 3}))


def test_a_map_is_numbered_once_whatever_its_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    labellings, numbered = duel_shape._labellings, []

    def noted(where: Board) -> object:
        numbered.append(where)
        return labellings(where)

    monkeypatch.setattr(duel_shape, "_labellings", noted)
    duel_shape._canonical_labelling.cache_clear()
    shapes = [shape_of(board(STAR), max_troops) for max_troops in (3, 5, 3)]
    assert numbered == [board(STAR)]
    assert [shape.cap for shape in shapes] == [3, 5, 3]
    assert shapes[0] == shapes[2]
