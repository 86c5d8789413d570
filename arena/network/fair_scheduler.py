"""Shares the event loop's time fairly among clients, for work that the arena did not ask for."""

from __future__ import annotations

import time
from asyncio import AbstractEventLoop
from collections import deque
from collections.abc import Callable

REST = 9.0
"""Idle seconds owed per second of work, for an address or a connection: each gets a tenth of the time."""
REST_OF_ALL = 1.0
"""Idle seconds owed per second of work, for all clients together: at least half of the time is left to the matches."""
LENIENCE, LENIENCE_OF_ALL = 0.01, 0.001
"""Seconds of debt that cause no delay, so that a `hello` and a seek together need not wait."""
DISTRUST, PATIENCE = 1000.0, 0.3
"""Idle seconds per second of work ahead of its turn, and the debt tolerated. A large answer arrives in pieces."""
MOST_REST = 1.0
"""Maximum debt in seconds, as other clients may share the address."""
_SOONEST = 0.001
"""The resolution of the event loop's timers. A shorter timer would fire at once, again and again."""


class Rests:
    """The number of delayed turns, and the total delay in seconds."""

    def __init__(self) -> None:
        self.count = 0
        self.seconds = 0.0


class Share:
    """The CPU budget of a connection, an address or all clients. Each second of work costs `rest` idle seconds.

    Budgets form a hierarchy, and work counts in all of them. A turn is granted when the budget and all above it have no
    debt beyond their tolerance; waiting turns run one at a time, in order.
    """

    def __init__(
        self,
        loop: AbstractEventLoop,
        rest: float,
        lenience: float,
        above: Share | None,
        clock: Callable[[], float],
        rests: Rests | None = None,
    ):
        self.above = above
        self._loop = loop
        self._rest = rest
        self._lenience = lenience
        self._clock = clock
        self._rests = rests or Rests()
        self._rested = 0.0
        """The clock time at which all debt will be paid off."""
        self.rests_until = 0.0
        """The clock time at which the debt is back within the tolerance."""
        self._waiting: deque[Callable[[], None]] = deque()
        self._asking = False

    def charge(self, worked: float, now: float, fined: float = 0.0) -> None:
        """Charge `worked` seconds that ended at `now`. `fined` seconds are not charged to the budget of all clients."""
        account: Share | None = self
        while account is not None:
            seconds = worked if account.above is None else worked + fined
            rested = max(account._rested, now - worked) + worked + account._rest * seconds
            account._rested = min(rested, now + MOST_REST)
            account.rests_until = account._rested - account._lenience
            account = account.above

    def to_rest(self, now: float) -> float:
        """Return the outstanding debt in seconds."""
        return max(self._rested - now, 0.0)

    def ask(self, turn: Callable[[], None]) -> None:
        """Call `turn` when it is due, possibly now. It must be short, and charge for its work."""
        self._waiting.append(turn)
        if not self._asking:
            self._asking = True
            self._proceed()

    def _proceed(self) -> None:
        now = self._clock()
        if self.rests_until > now:
            rest = max(self.rests_until - now, _SOONEST)
            self._rests.count += 1
            self._rests.seconds += rest
            self._loop.call_later(rest, self._proceed)
        elif self.above is None:
            self._serve()
        else:
            self.above.ask(self._serve)

    def _serve(self) -> None:
        """Run the first waiting turn and schedule the next. Other work of the event loop runs in between."""
        try:
            self._waiting.popleft()()
        finally:
            if self._waiting:
                self._loop.call_soon(self._proceed)
            else:
                self._asking = False


class _AddressShare(Share):
    """The budget of an address, with its number of connections."""

    connections = 0
    leaving = False


class FairScheduler:
    """The CPU budgets of all addresses. An address is forgotten when it has neither connections nor debt."""

    def __init__(self, loop: AbstractEventLoop, clock: Callable[[], float] = time.perf_counter) -> None:
        self.clock = clock
        self._loop = loop
        self.rests = {whose: Rests() for whose in ("connection", "address", "all")}
        """Delays, by the budget that was used up."""
        self._all = Share(loop, REST_OF_ALL, LENIENCE_OF_ALL, None, clock, self.rests["all"])
        self._addresses: dict[str, _AddressShare] = {}
        self.unread = 0
        """Bytes that all clients have left unread."""
        self.received = self.sent = 0
        """Bytes received from clients, and bytes of messages sent to them."""

    def open(self, address: str) -> Share:
        """Return the budget of a new connection from an address, "" while that is unknown. Call `close` at its end."""
        above = self._enter(address) if address else self._all
        return Share(self._loop, REST, LENIENCE, above, self.clock, self.rests["connection"])

    def trust(self) -> Share:
        """Return the budget for what a new connection does ahead of its turn."""
        return Share(self._loop, DISTRUST, PATIENCE, None, self.clock)

    def move(self, account: Share, old: str, new: str) -> None:
        """Move a connection to another address. Its work so far stays charged to the old one."""
        account.above = self._enter(new)
        self.close(old)

    def close(self, address: str) -> None:
        """Remove a connection of an address; the address keeps its debt."""
        if not address:
            return
        account = self._addresses[address]
        account.connections -= 1
        if not account.connections and not account.leaving:
            self._leave(address)

    def _enter(self, address: str) -> Share:
        account = self._addresses.get(address)
        if account is None:
            account = _AddressShare(self._loop, REST, LENIENCE, self._all, self.clock, self.rests["address"])
            self._addresses[address] = account
        account.connections += 1
        return account

    def _leave(self, address: str) -> None:
        """Forget an address once it has no debt, unless it has new connections."""
        account = self._addresses[address]
        rest = account.to_rest(self.clock())
        account.leaving = not account.connections and rest > 0
        if account.leaving:
            self._loop.call_later(rest + _SOONEST, lambda: self._leave(address))
        elif not account.connections:
            del self._addresses[address]
