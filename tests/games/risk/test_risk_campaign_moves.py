"""The moves of the campaign on the wire: the form of each, there and back."""

from __future__ import annotations

from typing import Any

import pytest

from games.risk.rules.campaign_moves import Attack, Draft, EndTurn, Move, decode, encode


@pytest.mark.parametrize(
    ("move", "wire"),
    [
        (Draft(((0, 1), (4, 2))), {"do": "draft", "units": [[0, 1], [4, 2]]}),
        (Attack(to=2, source=1, units=5), {"do": "attack", "from": 1, "to": 2, "units": 5}),
        (EndTurn(), {"do": "end"}),
    ],
)
def test_a_move_travels_in_its_form_and_comes_back_the_same(move: Move, wire: dict[str, Any]) -> None:
    assert encode(move) == wire
    assert decode(wire) == move
    assert type(decode(wire)) is type(move)
