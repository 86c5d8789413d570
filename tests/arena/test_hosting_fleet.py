"""Which runner runs which hosted bot is decided by events alone."""

from __future__ import annotations

from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from arena.hosting.fleet import (
    FIRST_RESTART_DELAY_S,
    MAX_RESTART_DELAY_S,
    MIN_STEADY_RUN_S,
    MIN_TURN_S,
    RUNNER_REST_S,
    BotEnded,
    CheckFailed,
    Effect,
    Event,
    FinishBot,
    Fleet,
    GiveUpCheck,
    HostedBot,
    RunnerJoined,
    RunnerLeaving,
    RunnerLeft,
    Snapshot,
    StartBot,
    StartCheck,
    StopBot,
    UncheckedVersion,
    VersionChecked,
)
from fleet_machine import FleetMachine
from volumes import examples

ANN, BOB, EVE = HostedBot("ann", 1), HostedBot("bob", 2), HostedBot("eve", 3)
OLD, NEW = HostedBot("ann", 1, began=1), HostedBot("ann", 9, began=1)
"""A bot in a match that its version 1 began, before and after version 9 became active."""


def fed(fleet: Fleet, *events: Event, now: float = 0.0) -> list[Effect]:
    return [effect for event in events for effect in fleet.receive(event, now)]


def test_bots_are_spread_over_the_runners_with_most_free_slots_and_the_rest_waits() -> None:
    fleet = Fleet()
    effects = fed(fleet, RunnerJoined(1, 1), RunnerJoined(2, 2), Snapshot((ANN, BOB, EVE, HostedBot("zoe", 4))))
    assert effects == [StartBot(2, "ann", 1), StartBot(1, "bob", 2), StartBot(2, "eve", 3)]
    assert fed(fleet, RunnerJoined(3, 1)) == [StartBot(3, "zoe", 4)]
    assert (fleet.slots, fleet.runner_of("zoe"), fleet.runner_of("nobody")) == (4, 3, None)


def test_bots_of_a_lost_runner_run_on_another_at_once() -> None:
    fleet = Fleet()
    fed(fleet, RunnerJoined(1, 2), Snapshot((ANN, BOB)), RunnerJoined(2, 1))
    assert fed(fleet, RunnerLeft(1)) == [StopBot(1, "ann"), StopBot(1, "bob"), StartBot(2, "ann", 1)]
    assert fed(fleet, RunnerLeft(1)) == [], "it is gone already"
    assert fed(fleet, RunnerLeft(2)) == [StopBot(2, "ann")]
    assert not fleet.has_runners


def versions(*numbers: int, bot: str = "") -> tuple[UncheckedVersion, ...]:
    return tuple(UncheckedVersion(number, bot or f"bot-{number}") for number in numbers)


def test_a_new_version_starts_when_the_old_one_has_finished_its_match_and_a_bot_that_is_gone_finishes() -> None:
    fleet = Fleet()
    fed(fleet, RunnerJoined(1, 2), Snapshot((OLD, BOB)))
    assert fed(fleet, Snapshot((NEW,))) == [FinishBot(1, "ann"), FinishBot(1, "bob")]
    assert fed(fleet, Snapshot((NEW,))) == [], "it is told once"
    assert fed(fleet, BotEnded(1, "bob")) == [StopBot(1, "bob")]
    assert fed(fleet, BotEnded(1, "ann"), now=5.0) == [StopBot(1, "ann")]
    assert fed(fleet, RunnerJoined(2, 1), now=5.0) == [], "its match may be over or not"
    assert fed(fleet, Snapshot((HostedBot("ann", 9),)), now=5.1) == [StartBot(1, "ann", 9)]


def test_a_bot_whose_games_change_finishes_its_match_and_starts_again() -> None:
    fleet = Fleet()
    fed(fleet, RunnerJoined(1, 1), Snapshot((HostedBot("ann", 1, ("nim",)),)))
    changed = Snapshot((HostedBot("ann", 1, ("nim", "halma")),))
    assert fed(fleet, changed) == [FinishBot(1, "ann")]
    assert fed(fleet, BotEnded(1, "ann"), changed) == [StopBot(1, "ann"), StartBot(1, "ann", 1)]


