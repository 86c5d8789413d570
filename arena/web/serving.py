"""What is under way at a site: whose turn it is to be answered, and what is held for the long answers."""

from __future__ import annotations

from collections.abc import Callable

from arena.web.turns import Turns

QUICK_AT_ONCE = 4
LONG_AT_ONCE = 1
"""Python does one thing at a time."""
MOST_LONG_PER_ADDRESS, MOST_LONG = 64, 512
"""Long answers that wait for a turn, of an address and of all. A class behind one router counts as one address."""
MOST_HELD = 64 * 1024 * 1024
"""Bytes that may be held for long answers that are under way; beyond, one is cut off for the newest."""
LEAST_HELD = 1024 * 1024
"""What one counts at least: it has a state and buffers."""


class Place:
    """What is held for one answer."""

    def __init__(self, held: int, cut: Callable[[], object]) -> None:
        self.held, self.cut, self.was_cut = held, cut, False


class Serving:
    """Whose turn it is at a site, and what is held for long answers."""

    def __init__(self) -> None:
        self.quick = Turns(QUICK_AT_ONCE, 1000, 1000)  # there are no more connections
        self.long = Turns(LONG_AT_ONCE, MOST_LONG_PER_ADDRESS, MOST_LONG)
        self._places: dict[str, list[Place]] = {}
        self._held = 0

    def enter(self, address: str, held: int, cut: Callable[[], object]) -> Place:
        """Count what is held for an answer. Where it is too much, the oldest of the address that has most is cut."""
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
        """It is over. Once more means nothing."""
        places = self._places.get(address, [])
        if place in places:
            places.remove(place)
            self._held -= place.held
            if not places:
                del self._places[address]
