"""A record's lines in words."""

from __future__ import annotations

import pytest

from arena.replay.transcript import describe_line
from games.nim.rules import Nim
from protocol.messages import Event
from referee.record import Ply
from referee_table import Table

DEAL = Event(ply=0, seat=-1, move={"heaps": [3, 5, 7]})


class Wordy(Nim):
    def describe_event(self, event: Event) -> str:
        return f"heaps of {event.move['heaps']}" if event.move else ""


@pytest.mark.parametrize(("game", "says"), [(Wordy, "heaps of [3, 5, 7]"), (Nim, '{"heaps":[3,5,7]}')])
def test_a_deal_is_told_in_the_words_of_its_game_or_as_it_travels(game: type[Nim], says: str) -> None:
    line = Ply(event=DEAL, clock=[1000, 1000], digest="")
    assert describe_line(line, game({}), Table().header, {}).sentence() == f"0  chance: {says}"


def test_time_that_was_given_back_is_told() -> None:
    line = Ply(event=Event(ply=0, seat=0, move={"heap": 0, "take": 1}), clock=[59_500, 60_000], digest="", given=250)
    assert (
        describe_line(line, Nim({}), Table().header, {}).sentence()
        == "0  ann: 1 from heap 0, 59.5 s left, 0.25 s given back"
    )
