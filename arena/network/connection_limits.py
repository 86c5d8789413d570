"""How many connections there are, in all and from each address, and how many of them have not come in yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from msgspec import Struct


class Bounds(Struct, frozen=True, kw_only=True):
    """The most connections at once, in all and from an address; and of those that have not said hello, likewise."""

    connections: int = 1000
    per_address: int = 100
    waiting: int = 1024
    waiting_per_address: int = 100


class ConnectionSlot:
    """One connection's. It waits from when it was accepted until it `enters`; with `seat` it is one of the bounded."""

    def __init__(self, places: ConnectionLimits, address: str, *, shared: bool) -> None:
        self.address = address
        self.shared = shared
        """Whether the address is a proxy's, until it is known for whom that speaks."""
        self.seated = False
        self.cut: Callable[[], object] = lambda: None
        """Ends the connection, where another needs the place more."""
        self._places = places

    def seat(self, address: str) -> str | None:
        """Count it among the connections of an address; None if it was. Else why not, in words."""
        return self._places.seat(self, address)

    def enter(self) -> None:
        """It said who it is, and waits no more."""
        self._places.enter(self)

    def leave(self) -> None:
        """It is gone. Once more means nothing."""
        self._places.leave(self)


class ConnectionLimits:
    """Who comes crowds out who was slow: the oldest that waits, of the address of which most do, is cut off for it.

    So whoever opens connections and says nothing is in nobody's way but his own. Those that entered stay.
    """

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._seated: Counter[str] = Counter()
        self._waiting: dict[ConnectionSlot, None] = {}
        self._waiting_by_address: Counter[str] = Counter()

    def take(self, address: str, *, shared: bool = False) -> ConnectionSlot:
        """A place for a connection that was just accepted. `shared` is the address of a proxy: any number may wait."""
        place = ConnectionSlot(self, address, shared=shared)
        self._waiting[place] = None
        self._waiting_by_address[address] += 1
        if not shared and self._waiting_by_address[address] > self._bounds.waiting_per_address:
            self._cut_oldest(address)
        elif len(self._waiting) > self._bounds.waiting:
            self._cut_oldest(max(self._waiting_by_address, key=lambda one: self._waiting_by_address[one]))
        return place

    def seat(self, place: ConnectionSlot, address: str) -> str | None:
        """As `ConnectionSlot.seat`."""
        if self._seated[address] >= self._bounds.per_address:
            return f"{address} has {self._bounds.per_address} connections: connection limit reached"
        if self._seated.total() >= self._bounds.connections:
            return "the arena is full"
        if place in self._waiting:
            _less(self._waiting_by_address, place.address)
            self._waiting_by_address[address] += 1
        place.address = address
        place.seated = True
        self._seated[address] += 1
        return None

    def enter(self, place: ConnectionSlot) -> None:
        """As `ConnectionSlot.enter`."""
        if place in self._waiting:
            del self._waiting[place]
            _less(self._waiting_by_address, place.address)

    def leave(self, place: ConnectionSlot) -> None:
        """As `ConnectionSlot.leave`."""
        self.enter(place)
        if place.seated:
            place.seated = False
            _less(self._seated, place.address)

    def cut_unseated(self) -> None:
        """End those that are no connections yet."""
        for place in [place for place in self._waiting if not place.seated]:
            self._cut(place)

    def _cut_oldest(self, address: str) -> None:
        self._cut(next(place for place in self._waiting if place.address == address))

    def _cut(self, place: ConnectionSlot) -> None:
        self.leave(place)
        place.cut()


def _less(counts: Counter[str], address: str) -> None:
    counts[address] -= 1
    if not counts[address]:
        del counts[address]
