"""An event whose effects were lost is taken back whole: the match is as though it had never come."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from protocol.games.base import Game
from referee.effects import (
    Abort,
    DeadlineReached,
    Disconnect,
    Forfeit,
    MoveReceived,
    NoShow,
    Pause,
    Reconnect,
    Resignation,
    RunnerLost,
    SeatReady,
    SendDelay,
)
from referee.match import Match
from referee_scripts import GAMES, READY, STEPS, GameConfig, Script, rehearsed, scripts, step
from referee_table import A_MOVE, Dibs, Table, ended
from volumes import examples

pytestmark = pytest.mark.usefixtures("dibs")


def state(value: Any) -> Any:
    """All that a match holds, to be compared, but for what it would go back to."""
    if isinstance(value, Match):
        return {name: state(held) for name, held in vars(value).items() if name != "_standing_before"}
    if isinstance(value, msgspec.Struct):
        return {name: state(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, Mapping):
        return {name: state(held) for name, held in value.items()}
    if isinstance(value, (list, tuple)):
        return [state(held) for held in value]
    return value.name if isinstance(value, Game) else value


def check_taken_back(before: Table, after: Table) -> None:
    """`after` is `before` and one event more; without it, both are called off alike."""
    taken_back = after.match.receive(Abort(undo_last_event=True), after.now)
    assert taken_back == before.match.receive(Abort(), after.now)
    assert state(after.match) == state(before.match)


def waiting() -> Table:
    table = Table("nim", {"heaps": [9, 9, 9], "start": "p-position"})
    table.match.add_follower(1)
    table.open()
    table.send(SeatReady(0, b"\x11" * 16))
    return table


def playing() -> Table:
    """A move is played; another bad move of the seat to move would be its third."""
    table = Table(bank=10)
    table.match.add_follower(1)
    table.match.set_watched(is_watched=True)
    table.begin()
    table.play(A_MOVE, after=1)
    table.play(None)
    table.play(None)
    return table


def playing_three() -> Table:
    table = Table("dibs", bank=10).begin()
    table.play({"take": 1})
    return table


def resumed() -> Table:
    return playing().restarted(now=100.0)


EVENTS = [
    (waiting, SeatReady(1, b"\x22" * 16)),
    (waiting, Resignation(1)),
    (waiting, Disconnect(0)),
    (waiting, RunnerLost(0)),
    (waiting, NoShow(1)),
    (waiting, SendDelay(0, 99, 101)),
    (waiting, Pause(0.5)),
    (waiting, DeadlineReached()),
    (waiting, Abort()),
    (playing, MoveReceived(1, 1, A_MOVE, round_trip_s=0.05, waited_s=0.02)),
    (playing, MoveReceived(0, 0, A_MOVE, waited_s=0.0)),
    (playing, MoveReceived(1, 1, None)),
    (playing, MoveReceived(0, 0, A_MOVE)),
    (playing, Resignation(0)),
    (playing, Forfeit(1)),
    (playing, Disconnect(1)),
    (playing, Reconnect(1)),
    (playing, SendDelay(1, 99, 101)),
    (playing, Pause(0.5)),
    (playing, DeadlineReached()),
    (playing, Abort()),
    (playing_three, Resignation(1)),
    (playing_three, Forfeit(0)),
    (resumed, Reconnect(0)),
    (resumed, MoveReceived(1, 1, A_MOVE)),
    (resumed, DeadlineReached()),
]


@pytest.mark.parametrize(("table_of", "event"), EVENTS)
def test_a_lost_event_is_taken_back_whole(table_of: Any, event: Any) -> None:
    before, after = table_of(), table_of()
    after.now += after.deadline - after.now if event == DeadlineReached() else 2
    after.match.receive(event, after.now)
    check_taken_back(before, after)


@pytest.mark.parametrize("fails", ["encode_state", "ranks", "legal_moves_for_turn"])
def test_an_event_in_which_the_rules_fail_is_taken_back_whole(fails: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = playing_three(), playing_three()

    def fail(self: Any, state: Any) -> Any:
        raise RuntimeError("a bug")

    with monkeypatch.context() as patch:
        patch.setattr(Dibs, fails, fail)
        with pytest.raises(RuntimeError):
            after.match.receive(Resignation(1), after.now)
    check_taken_back(before, after)


def test_a_nonce_that_was_not_recorded_is_in_no_end() -> None:
    table = waiting()
    table.match.receive(SeatReady(1, b"\x22" * 16), table.now)
    table.send(Abort(undo_last_event=True))
    assert table.match.end_message(0).nonces == ["11" * 16, ""]
    assert ended(table) == ["void", "void"]


def test_a_match_that_no_event_has_come_to_has_nothing_to_take_back() -> None:
    table = resumed()
    table.send(Abort(undo_last_event=True))
    assert ended(table) == ["void", "void"]
    assert table.match.result("x").plies == 1


def test_what_comes_after_the_end_is_taken_back_and_the_match_does_not_end_twice() -> None:
    table = playing()
    table.send(Resignation(0))
    table.match.receive(Disconnect(1), table.now)
    assert table.send(Abort(undo_last_event=True)) == []
    assert not table.match.standing.disconnected_since
    assert ended(table) == ["resigned", "win"]


@pytest.mark.no_cover
@settings(max_examples=examples(30, nightly=300))
@given(st.sampled_from(GAMES), READY, scripts(), STEPS, st.floats(0, 4))
def test_any_event_of_any_match_is_taken_back_whole(
    game: GameConfig, ready: list[int], script: Script, last: tuple[Any, ...], wait: float
) -> None:
    after = rehearsed(game, ready, script)
    before = copy.deepcopy(after)
    after.now += wait
    step(after, last)
    assume(after.received > before.received)
    check_taken_back(before, after)
