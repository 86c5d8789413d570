"""Spectators of a game that does not come with the arena get the states between events, as far as they may see them."""

from __future__ import annotations

from typing import Any

import pytest

from own_game_records import known, table_of
from protocol.messages import Turn
from referee.record import Ply
from referee_table import Table


def played(name: str, plies: int, *, watched: bool = False) -> Table:
    """A match of an example in which so many moves were made."""
    table = table_of(name)
    table.match.set_watched(is_watched=watched)
    table.begin()
    for _ in range(plies):
        table.play(table.match.standing.current_course.legal_moves(table.to_move)[0][0])
    return table


def states_after_events(table: Table) -> list[dict[str, Any]]:
    return [line.state for line in table.lines if isinstance(line, Ply) and line.state is not None]


def test_a_spectator_who_comes_late_gets_the_states_before_all_events() -> None:
    with known("pig"):
        table = played("pig", 3)
        states = states_after_events(table)
        view = table.match.spectator_turn(table.now, states)
        assert view is not None
        assert view.states is not None
        assert (len(view.states), len(view.events)) == (len(states), len(states))
        assert view.states[0]["ply"] == 0
        assert [*view.states[1:], view.state] == states
        cut = table.match.spectator_turn(table.now, states[-2:])
        assert cut is not None
        assert cut.states == states[-2:-1]


def test_a_spectator_gets_the_state_between_a_move_and_the_dice_that_follow_it() -> None:
    with known("pig"):
        table = played("pig", 1, watched=True)
        states = states_after_events(table)
        turn = table.shown[-1]
        assert isinstance(turn, Turn)
        assert [event.seat for event in turn.events] == [0, -1]
        assert (turn.states, turn.state) == (states[:1], states[1])
        assert table.shown[-2].states is None


def test_a_spectator_gets_earlier_states_without_what_is_hidden() -> None:
    with known("onecard"):
        table = played("onecard", 1)
        view = table.match.spectator_turn(table.now, states_after_events(table))
        assert view is not None
        assert view.states is not None
        assert [state["cards"] for state in view.states] == [(None, None)]


@pytest.mark.parametrize("watched", [False, True])
def test_a_spectator_of_a_game_that_comes_with_the_arena_computes_the_states(watched: bool) -> None:
    table = Table("nim", {"preset": "classic"})
    table.match.set_watched(is_watched=watched)
    table.begin()
    view = table.match.spectator_turn(table.now)
    assert view is not None
    assert view.states is None
    assert not table.match.records_states