def test_a_match_is_finished_by_the_version_that_began_it_also_after_its_runner_is_lost() -> None:
    fleet = Fleet()
    fed(fleet, RunnerJoined(1, 1), RunnerJoined(2, 1), Snapshot((OLD,)))
    fed(fleet, Snapshot((NEW,)))
    assert fed(fleet, RunnerLeft(1)) == [StopBot(1, "ann"), StartBot(2, "ann", 1), FinishBot(2, "ann")]
    again = Fleet()
    fed(again, RunnerJoined(1, 1))
    assert fed(again, Snapshot((NEW,))) == [StartBot(1, "ann", 1), FinishBot(1, "ann")], "the arena was restarted"


def test_a_paused_bot_finishes_its_match_also_after_its_runner_is_lost() -> None:
    fleet, paused = Fleet(), Snapshot((HostedBot("ann", 1, began=1, is_paused=True),))
    fed(fleet, RunnerJoined(1, 1), RunnerJoined(2, 1), Snapshot((OLD,)))
    assert fed(fleet, paused) == [FinishBot(1, "ann")]
    assert fed(fleet, RunnerLeft(1)) == [StopBot(1, "ann"), StartBot(2, "ann", 1), FinishBot(2, "ann")]
    assert fed(fleet, BotEnded(2, "ann"), Snapshot(())) == [StopBot(2, "ann")]


def test_an_old_version_that_can_not_run_any_more_is_not_started_again_at_once() -> None:
    fleet = Fleet()
    fed(fleet, RunnerJoined(1, 1), Snapshot((NEW,)))
    assert fed(fleet, BotEnded(1, "ann"), now=1.0) == [StopBot(1, "ann")]
    assert fed(fleet, Snapshot((NEW,)), now=2.0) == []
    assert fed(fleet, Snapshot((NEW,)), now=3.0) == [StartBot(1, "ann", 1), FinishBot(1, "ann")]


def test_more_bots_than_slots_take_turns_after_their_matches() -> None:
    fleet, bots = Fleet(), Snapshot((ANN, BOB, EVE))
    assert fed(fleet, RunnerJoined(1, 2), bots) == [StartBot(1, "ann", 1), StartBot(1, "bob", 2)]
    assert fed(fleet, bots, now=MIN_TURN_S - 1.0) == []
    assert fed(fleet, bots, now=MIN_TURN_S) == [FinishBot(1, "ann")], "one waits, so one makes room"
    assert fed(fleet, bots, now=MIN_TURN_S + 3.0) == []
    assert fed(fleet, BotEnded(1, "ann"), now=70.0) == [StopBot(1, "ann"), StartBot(1, "eve", 3), FinishBot(1, "bob")]
    assert fed(fleet, BotEnded(1, "bob"), now=75.0) == [StopBot(1, "bob"), StartBot(1, "ann", 1)]


def test_bots_with_a_match_under_way_come_first_and_those_without_make_room_for_them_at_once() -> None:
    fleet = Fleet()
    playing = HostedBot("eve", 3, began=3)
    assert fed(fleet, RunnerJoined(1, 1), Snapshot((ANN, playing))) == [StartBot(1, "eve", 3)]
    fleet = Fleet()
    fed(fleet, RunnerJoined(1, 2), Snapshot((HostedBot("ann", 1, began=1), BOB)))
    fed(fleet, Snapshot((HostedBot("ann", 1, began=1), BOB, playing)), now=1.0)
    assert fed(fleet, BotEnded(1, "bob"), now=2.0) == [StopBot(1, "bob"), StartBot(1, "eve", 3)]
    assert fleet.runner_of("ann") == 1


def test_bots_move_one_by_one_to_a_runner_with_more_free_slots_those_without_a_match_first() -> None:
    fleet, bots = Fleet(), Snapshot((OLD, BOB, EVE))
    fed(fleet, RunnerJoined(1, 4), bots, RunnerJoined(2, 4))
    assert fed(fleet, bots, now=MIN_TURN_S - 1) == [], "they have not had their turn"
    assert fed(fleet, bots, bots, now=MIN_TURN_S) == [FinishBot(1, "bob")], "one at a time"
    assert fed(fleet, BotEnded(1, "bob"), now=MIN_TURN_S) == [StopBot(1, "bob"), StartBot(2, "bob", 2)]
    assert fed(fleet, bots, now=9 * MIN_TURN_S) == [], "two here and one there is as even as it can be"


