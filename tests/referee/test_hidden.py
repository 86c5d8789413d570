"""Hidden cards: each seat is told its own, a digest commits to them, and the record has them in the end."""

from __future__ import annotations

from arena.replay.verify import verify_record
from protocol.messages import Turn
from referee.effects import MoveReceived
from referee_table import Table, ended


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


def test_hands_are_played_to_the_end_and_the_record_verifies() -> None:
    for game in ("kuhn", "leduc"):
        table = hands(game)
        while not table.finishes:
            legal = table.last(table.to_move).legal
            table.play(legal[table.ply % len(legal)])
        ended(table)
        verify_record(table.record())
        assert sum(table.match.standing.current_course.encoded_state["chips"]) == 0


def test_nothing_told_before_the_end_has_anothers_card() -> None:
    table = hands("leduc", 3)
    while not table.finishes:
        legal = table.last(table.to_move).legal
        table.play(legal[-1])
        for seat in (0, 1):
            for turn in table.told[seat]:
                if isinstance(turn, Turn) and turn.state["cards"] is not None:
                    assert turn.state["cards"][1 - seat] is None


def test_a_misplaced_move_is_one_before_the_deal_too() -> None:
    table = hands()
    assert table.send(MoveReceived(1, 0, {"do": "check"}))
