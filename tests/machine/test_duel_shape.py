"""What is told of an exact table of bounded Risk before there is one."""

from __future__ import annotations

import pytest

from machine.exact import duel_shape
from machine.exact.duel import can_judge
from protocol.games.risk.duel import Duel


def test_whether_moves_can_be_graded_is_told_without_numbering_a_map(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duel_shape, "_labellings", lambda board: pytest.fail("numbered"))
    can_judge(Duel({"map": "africa", "max_troops": 3}))