def test_a_bot_that_soon_ended_on_a_runner_runs_on_another_one_and_moves_nobody() -> None:
    fleet, bots = Fleet(), Snapshot((ANN, BOB, EVE, HostedBot("zoe", 4)))
    fed(fleet, RunnerJoined(1, 3), RunnerJoined(2, 3), Snapshot((ANN, BOB, EVE)))
    assert fed(fleet, bots, now=50.0) == [StartBot(2, "zoe", 4)]
    assert fed(fleet, BotEnded(2, "zoe"), now=51.0) == [StopBot(2, "zoe")]
    assert fed(fleet, bots, now=55.0) == [StartBot(1, "zoe", 4)], "it has fewer free slots"
    assert fed(fleet, bots, now=MIN_TURN_S) == [], "it may end again"


def test_a_runner_that_can_not_run_bots_is_tried_by_one_after_the_other() -> None:
    fleet, bots, now = Fleet(), Snapshot((ANN, BOB, EVE)), MIN_TURN_S
    fed(fleet, RunnerJoined(1, 4), bots, RunnerJoined(2, 4))
    assert fed(fleet, bots, now=now) == [FinishBot(1, "ann")]
    assert fed(fleet, BotEnded(1, "ann"), now=now) == [StopBot(1, "ann"), StartBot(2, "ann", 1)]
    assert fed(fleet, BotEnded(2, "ann"), bots, now=now) == [StopBot(2, "ann")], "no other one moves meanwhile"
    now += FIRST_RESTART_DELAY_S
    assert fed(fleet, bots, now=now) == [StartBot(1, "ann", 1)]
    assert fed(fleet, bots, now=now + MIN_STEADY_RUN_S - 1) == []
    assert fed(fleet, bots, now=now + MIN_STEADY_RUN_S) == [FinishBot(1, "bob")]


def test_bots_of_a_runner_that_leaves_finish_there_and_run_elsewhere() -> None:
    fleet = Fleet()
    fed(fleet, RunnerJoined(1, 2), Snapshot((ANN, BOB), versions(7)), RunnerJoined(2, 1))
    assert fed(fleet, RunnerLeaving(1)) == [FinishBot(1, "ann"), FinishBot(1, "bob")]
    assert fed(fleet, BotEnded(1, "ann")) == [StopBot(1, "ann"), StartBot(2, "ann", 1)], "no delay"
    assert fed(fleet, VersionChecked(1, 7), BotEnded(1, "bob"), now=6.0) == [StopBot(1, "bob")]
    assert fed(fleet, Snapshot((ANN, BOB), versions(8)), now=7.0) == [StartCheck(2, 8)]
    assert fed(fleet, RunnerLeft(1)) == []
    assert fed(fleet, RunnerLeaving(1)) == [], "it is gone"


def test_a_runner_that_failed_rests_and_what_it_was_to_do_goes_elsewhere_without_delay() -> None:
    fleet = Fleet()
    fed(fleet, RunnerJoined(1, 3), Snapshot((ANN, BOB), versions(7)), RunnerJoined(2, 1))
    assert fed(fleet, BotEnded(1, "ann", runner_failed=True)) == [StopBot(1, "ann"), StartBot(2, "ann", 1)]
    assert fed(fleet, CheckFailed(1, 7), now=1.0) == [StartCheck(2, 7)]
    assert fleet.runner_of("bob") == 1, "what runs goes on"
    waiting = Snapshot((ANN, BOB, EVE), versions(7))
    assert fed(fleet, waiting, now=RUNNER_REST_S - 1.0) == []
    assert fed(fleet, waiting, now=RUNNER_REST_S + 1.0) == [StartBot(1, "eve", 3)]


def test_a_bot_runs_anew_if_its_owner_chooses_other_games() -> None:
    fleet = Fleet()
    nim = Snapshot((HostedBot("ann", 1, ("nim",)),))
    assert fed(fleet, RunnerJoined(1, 1), nim, nim) == [StartBot(1, "ann", 1)]
    both = Snapshot((HostedBot("ann", 1, ("nim", "duel")),))
    assert fed(fleet, both, both) == [FinishBot(1, "ann")]
    assert fed(fleet, BotEnded(1, "ann")) == [StopBot(1, "ann"), StartBot(1, "ann", 1)]


