"""Hidden cards: each seat is told its own, a digest commits to them, and the record has them in the end."""

from __future__ import annotations

from referee.effects import MoveReceived
from referee_table import Table


def hands(game: str = "kuhn", number: int = 5) -> Table:
    table = Table(game, {"hands": number})
    table.match.set_watched(is_watched=True)
    return table.begin()


def test_a_seat_is_told_its_own_card_and_a_spectator_none() -> None:
    table = hands()
    dealt = table.match.standing.current_course.encoded_state["cards"]
    turn = table.last(0)
    assert turn.state["cards"] == [dealt[0], None]
    assert turn.events[0].move == {"cards": [dealt[0], None]}
    assert table.shown[-1].state["cards"] == [None, None]
    view = table.match.spectator_turn(table.now)
    assert view is not None
    assert view.events[0].move == {"cards": [None, None]}


def test_a_misplaced_move_is_one_before_the_deal_too() -> None:
    table = hands()
    assert table.send(MoveReceived(1, 0, {"do": "check"}))
