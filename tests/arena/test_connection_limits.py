"""How many connections there may be, and who is cut off for another."""

from __future__ import annotations

from arena.network.connection_limits import ConnectionBounds, ConnectionLimits, ConnectionSlot


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
    crowd = Crowd(waiting=4, waiting_per_address=1)
    waiting = [crowd.take(f"through {number}", "proxy", shared=True) for number in range(3)]
    assert crowd.cut == []
    waiting[0].try_admit("a")
    crowd.take("direct", "a")
    assert crowd.cut == ["through 0"]
