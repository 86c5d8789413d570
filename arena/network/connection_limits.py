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


class ConnectionLimits:
    """Who comes crowds out who was slow: the oldest that waits, of the address of which most do, is cut off for it.

    So whoever opens connections and says nothing is in nobody's way but his own. Those that entered stay.
    """

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.seated: Counter[str] = Counter()
        """By address, how many connections count as its own."""
        self.waiting: dict[ConnectionSlot, None] = {}
        """Those that have not said hello, the oldest first."""
        self.waiting_by_address: Counter[str] = Counter()

    def take(self, address: str, *, shared: bool = False) -> ConnectionSlot:
        """A place for a connection that was just accepted. `shared` is the address of a proxy: any number may wait."""
        place = ConnectionSlot(self, address, shared=shared)
        self.waiting[place] = None
        self.waiting_by_address[address] += 1
        if not shared and self.waiting_by_address[address] > self.bounds.waiting_per_address:
            self._cut_oldest(address)
        elif len(self.waiting) > self.bounds.waiting:
            self._cut_oldest(max(self.waiting_by_address, key=lambda one: self.waiting_by_address[one]))
        return place

    def cut_unseated(self) -> None:
        """End those that are no connections yet."""
        for place in [place for place in self.waiting if not place.seated]:
            self._cut(place)

    def _cut_oldest(self, address: str) -> None:
        self._cut(next(place for place in self.waiting if place.address == address))

    def _cut(self, place: ConnectionSlot) -> None:
        place.leave()
        place.cut()


class ConnectionSlot:
    """One connection's. It waits from when it was accepted until it `enters`; with `seat` it is one of the bounded."""

    def __init__(self, limits: ConnectionLimits, address: str, *, shared: bool) -> None:
        self.address = address
        self.shared = shared
        """Whether the address is a proxy's, until it is known for whom that speaks."""
        self.seated = False
        self.cut: Callable[[], object] = lambda: None
        """Ends the connection, where another needs the place more."""
        self._limits = limits

    def seat(self, address: str) -> str | None:
        """Count it among the connections of an address; None if it was. Else why not, in words."""
        limits = self._limits
        if limits.seated[address] >= limits.bounds.per_address:
            return f"{address} has {limits.bounds.per_address} connections: connection limit reached"
        if limits.seated.total() >= limits.bounds.connections:
            return "the arena is full"
        self.move(address)
        self.seated = True
        limits.seated[address] += 1
        return None

    def move(self, address: str) -> None:
        """It is of another address than was thought."""
        limits = self._limits
        if self in limits.waiting:
            _less(limits.waiting_by_address, self.address)
            limits.waiting_by_address[address] += 1
        self.address = address

    def enter(self) -> None:
        """It said who it is, and waits no more."""
        if self in self._limits.waiting:
            del self._limits.waiting[self]
            _less(self._limits.waiting_by_address, self.address)

    def leave(self) -> None:
        """It is gone. Once more means nothing."""
        self.enter()
        if self.seated:
            self.seated = False
            _less(self._limits.seated, self.address)


def _less(counts: Counter[str], address: str) -> None:
    counts[address] -= 1
    if not counts[address]:
        del counts[address]
