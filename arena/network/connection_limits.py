"""Limits on connections, in total and per address, with separate limits for those that have not said hello."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from msgspec import Struct


class ConnectionBounds(Struct, frozen=True, kw_only=True):
    """The maximum number of connections, in total and per address; `waiting` counts those that have not said hello."""

    connections: int = 1000
    per_address: int = 100
    waiting: int = 1024
    waiting_per_address: int = 100


class ConnectionLimits:
    """Counts connections. To make room, it cuts off the oldest waiting one of the address that has the most.

    So a client that opens connections and sends nothing harms only itself. Connections that have said hello stay.
    """

    def __init__(self, bounds: ConnectionBounds) -> None:
        self.bounds = bounds
        self.seated_by_address: Counter[str] = Counter()
        """The number of admitted connections, by address."""
        self.waiting: dict[ConnectionSlot, None] = {}
        """The connections that have not said hello, oldest first."""
        self.waiting_by_address: Counter[str] = Counter()

    def take(self, address: str, *, shared: bool = False) -> ConnectionSlot:
        """Return a slot for a connection that was just accepted.

        `shared` says that the address is a trusted proxy's, behind which any number may wait.
        """
        place = ConnectionSlot(self, address, is_proxy=shared)
        self.waiting[place] = None
        self.waiting_by_address[address] += 1
        if not shared and self.waiting_by_address[address] > self.bounds.waiting_per_address:
            self._cut_oldest(address)
        elif len(self.waiting) > self.bounds.waiting:
            self._cut_oldest(max(self.waiting_by_address, key=lambda one: self.waiting_by_address[one]))
        return place

    def cut_unseated(self) -> None:
        """Cut off all connections that have not been admitted yet."""
        for place in [place for place in self.waiting if not place.is_seated]:
            self._cut(place)

    def _cut_oldest(self, address: str) -> None:
        self._cut(next(place for place in self.waiting if place.address == address))

    def _cut(self, slot: ConnectionSlot) -> None:
        slot.release()
        slot.cut_off()


class ConnectionSlot:
    """The slot of one connection. It is waiting until `end_waiting`; `try_seat` counts it as one of its address's
    connections.
    """

    def __init__(self, limits: ConnectionLimits, address: str, *, is_proxy: bool) -> None:
        self.address = address
        self.is_proxy = is_proxy
        """True while the address is a trusted proxy's, before the client's own address is known."""
        self.is_seated = False
        self.cut_off: Callable[[], object] = lambda: None
        """Ends the connection when another needs the slot."""
        self._limits = limits

    def try_seat(self, address: str) -> str | None:
        """Count the connection for an address. Return None if that succeeds, else the reason in words."""
        limits = self._limits
        if limits.seated_by_address[address] >= limits.bounds.per_address:
            return f"{address} has {limits.bounds.per_address} connections: connection limit reached"
        if limits.seated_by_address.total() >= limits.bounds.connections:
            return "the arena is full"
        self.change_address(address)
        self.is_seated = True
        limits.seated_by_address[address] += 1
        return None

    def change_address(self, address: str) -> None:
        """Change the address that the connection counts for."""
        limits = self._limits
        if self in limits.waiting:
            _decrement(limits.waiting_by_address, self.address)
            limits.waiting_by_address[address] += 1
        self.address = address

    def end_waiting(self) -> None:
        """Mark the connection as no longer waiting: it has said hello."""
        if self in self._limits.waiting:
            del self._limits.waiting[self]
            _decrement(self._limits.waiting_by_address, self.address)

    def release(self) -> None:
        """Free the slot; a second call does nothing."""
        self.end_waiting()
        if self.is_seated:
            self.is_seated = False
            _decrement(self._limits.seated_by_address, self.address)


def _decrement(counts: Counter[str], address: str) -> None:
    counts[address] -= 1
    if not counts[address]:
        del counts[address]
