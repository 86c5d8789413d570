"""A game that is its rules and nothing else is an environment for learners."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from pettingzoo.test import api_test

from bots.environments import env
from bots.environments.encodings import encoding_of
from example_games import CONNECT_FOUR, EXAMPLES, ONE_CARD, PIG
from machine.game_discovery import load_game_file
from protocol.errors import UsageFault
from protocol.games.base import NO_DICE
from registered_games import registered


@pytest.fixture(autouse=True)
def known() -> Iterator[None]:
    """Have the arena know two of the examples."""
    with registered(*(spec for file in ("connect4", "pig") for spec in load_game_file(EXAMPLES / f"{file}.py"))):
        yield


@pytest.mark.parametrize("name", ["connect4", "pig"])
def test_it_is_an_environment_of_pettingzoo(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    api_test(env(name), num_cycles=60)
    assert "Passed" in capsys.readouterr().out


def test_a_vector_has_the_seats_own_marks_first() -> None:
    rules: Any = CONNECT_FOUR.rules({"width": 4, "height": 4})
    encoding = encoding_of(rules)
    state = rules.apply(rules.initial(NO_DICE)[0], 2, NO_DICE)[0]
    own, other, empty = np.split(encoding.vector(state, 0), 3)
    assert (own.sum(), other.sum(), empty.sum()) == (1, 0, 15)
    assert own[13] == 1, "the last row is the lowest, and the second cell is in column 2"
    assert (np.split(encoding.vector(state, 1), 3)[1] == own).all()
    assert encoding.moves(state) == {0: 1, 1: 2, 2: 3, 3: 4}


def test_features_are_the_vector_of_a_game_without_a_grid() -> None:
    rules: Any = PIG.rules({"target": 20})
    state = rules.initial(NO_DICE)[0]
    state = state._replace(state=state.state._replace(scores=(5, 10), at_risk=4))
    assert encoding_of(rules).vector(state, 1).tolist() == pytest.approx([0.5, 0.25, 0.2])


def test_a_game_without_marks_and_features_has_no_encoding() -> None:
    with pytest.raises(UsageFault, match="onecard has no encoding: write the method features, or grid and marks"):
        encoding_of(ONE_CARD.rules({}))
