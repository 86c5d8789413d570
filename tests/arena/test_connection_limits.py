"""How many connections there may be, who is cut off for another, and how often anything may happen."""

from __future__ import annotations

import pytest

from arena.network.connection_limits import ConnectionBounds, ConnectionLimits, ConnectionSlot
from machine import failure_backoff, token_bucket
from machine.failure_backoff import FAILURE_TTL_S, FailureBackoff
from machine.token_bucket import TokenBucket


class Crowd:
    """Places, and which connections were cut off, by the names given them."""

    def __init__(self, **bounds: int) -> None:
        self.places = ConnectionLimits(ConnectionBounds(**bounds))
        self.cut: list[str] = []

    def take(self, name: str, address: str, *, shared: bool = False) -> ConnectionSlot:
        place = self.places.take(address, shared=shared)
        place.cut_off = lambda: self.cut.append(name)
        return place

    def seat(self, address: str) -> str | None:
        return self.take("seated", address).try_admit(address)


def test_an_address_has_so_many_connections_and_others_still_have_theirs() -> None:
    crowd = Crowd(per_address=2)
    assert [crowd.seat("a") for _ in range(3)] == [
        None,
        None,
        "a has 2 connections, which is the maximum",
    ]
    assert crowd.seat("b") is None


def test_all_together_are_bounded() -> None:
    crowd = Crowd(connections=2)
    assert [crowd.seat(address) for address in "abc"] == [None, None, "the arena is full"]


def test_who_leaves_makes_room_once() -> None:
    crowd = Crowd(connections=1)
    place = crowd.take("first", "a")
    place.try_admit("a")
    place.release()
    place.release()
    assert [crowd.seat("a"), crowd.seat("a")] == [None, "the arena is full"]


def test_of_those_of_an_address_that_say_nothing_the_oldest_goes() -> None:
    crowd = Crowd(waiting_per_address=2)
    for name in ("first", "second", "third", "fourth"):
        crowd.take(name, "a")
    assert crowd.cut == ["first", "second"]


def test_where_too_many_say_nothing_the_most_crowded_address_pays() -> None:
    crowd = Crowd(waiting=4)
    crowd.take("honest", "b")
    for name in ("first", "second", "third", "fourth"):
        crowd.take(name, "a")
    crowd.take("newcomer", "c")
    assert crowd.cut == ["first", "second"]


def test_who_came_in_is_in_nobodys_way() -> None:
    crowd = Crowd(waiting=1, waiting_per_address=1)
    place = crowd.take("in", "a")
    place.try_admit("a")
    place.end_waiting()
    crowd.take("first", "a")
    crowd.take("second", "a")
    assert crowd.cut == ["first"]


def test_a_proxy_has_as_many_that_wait_as_there_may_be_and_each_counts_for_its_own() -> None:
    crowd = Crowd(waiting=3, waiting_per_address=1)
    waiting = [crowd.take(f"through {number}", "proxy", shared=True) for number in range(3)]
    assert crowd.cut == []
    waiting[0].try_admit("a")
    crowd.take("direct", "a")
    assert crowd.cut == ["through 0"]


def test_a_rate_gives_a_burst_and_then_one_at_a_time() -> None:
    rate = TokenBucket(3, 0.5)
    assert [rate.take("a", 100.0) for _ in range(5)] == [0, 0, 0, 2, 2]
    assert rate.take("b", 100.0) == 0
    assert rate.take("a", 101.5) == pytest.approx(0.5)
    assert [rate.take("a", 102.0), rate.take("a", 102.0)] == [0, 2]
    assert [rate.take("a", 1000.0) for _ in range(4)] == [0, 0, 0, 2]


def test_failures_cost_nothing_at_first_and_then_twice_as_much_each_time() -> None:
    patience = FailureBackoff(10.0, free_failures=2)
    waits = []
    for _ in range(8):
        waits.append(patience.wait_s("a", 100.0))
        patience.add_failure("a", 100.0)
    assert waits == [0, 0, 0, 1, 2, 4, 8, 10]
    assert patience.wait_s("b", 100.0) == 0
    assert patience.wait_s("a", 104.0) == 6
    assert patience.wait_s("a", 110.0) == 0


def test_failures_of_long_ago_are_forgotten() -> None:
    for later, waits in ((FAILURE_TTL_S - 1, 20), (FAILURE_TTL_S, 0)):
        patience = FailureBackoff(600.0, first_wait_s=10.0, free_failures=1)
        for _ in range(2):
            patience.add_failure("a", 0.0)
        assert patience.add_failure("a", 10.0 + later) == waits


def test_what_is_remembered_of_addresses_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    for kept in (failure_backoff, token_bucket):
        monkeypatch.setattr(kept, "MAX_KEYS", 2)
    rate, patience = TokenBucket(1, 1.0), FailureBackoff(60.0)
    for key in "abc":
        rate.take(key, 0.0)
        patience.add_failure(key, 0.0)
    assert [rate.take(key, 0.0) for key in "cba"] == [1, 1, 0]
    assert [patience.wait_s(key, 0.0) for key in "abc"] == [0, 1, 1]