def test_a_bot_that_ends_by_itself_waits_longer_each_time_until_it_has_run_for_long() -> None:
    fleet = Fleet()
    fed(fleet, RunnerJoined(1, 1), Snapshot((ANN,)))
    now, delays = 0.0, []
    for _ in range(9):
        assert fed(fleet, BotEnded(1, "ann"), now=now) == [StopBot(1, "ann")]
        began = now
        while not fed(fleet, Snapshot((ANN,)), now=now):
            now += 1.0
        delays.append(now - began)
    assert delays == [min(FIRST_RESTART_DELAY_S * 2**n, MAX_RESTART_DELAY_S) for n in range(9)]
    now += MIN_STEADY_RUN_S
    fed(fleet, BotEnded(1, "ann"), now=now)
    assert fed(fleet, Snapshot((ANN,)), now=now + FIRST_RESTART_DELAY_S) == [StartBot(1, "ann", 1)]


def test_the_report_of_a_runner_that_no_longer_runs_a_bot_is_ignored() -> None:
    fleet = Fleet()
    fed(fleet, RunnerJoined(1, 1), RunnerJoined(2, 1), Snapshot((ANN,)))
    assert fed(fleet, BotEnded(2, "ann"), BotEnded(1, "bob")) == []


def test_each_runner_checks_a_version_even_with_full_slots_and_more_in_free_ones() -> None:
    fleet = Fleet()
    waiting = Snapshot((ANN,), versions(7, 8, 9))
    assert fed(fleet, RunnerJoined(1, 1), waiting) == [StartCheck(1, 7), StartBot(1, "ann", 1)]
    assert fleet.is_checking(1, 7)
    assert not fleet.is_checking(1, 8)
    assert fed(fleet, waiting) == []
    assert fed(fleet, VersionChecked(1, 8)) == [], "it was not told to"
    assert fed(fleet, VersionChecked(1, 7)) == [StartCheck(1, 8)]
    assert fed(fleet, RunnerJoined(2, 2)) == [StartCheck(2, 9)]
    assert fed(fleet, Snapshot((ANN,), versions(8, 9, 10, 11, 12))) == [StartCheck(2, 10), StartCheck(2, 11)]
    assert fed(fleet, Snapshot((ANN, BOB), versions(8, 9, 10, 11, 12))) == [], "a check keeps its slot"
    assert fed(fleet, VersionChecked(2, 11)) == [StartBot(2, "bob", 2)]


def test_many_versions_of_a_bot_do_not_hold_up_those_of_others_and_a_resubmitted_one_waits_for_its_turn() -> None:
    fleet = Fleet()
    flood = versions(1, 2, 3, bot="flood")
    assert fed(fleet, RunnerJoined(1, 3), Snapshot((), flood)) == [StartCheck(1, 1)], "one of a bot at a time"
    fed(fleet, RunnerJoined(2, 1), RunnerLeaving(1), RunnerLeft(2))
    fleet = Fleet()
    fed(fleet, RunnerJoined(1, 1), Snapshot((BOB,), flood))
    fed(fleet, Snapshot((BOB,), (*flood, *versions(4))), now=1.0)
    fed(fleet, Snapshot((BOB,), (*flood, *versions(4, 5))), now=2.0)
    assert fed(fleet, VersionChecked(1, 1), now=3.0) == [StartCheck(1, 4)]
    again = Snapshot((BOB,), (*flood, *versions(4, 5)))
    assert fed(fleet, again, now=4.0) == [], "its author has handed version 1 in again"
    order = []
    for version in (4, 5, 2, 3):
        order += fed(fleet, VersionChecked(1, version), now=5.0 + version)
    assert order == [StartCheck(1, 5), StartCheck(1, 2), StartCheck(1, 3), StartCheck(1, 1)]


def test_a_check_whose_runner_is_lost_is_made_by_another_but_not_for_ever() -> None:
    fleet = Fleet()
    fed(fleet, RunnerJoined(1, 1), RunnerJoined(2, 1), Snapshot((), versions(7)))
    assert fed(fleet, RunnerLeft(1)) == [StartCheck(2, 7)]
    assert fed(fleet, RunnerLeft(2)) == [GiveUpCheck(7)]
    assert fed(fleet, RunnerJoined(3, 1), Snapshot((), ())) == []


def test_nothing_that_happens_to_a_fleet_breaks_what_holds_of_every_fleet() -> None:
    """No bot is on two runners, no runner has more than its slots, and nobody waits for ever: the machine says it."""
    some = settings(max_examples=examples(25, nightly=500), stateful_step_count=40, deadline=None)
    run_state_machine_as_test(FleetMachine, settings=some)
