"""When a bot that keeps a match waiting is late. Times are made up."""

from __future__ import annotations

from arena.runs.waiting_room import WaitingRoom


def test_a_bot_that_was_started_has_the_time_to_connect_and_then_is_late() -> None:
    room = WaitingRoom(10.0)
    room.on_started("ann", 5.0)
    assert room.deadline("ann", since=0.0) == 15.0
    assert room.take_late(["ann"], since=0.0, now=14.9) == []
    assert room.take_late(["ann"], since=0.0, now=15.0) == [("ann", "did not connect within 10 s")]


def test_the_process_after_one_that_was_late_has_all_the_time_again() -> None:
    room = WaitingRoom(10.0)
    room.on_started("ann", 0.0)
    room.take_late(["ann"], since=0.0, now=10.0)
    assert room.deadline("ann", since=0.0) == 20.0


def test_the_first_connection_of_any_bot_gives_those_that_compile_after_it_the_time_again() -> None:
    room = WaitingRoom(10.0)
    room.on_started("ann", 0.0)
    room.on_started("bob", 0.0)
    room.on_connected("bob", 9.0)
    assert room.deadline("ann", since=0.0) == 19.0
    room.on_connected("bob", 18.0)  # not for the first time
    assert room.deadline("ann", since=0.0) == 19.0


def test_a_bot_that_lost_its_connection_has_less_time_and_it_counts_from_the_wait_of_the_match() -> None:
    room = WaitingRoom(100.0)
    room.on_started("ann", 0.0)
    room.on_connected("ann", 1.0)
    assert room.has_seen("ann")
    assert room.deadline("ann", since=50.0) == 80.0
    assert room.take_late(["ann"], since=50.0, now=80.0) == [("ann", "was disconnected for 30 s")]
    assert room.take_late(["ann"], since=50.0, now=180.0) == [("ann", "did not connect within 100 s")]


def test_only_bots_that_are_missing_are_late() -> None:
    room = WaitingRoom(2.0)
    room.on_started("ann", 0.0)
    room.on_started("bob", 0.0)
    assert [bot for bot, _ in room.take_late(["bob"], since=0.0, now=9.0)] == ["bob"]
    assert room.deadline("ann", since=0.0) == 2.0
    assert not room.has_seen("ann")
