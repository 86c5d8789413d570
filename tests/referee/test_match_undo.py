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
from referee.effects import Absent, Delayed, Expired, Forfeited, Held, Left, Played, Readied, Resigned, Returned, Voided
from referee.match import Match
from referee_scripts import GAMES, READY, SCRIPTS, STEPS, rehearsed, step
from referee_table import A_MOVE, Dibs, Table, ended
from volumes import examples

pytestmark = pytest.mark.usefixtures("dibs")


def state(value: Any) -> Any:
    """All that a match holds, to be compared, but for what it would go back to."""
    if isinstance(value, Match):
        return {name: state(held) for name, held in vars(value).items() if name != "_before"}
    if isinstance(value, msgspec.Struct):
        return {name: state(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, Mapping):
        return {name: state(held) for name, held in value.items()}
    if isinstance(value, (list, tuple)):
        return [state(held) for held in value]
    return value.name if isinstance(value, Game) else value


def check_taken_back(before: Table, after: Table) -> None:
    """`after` is `before` and one event more; without it, both are called off alike."""
    taken_back = after.match.receive(Voided(undo=True), after.now)
    assert taken_back == before.match.receive(Voided(), after.now)
    assert state(after.match) == state(before.match)


def waiting() -> Table:
    """One seat is not ready yet."""
    table = Table("nim", {"heaps": [9, 9, 9], "start": "p-position"})
    table.match.follow(1)
    table.open()
    table.send(Readied(0, b"\x11" * 16))
    return table


def playing() -> Table:
    """A move is played; another bad move of the seat to move would be its third."""
    table = Table(bank=10)
    table.match.follow(1)
    table.match.watch(wanted=True)
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
    table = Table(header=playing().header)
    return table.resume(playing().lines)


EVENTS = [
    (waiting, Readied(1, b"\x22" * 16)),
    (waiting, Resigned(1)),
    (waiting, Left(0)),
    (waiting, Absent(1)),
    (waiting, Delayed(0, 99, 101)),
    (waiting, Held(0.5)),
    (waiting, Expired()),
    (waiting, Voided()),
    (playing, Played(1, 1, A_MOVE, round_trip=0.05, waited=0.02)),
    (playing, Played(0, 0, A_MOVE, waited=0.0)),
    (playing, Played(1, 1, None)),
    (playing, Played(0, 0, A_MOVE)),
    (playing, Resigned(0)),
    (playing, Forfeited(1)),
    (playing, Left(1)),
    (playing, Returned(1)),
    (playing, Delayed(1, 99, 101)),
    (playing, Held(0.5)),
    (playing, Expired()),
    (playing, Voided()),
    (playing_three, Resigned(1)),
    (playing_three, Forfeited(0)),
    (resumed, Returned(0)),
    (resumed, Played(1, 1, A_MOVE)),
    (resumed, Expired()),
]


@pytest.mark.parametrize(("table_of", "event"), EVENTS)
def test_a_lost_event_is_taken_back_whole(table_of: Any, event: Any) -> None:
    before, after = table_of(), table_of()
    after.now += after.deadline - after.now if event == Expired() else 2
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
            after.match.receive(Resigned(1), after.now)
    check_taken_back(before, after)


def test_a_nonce_that_was_not_recorded_is_in_no_end() -> None:
    table = waiting()
    table.match.receive(Readied(1, b"\x22" * 16), table.now)
    table.send(Voided(undo=True))
    assert table.match.farewell(0).nonces == ["11" * 16, ""]
    assert ended(table) == ["void", "void"]


def test_a_match_that_no_event_has_come_to_has_nothing_to_take_back() -> None:
    table = resumed()
    table.send(Voided(undo=True))
    assert ended(table) == ["void", "void"]
    assert table.match.result("x").plies == 1


def test_what_comes_after_the_end_is_taken_back_and_the_match_does_not_end_twice() -> None:
    table = playing()
    table.send(Resigned(0))
    table.match.receive(Left(1), table.now)
    assert table.send(Voided(undo=True)) == []
    assert not table.match.standing.away
    assert ended(table) == ["resigned", "win"]


@pytest.mark.no_cover
@settings(max_examples=examples(60, nightly=300))
@given(st.sampled_from(GAMES), READY, SCRIPTS, STEPS, st.floats(0, 4))
def test_any_event_of_any_match_is_taken_back_whole(
    game: tuple[str, dict[str, Any]], ready: list[int], script: list[Any], last: tuple[Any, ...], wait: float
) -> None:
    after = rehearsed(game, ready, script)
    before = copy.deepcopy(after)
    after.now += wait
    step(after, last)
    assume(after.received > before.received)
    check_taken_back(before, after)
