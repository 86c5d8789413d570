"""Matches of tournaments share the slots of runners with hosted bots, and events alone decide which go where."""

from __future__ import annotations

import pytest

from arena.hosting.fleet import (
    MIN_TURN_S,
    RUNNER_REST_S,
    BotEnded,
    Effect,
    Event,
    FinishBot,
    Fleet,
    HostedBot,
    RunnerJoined,
    RunnerLeaving,
    RunnerLeft,
    Snapshot,
    StartBot,
    StopBot,
)
from arena.hosting.match_slots import AssignMatch, MatchFailed, MatchPlayed, MatchWaits, MatchWithdrawn, StopMatch

FOUR_BOTS = Snapshot(tuple(HostedBot(bot, number) for number, bot in enumerate(("ann", "bob", "cid", "dan"))))
FIRST, SECOND, THIRD = MatchWaits("m1", 2), MatchWaits("m2", 2), MatchWaits("m3", 2)


def fed(fleet: Fleet, *events: Event, now: float = 0.0) -> list[Effect]:
    return [effect for event in events for effect in fleet.receive(event, now)]


def test_a_match_takes_a_slot_for_each_seat_on_the_runner_with_most_free_ones_and_the_rest_waits() -> None:
    fleet = Fleet()
    assert fed(fleet, FIRST, SECOND, THIRD, RunnerJoined(1, 1)) == []
    assert not fleet.can_play(2)
    assert fed(fleet, RunnerJoined(2, 5)) == [AssignMatch(2, "m1"), AssignMatch(2, "m2")]
    assert (fleet.can_play(2), fleet.match_slots_on(2), fleet.matches_on(2)) == (True, 4, ["m1", "m2"])
    assert fed(fleet, MatchPlayed(2, "m1")) == [AssignMatch(2, "m3")]
    assert fed(fleet, MatchPlayed(2, "m1"), MatchPlayed(1, "m3")) == [], "such a report is not expected"
    assert fed(fleet, Snapshot((HostedBot("ann", 1), HostedBot("bob", 2)))) == [
        StartBot(1, "ann", 1),
        StartBot(2, "bob", 2),
    ]


def test_while_bots_wait_matches_have_half_of_the_slots_and_otherwise_all_that_are_free() -> None:
    fleet = Fleet()
    started = fed(fleet, RunnerJoined(1, 4), FIRST, SECOND, THIRD)
    assert started == [AssignMatch(1, "m1"), AssignMatch(1, "m2")]
    assert fed(fleet, FOUR_BOTS) == []
    assert fed(fleet, MatchPlayed(1, "m1")) == [StartBot(1, "ann", 0), StartBot(1, "bob", 1)]
    assert fed(fleet, MatchPlayed(1, "m2")) == [AssignMatch(1, "m3")]


def test_bots_that_have_had_their_turn_finish_for_a_match_until_matches_have_half_of_the_slots() -> None:
    fleet = Fleet()
    fed(fleet, RunnerJoined(1, 4), FOUR_BOTS)
    assert fed(fleet, FIRST, SECOND, now=MIN_TURN_S - 1) == []
    assert fed(fleet, FOUR_BOTS, now=MIN_TURN_S) == [FinishBot(1, "ann"), FinishBot(1, "bob")]
    assert fed(fleet, BotEnded(1, "ann"), now=MIN_TURN_S) == [StopBot(1, "ann")], "the slot is reserved"
    ended = fed(fleet, BotEnded(1, "bob"), now=MIN_TURN_S)
    assert ended[:2] == [StopBot(1, "bob"), AssignMatch(1, "m1")]
    assert ended[2:] == [FinishBot(1, "cid"), FinishBot(1, "dan")], "for ann and bob, not for the second match"
    ended = fed(fleet, BotEnded(1, "cid"), BotEnded(1, "dan"), now=MIN_TURN_S)
    assert ended == [StopBot(1, "cid"), StartBot(1, "ann", 0), StopBot(1, "dan"), StartBot(1, "bob", 1)]


def test_a_match_of_a_lost_or_failing_runner_is_played_by_another_before_those_that_wait() -> None:
    fleet = Fleet()
    fed(fleet, RunnerJoined(1, 2), FIRST, SECOND, RunnerJoined(2, 1))
    assert fed(fleet, RunnerLeft(1)) == [StopMatch(1, "m1")]
    assert fed(fleet, RunnerJoined(3, 2)) == [AssignMatch(3, "m1")]
    assert fed(fleet, MatchFailed(3, "m1")) == [StopMatch(3, "m1")], "and the runner rests"
    assert fed(fleet, RunnerJoined(4, 2)) == [AssignMatch(4, "m1")]
    assert fed(fleet, MatchPlayed(4, "m1"), now=RUNNER_REST_S) == [AssignMatch(3, "m2")]


def test_a_runner_that_leaves_ends_its_match_and_gets_no_more() -> None:
    fleet = Fleet()
    fed(fleet, RunnerJoined(1, 2), FIRST, SECOND)
    assert fed(fleet, RunnerLeaving(1)) == []
    assert not fleet.can_play(2)
    assert fleet.is_playing_match(1, "m1")
    assert fed(fleet, MatchPlayed(1, "m1")) == []


def test_a_match_gives_way_to_a_bot_whose_own_match_is_under_way_and_is_played_again() -> None:
    fleet = Fleet()
    playing = Snapshot((HostedBot("ann", 1, began=1),))
    fed(fleet, RunnerJoined(1, 1), playing, RunnerJoined(2, 4), FIRST, SECOND)
    assert fed(fleet, RunnerLeft(1)) == [StopBot(1, "ann"), StopMatch(2, "m2"), StartBot(2, "ann", 1)]
    assert fed(fleet, Snapshot(())) == [FinishBot(2, "ann")]
    assert fed(fleet, BotEnded(2, "ann")) == [StopBot(2, "ann"), AssignMatch(2, "m2")]


@pytest.mark.parametrize("is_played", [True, False])
def test_a_match_that_is_withdrawn_is_stopped_or_waits_no_more(is_played: bool) -> None:
    fleet = Fleet()
    fed(fleet, *([RunnerJoined(1, 2)] if is_played else []), FIRST)
    assert fed(fleet, MatchWithdrawn("m1")) == ([StopMatch(1, "m1")] if is_played else [])
    assert fed(fleet, RunnerJoined(2, 2), MatchWithdrawn("m1")) == []
