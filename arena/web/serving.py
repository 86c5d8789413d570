"""Schedules the answers of a site, and limits the memory held for long ones."""

from __future__ import annotations

from collections.abc import Callable

from arena.web.turns import Turns

QUICK_AT_ONCE = 4
LONG_AT_ONCE = 1
"""Python runs one thread at a time."""
MOST_LONG_PER_ADDRESS, MOST_LONG = 64, 512
"""Maximum long answers that wait for a turn, per address (such as a class behind one router) and in all."""
MOST_HELD = 64 * 1024 * 1024
"""Maximum memory held for long answers; beyond it, an older one is cut off in favour of the newest."""
LEAST_HELD = 1024 * 1024
"""The minimum that an answer counts, for its state and buffers."""


class Place:
    """The memory held for one answer, and the callback that cuts it off."""

    def __init__(self, held: int, cut: Callable[[], object]) -> None:
        self.held, self.cut, self.was_cut = held, cut, False


class Serving:
    """The queues for quick and long answers of a site, and the memory held for long ones."""

    def __init__(self) -> None:
        self.quick = Turns(QUICK_AT_ONCE, 1000, 1000)  # the server accepts no more connections
        self.long = Turns(LONG_AT_ONCE, MOST_LONG_PER_ADDRESS, MOST_LONG)
        self._places: dict[str, list[Place]] = {}
        self._held = 0

    def enter(self, address: str, held: int, cut: Callable[[], object]) -> Place:
        """Count the memory held for an answer. Over the limit, cut off the oldest of the address that holds most."""
        place = Place(max(held, LEAST_HELD), cut)
        self._places.setdefault(address, []).append(place)
        self._held += place.held
        while self._held > MOST_HELD:
            most = max(self._places, key=lambda one: sum(place.held for place in self._places[one]))
            oldest = self._places[most][0]
            if oldest is place:
                break
            self.leave(most, oldest)
            oldest.was_cut = True
            oldest.cut()
        return place

    def leave(self, address: str, place: Place) -> None:
        """Release the memory of an answer. May be called twice."""
        places = self._places.get(address, [])
        if place in places:
            places.remove(place)
            self._held -= place.held
            if not places:
                del self._places[address]
