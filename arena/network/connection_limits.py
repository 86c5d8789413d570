"""Limits on connections, in total and per address. Connections that have not sent `hello` have their own limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from msgspec import Struct


class ConnectionBounds(Struct, frozen=True, kw_only=True):
    """The maximum numbers of connections, in total and per address. `waiting` connections have not sent `hello` yet."""

    connections: int = 1000
    per_address: int = 100
    waiting: int = 1024
    waiting_per_address: int = 100


class ConnectionLimits:
    """Counts connections. If too many wait to send `hello`, it cuts off the oldest waiting connection of the address
    that has most of them.

    So a client that opens connections and sends nothing harms only itself. Connections that have sent `hello` stay.
    """

    def __init__(self, bounds: ConnectionBounds) -> None:
        self.bounds = bounds
        self.admitted_by_address: Counter[str] = Counter()
        """The number of admitted connections of each address."""
        self.waiting: dict[ConnectionSlot, None] = {}
        """The slots of connections that have not sent `hello` yet, oldest first."""
        self.waiting_by_address: Counter[str] = Counter()

    def take(self, address: str, *, shared: bool = False) -> ConnectionSlot:
        """Return a slot for a connection that was just accepted.

        If `shared` is true, the address is that of a trusted proxy, from which any number of connections may wait.
        """
        place = ConnectionSlot(self, address, is_proxy=shared)
        self.waiting[place] = None
        self.waiting_by_address[address] += 1
        if not shared and self.waiting_by_address[address] > self.bounds.waiting_per_address:
            self._cut_oldest(address)
        elif len(self.waiting) > self.bounds.waiting:
            self._cut_oldest(max(self.waiting_by_address, key=lambda one: self.waiting_by_address[one]))
        return place

    def _cut_oldest(self, address: str) -> None:
        slot = next(place for place in self.waiting if place.address == address)
        slot.release()
        slot.cut_off()


class ConnectionSlot:
    """The slot of one connection in the connection limits. The connection counts as waiting until `end_waiting` is
    called. `try_admit` admits it: from then on, it counts as a connection of its address.
    """

    def __init__(self, limits: ConnectionLimits, address: str, *, is_proxy: bool) -> None:
        self.address = address
        self.is_proxy = is_proxy
        """True if the connection is from a trusted proxy, so that the client's own address is not known at first."""
        self.is_admitted = False
        self.cut_off: Callable[[], object] = lambda: None
        """A function that ends the connection. It is called when another connection needs the slot."""
        self._limits = limits

    def try_admit(self, address: str) -> str | None:
        """Return why a limit forbids one more connection from an address, or count the connection and return None."""
        limits = self._limits
        if limits.admitted_by_address[address] >= limits.bounds.per_address:
            return f"{address} has {limits.bounds.per_address} connections, which is the maximum"
        if limits.admitted_by_address.total() >= limits.bounds.connections:
            return "the arena is full"
        self.change_address(address)
        self.is_admitted = True
        limits.admitted_by_address[address] += 1
        return None

    def change_address(self, address: str) -> None:
        limits = self._limits
        if self in limits.waiting:
            _decrement(limits.waiting_by_address, self.address)
            limits.waiting_by_address[address] += 1
        self.address = address

    def end_waiting(self) -> None:
        """Count the connection as no longer waiting, because it has sent `hello`."""
        if self in self._limits.waiting:
            del self._limits.waiting[self]
            _decrement(self._limits.waiting_by_address, self.address)

    def release(self) -> None:
        """Free the slot, because the connection has ended. A second call does nothing."""
        self.end_waiting()
        if self.is_admitted:
            self.is_admitted = False
            _decrement(self._limits.admitted_by_address, self.address)


def _decrement(counts: Counter[str], address: str) -> None:
    counts[address] -= 1
    if not counts[address]:
        del counts[address]
