"""Which runner runs which hosted bot is decided by events alone."""

from __future__ import annotations

from arena.hosting.fleet import (
    FIRST_RESTART_DELAY_S,
    MAX_RESTART_DELAY_S,
    MIN_STEADY_RUN_S,
    BotEnded,
    Effect,
    Event,
    Fleet,
    GiveUpCheck,
    HostedBot,
    RunnerJoined,
    RunnerLeft,
    Snapshot,
    StartBot,
    StartCheck,
    StopBot,
    VersionChecked,
)

ANN, BOB, EVE = HostedBot("ann", 1), HostedBot("bob", 2), HostedBot("eve", 3)


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


def test_a_new_version_replaces_the_old_one_and_a_bot_that_is_gone_ends() -> None:
    fleet = Fleet()
    fed(fleet, RunnerJoined(1, 2), Snapshot((ANN, BOB)))
    assert fed(fleet, Snapshot((HostedBot("ann", 9),))) == [
        StopBot(1, "ann"),
        StopBot(1, "bob"),
        StartBot(1, "ann", 9),
    ]
    assert fed(fleet, Snapshot((HostedBot("ann", 9),))) == []


def test_a_bot_runs_anew_if_its_owner_chooses_other_games() -> None:
    fleet = Fleet()
    nim = Snapshot((HostedBot("ann", 1, ("nim",)),))
    assert fed(fleet, RunnerJoined(1, 1), nim, nim) == [StartBot(1, "ann", 1)]
    assert fed(fleet, Snapshot((HostedBot("ann", 1, ("nim", "duel")),))) == [StopBot(1, "ann"), StartBot(1, "ann", 1)]


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


def test_each_runner_checks_one_version_at_a_time_oldest_first_even_with_full_slots() -> None:
    fleet = Fleet()
    effects = fed(fleet, RunnerJoined(1, 1), Snapshot((ANN,), (7, 8, 9)))
    assert effects == [StartCheck(1, 7), StartBot(1, "ann", 1)]
    assert fleet.is_checking(1, 7)
    assert not fleet.is_checking(1, 8)
    assert fed(fleet, Snapshot((ANN,), (7, 8, 9))) == []
    assert fed(fleet, VersionChecked(1, 8)) == [], "it was not told to"
    assert fed(fleet, VersionChecked(1, 7)) == [StartCheck(1, 8)]


def test_a_check_whose_runner_is_lost_is_made_by_another_but_not_for_ever() -> None:
    fleet = Fleet()
    fed(fleet, RunnerJoined(1, 1), RunnerJoined(2, 1), Snapshot((), (7,)))
    assert fed(fleet, RunnerLeft(1)) == [StartCheck(2, 7)]
    assert fed(fleet, RunnerLeft(2)) == [GiveUpCheck(7)]
    assert fed(fleet, RunnerJoined(3, 1), Snapshot((), ())) == []
