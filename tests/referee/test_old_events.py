"""Of a long match the latest events are kept; older ones are read where they were recorded, and told all the same."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from protocol.messages import Event
from referee import state
from referee.effects import Effect, Played, Readied, Returned, Tell, Voided
from referee.match import Match
from referee.record import Ply
from referee.state import BYTES, KEPT, LOOK_EVERY, MOST_KEPT
from referee_table import NONCES, SEED, Table, header

PLIES = 3 * MOST_KEPT
SHORT = {"heaps": [PLIES], "take": [1], "misere": False}


class Recorded(Match):
    """A match that reads older events from what it has recorded, as a host's does from the journal."""

    def __init__(self, table: Table) -> None:
        self.recorded: list[Event] = []
        self.asked = 0
        super().__init__(table.header, SEED, table.match.players, older=self._before)

    def _before(self, event: Event, most: int) -> list[Event]:
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
        match.open(0.0)
        for seat in range(2):
            match.receive(Readied(seat, NONCES[seat]), 0.0)
    return whole, recorded


def both(matches: tuple[Match, Recorded], event: Any, now: float = 0.0) -> list[Effect]:
    """What follows from an event, which is the same for both."""
    whole, recorded = matches
    effects = recorded.note(recorded.receive(event, now))
    assert effects == whole.receive(event, now)
    return effects


def play(matches: tuple[Match, Recorded], plies: int) -> None:
    for ply in range(matches[0].standing.playing.ply, plies):
        both(matches, Played(ply % 2, ply, {"heap": 0, "take": 1}))
        assert len(matches[1].standing.events) <= MOST_KEPT + LOOK_EVERY


def test_a_long_match_is_told_as_if_all_its_events_were_kept(matches: tuple[Match, Recorded]) -> None:
    play(matches, PLIES - 1)
    whole, recorded = matches
    assert recorded.asked == 0
    assert len(whole.standing.events) == PLIES - 1
    assert recorded.view(0.0) == whole.view(0.0)
    assert recorded.asked == 1
    both(matches, Returned(0))
    both(matches, Played((PLIES - 1) % 2, PLIES - 1, {"heap": 0, "take": 1}))
    for seat in (0, 1, None):
        assert recorded.farewell(seat) == whole.farewell(seat)
    assert recorded.result("x") == whole.result("x")
    assert [seat.moves for seat in recorded.result("x").seats] == [PLIES // 2, PLIES // 2]


def test_a_seat_that_has_not_moved_is_told_all_events_when_it_comes_back(
    matches: tuple[Match, Recorded], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "KEPT", 4)
    monkeypatch.setattr(state, "MOST_KEPT", 8)
    monkeypatch.setattr(state, "LOOK_EVERY", 4)
    play(matches, 141)
    assert matches[1].standing.dropped > 100
    for match in matches:
        match.standing.answered = {}
    *_, told = (effect.message for effect in both(matches, Returned(1)) if type(effect) is Tell)
    assert [event.ply for event in told.events] == list(range(141))  # type: ignore[union-attr]


def test_a_repeat_of_a_recent_move_means_nothing_and_one_of_an_old_one_is_stale(
    matches: tuple[Match, Recorded],
) -> None:
    play(matches, PLIES - 1)
    recent, old = PLIES - 1 - KEPT // 2 // 2 * 2, 0
    _, recorded = matches
    assert recorded.receive(Played(recent % 2, recent, {"heap": 0, "take": 1}), 0.0) == []
    (told,) = recorded.receive(Played(0, old, {"heap": 0, "take": 1}), 0.0)
    assert told.message.code == "stale_ply"  # type: ignore[union-attr]


def test_large_events_are_kept_up_to_so_many_bytes_and_the_latest_always(matches: tuple[Match, Recorded]) -> None:
    _, recorded = matches
    standing = recorded.standing
    standing.events = [Event(ply=ply, seat=0, move={"at": "x" * 1000}) for ply in range(60)]
    standing.drop()
    assert BYTES - 2200 < sum(len(msgspec.json.encode(event)) for event in standing.events) <= BYTES
    assert (standing.events[-1].ply, standing.dropped + len(standing.events)) == (59, 60)
    standing.looked_at = standing.size = 0
    standing.events = [Event(ply=ply, seat=0, move={"at": "x" * 3 * BYTES}) for ply in range(60, 62)]
    standing.drop()
    assert [event.ply for event in standing.events] == [61]


def test_what_failed_is_taken_back_from_the_latest_events(matches: tuple[Match, Recorded]) -> None:
    play(matches, MOST_KEPT + 1)
    whole, recorded = matches
    for match in matches:
        match.receive(Played(1, MOST_KEPT + 1, {"heap": 0, "take": 1}), 0.0)
        match.receive(Voided(undo=True), 0.0)
    assert recorded.standing.events[-1] == whole.standing.events[-1]
    assert recorded.standing.dropped + len(recorded.standing.events) == len(whole.standing.events) == MOST_KEPT + 1
