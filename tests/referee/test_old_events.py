"""Of a long match the latest events are kept; older ones are read where they were recorded, and told all the same."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from protocol.messages import Event
from referee import state
from referee.effects import Abort, Effect, MoveReceived, Reconnect, SeatReady, SendToSeat
from referee.match import Match
from referee.record import Ply
from referee.state import EVENTS_PER_SIZE_CHECK, MAX_EVENTS_IN_MEMORY, TRIMMED_EVENT_BYTES, TRIMMED_EVENT_COUNT
from referee_table import NONCES, SEED, Table, header

PLIES = 3 * MAX_EVENTS_IN_MEMORY
SHORT = {"heaps": [PLIES], "take": [1], "misere": False}


class Recorded(Match):
    """A match that reads older events from what it has recorded, as a host's does from the journal."""

    def __init__(self, table: Table) -> None:
        self.recorded: list[Event] = []
        self.asked = 0
        super().__init__(table.header, SEED, table.match.players, older=self._standing_before)

    def _standing_before(self, event: Event, most: int) -> list[Event]:
        self.asked += 1
        at = self.recorded.index(event)
        return self.recorded[max(0, at - most) : at]

    def note(self, effects: list[Effect]) -> list[Effect]:
        self.recorded += [line.event for line in (getattr(one, "line", None) for one in effects) if type(line) is Ply]
        return effects


@pytest.fixture
def matches() -> tuple[Match, Recorded]:
    """The same match twice: one keeps all of its events, and one the latest."""
    table = Table(header=header("nim", SHORT))
    whole, recorded = Match(table.header, SEED, table.match.players), Recorded(table)
    for match in (whole, recorded):
        match.start_match(0.0)
        for seat in range(2):
            match.receive(SeatReady(seat, NONCES[seat]), 0.0)
    return whole, recorded


def both(matches: tuple[Match, Recorded], event: Any, now: float = 0.0) -> list[Effect]:
    whole, recorded = matches
    effects = recorded.note(recorded.receive(event, now))
    assert effects == whole.receive(event, now)
    return effects


def play(matches: tuple[Match, Recorded], plies: int) -> None:
    for ply in range(matches[0].standing.current_course.ply, plies):
        both(matches, MoveReceived(ply % 2, ply, {"heap": 0, "take": 1}))
        assert len(matches[1].standing.events) <= MAX_EVENTS_IN_MEMORY + EVENTS_PER_SIZE_CHECK


def test_a_long_match_is_told_as_if_all_its_events_were_kept(matches: tuple[Match, Recorded]) -> None:
    play(matches, PLIES - 1)
    whole, recorded = matches
    assert recorded.asked == 0
    assert len(whole.standing.events) == PLIES - 1
    assert recorded.spectator_turn(0.0) == whole.spectator_turn(0.0)
    assert recorded.asked == 1
    both(matches, Reconnect(0))
    both(matches, MoveReceived((PLIES - 1) % 2, PLIES - 1, {"heap": 0, "take": 1}))
    for seat in (0, 1, None):
        assert recorded.end_message(seat) == whole.end_message(seat)
    assert recorded.result("x") == whole.result("x")
    assert [seat.moves for seat in recorded.result("x").seats] == [PLIES // 2, PLIES // 2]


def test_a_seat_that_has_not_moved_is_told_all_events_when_it_comes_back(
    matches: tuple[Match, Recorded], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "TRIMMED_EVENT_COUNT", 4)
    monkeypatch.setattr(state, "MAX_EVENTS_IN_MEMORY", 8)
    monkeypatch.setattr(state, "EVENTS_PER_SIZE_CHECK", 4)
    play(matches, 141)
    assert matches[1].standing.events_dropped > 100
    for match in matches:
        match.standing.events_before_last_move = {}
    *_, told = (effect.message for effect in both(matches, Reconnect(1)) if type(effect) is SendToSeat)
    assert [event.ply for event in told.events] == list(range(141))  # type: ignore[union-attr]


def test_a_repeat_of_a_recent_move_means_nothing_and_one_of_an_old_one_is_stale(
    matches: tuple[Match, Recorded],
) -> None:
    play(matches, PLIES - 1)
    recent, old = PLIES - 1 - TRIMMED_EVENT_COUNT // 2 // 2 * 2, 0
    _, recorded = matches
    assert recorded.receive(MoveReceived(recent % 2, recent, {"heap": 0, "take": 1}), 0.0) == []
    (told,) = recorded.receive(MoveReceived(0, old, {"heap": 0, "take": 1}), 0.0)
    assert told.message.code == "stale_ply"  # type: ignore[union-attr]


def test_large_events_are_kept_up_to_so_many_bytes_and_the_latest_always(matches: tuple[Match, Recorded]) -> None:
    _, recorded = matches
    standing = recorded.standing
    standing.events = [Event(ply=ply, seat=0, move={"at": "x" * 1000}) for ply in range(60)]
    standing.trim_events()
    assert (
        TRIMMED_EVENT_BYTES - 2200
        < sum(len(msgspec.json.encode(event)) for event in standing.events)
        <= TRIMMED_EVENT_BYTES
    )
    assert (standing.events[-1].ply, standing.events_dropped + len(standing.events)) == (59, 60)
    standing.events_measured = standing.event_bytes = 0
    standing.events = [Event(ply=ply, seat=0, move={"at": "x" * 3 * TRIMMED_EVENT_BYTES}) for ply in range(60, 62)]
    standing.trim_events()
    assert [event.ply for event in standing.events] == [61]


def test_what_failed_is_taken_back_from_the_latest_events(matches: tuple[Match, Recorded]) -> None:
    play(matches, MAX_EVENTS_IN_MEMORY + 1)
    whole, recorded = matches
    for match in matches:
        match.receive(MoveReceived(1, MAX_EVENTS_IN_MEMORY + 1, {"heap": 0, "take": 1}), 0.0)
        match.receive(Abort(undo_last_event=True), 0.0)
    assert recorded.standing.events[-1] == whole.standing.events[-1]
    assert (
        recorded.standing.events_dropped + len(recorded.standing.events)
        == len(whole.standing.events)
        == MAX_EVENTS_IN_MEMORY + 1
    )
