"""Limits on connections, in total and per address. Connections that have not sent `hello` have their own limits."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from machine.keyed_items import KeyedItems


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
        self.admitted: KeyedItems[str, ConnectionSlot] = KeyedItems()
        """The slots of admitted connections, by address."""
        self.waiting: KeyedItems[str, ConnectionSlot] = KeyedItems()
        """The slots of connections that have not sent `hello` yet, by address."""

    def take(self, address: str, *, shared: bool = False) -> ConnectionSlot:
        """Return a slot for a connection that was just accepted.

        If `shared` is true, the address is that of a trusted proxy, from which any number of connections may wait.
        """
        slot = ConnectionSlot(self, address, is_proxy=shared)
        self.waiting.add(address, slot)
        if not shared and self.waiting.weight(address) > self.bounds.waiting_per_address:
            self._cut_oldest(address)
        elif len(self.waiting) > self.bounds.waiting:
            self._cut_oldest(self.waiting.heaviest_key())
        return slot

    def _cut_oldest(self, address: str) -> None:
        slot = self.waiting.oldest(address)
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
        self.is_runner = False
        """True if a runner of hosted bots has connected with its token, which allows no more than its own requests."""
        self.cut_off: Callable[[], object] = lambda: None
        """A function that ends the connection. It is called when another connection needs the slot."""
        self._limits = limits

    def try_admit(self, address: str) -> str | None:
        """Return why a limit forbids one more connection from an address, or count the connection and return None."""
        limits = self._limits
        if limits.admitted.weight(address) >= limits.bounds.per_address:
            return f"{address} has {limits.bounds.per_address} connections, which is the maximum"
        if len(limits.admitted) >= limits.bounds.connections:
            return "the arena is full"
        self.change_address(address)
        limits.admitted.add(address, self)
        return None

    def change_address(self, address: str) -> None:
        if self._limits.waiting.key_of(self) is not None:
            self._limits.waiting.add(address, self)
        self.address = address

    def end_waiting(self) -> None:
        """Count the connection as no longer waiting, because it has sent `hello`."""
        self._limits.waiting.discard(self)

    def release(self) -> None:
        """Free the slot, because the connection has ended. A second call does nothing."""
        self.end_waiting()
        self._limits.admitted.discard(self)
