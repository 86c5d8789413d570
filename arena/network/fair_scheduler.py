"""What clients may have the arena do that it did not ask for: a share of the event loop's time, in turn."""

from __future__ import annotations

import time
from asyncio import AbstractEventLoop
from collections import deque
from collections.abc import Callable

REST = 9.0
"""Seconds of rest for a second of work of one address, or connection: it has a tenth of the time."""
REST_OF_ALL = 1.0
"""The same for all of them together: at least half of the time is left to the matches."""
LENIENCE, LENIENCE_OF_ALL = 0.01, 0.001
"""Seconds of rest that may be outstanding: a greeting and a seek in one breath are nothing to wait for."""
DISTRUST, PATIENCE = 1000.0, 0.3
"""The same for what a connection does ahead of its turn, as if it were an answer; a large one comes in pieces."""
MOST_REST = 1.0
"""Nobody rests for longer, whatever was done: others may have the same address."""
_SOONEST = 0.001
"""The event loop's timers know milliseconds; asked for less they ring at once, over and over."""


class Rests:
    """How often somebody had to rest before its turn, and for how many seconds in all."""

    def __init__(self) -> None:
        self.count = 0
        self.seconds = 0.0


class Share:
    """The work of a connection, of an address, or of all: whoever worked rests, `rest` times as long.

    Accounts stand above each other, and work counts in all of them. Whoever asks for a turn gets it when every account
    above has rested, and one at a time, in the order of asking.
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
        """When all that was charged will have been rested off, on the clock."""
        self.rests_until = 0.0
        """When no more rest is outstanding than is passed over."""
        self._waiting: deque[Callable[[], None]] = deque()
        self._asking = False

    def charge(self, worked: float, now: float, fined: float = 0.0) -> None:
        """Count seconds of work that was done by `now`, and such as nobody worked, which all others need not rest."""
        account: Share | None = self
        while account is not None:
            seconds = worked if account.above is None else worked + fined
            rested = max(account._rested, now - worked) + worked + account._rest * seconds
            account._rested = min(rested, now + MOST_REST)
            account.rests_until = account._rested - account._lenience
            account = account.above

    def to_rest(self, now: float) -> float:
        """Seconds of rest outstanding."""
        return max(self._rested - now, 0.0)

    def ask(self, turn: Callable[[], None]) -> None:
        """Have `turn` called when it is its turn, which may be now. It should charge what it does, and be short."""
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
        """Give the first who waits its turn, and ask for the next. Between two turns everyone else is heard."""
        try:
            self._waiting.popleft()()
        finally:
            if self._waiting:
                self._loop.call_soon(self._proceed)
            else:
                self._asking = False


class _AddressShare(Share):
    """The account of an address, and how many connections it has."""

    connections = 0
    leaving = False


class FairScheduler:
    """The accounts of all addresses. That of an address is kept while it has connections, or has to rest."""

    def __init__(self, loop: AbstractEventLoop, clock: Callable[[], float] = time.perf_counter) -> None:
        self.clock = clock
        self._loop = loop
        self.rests = {whose: Rests() for whose in ("connection", "address", "all")}
        """Those that were imposed, by whose share was used up."""
        self._all = Share(loop, REST_OF_ALL, LENIENCE_OF_ALL, None, clock, self.rests["all"])
        self._addresses: dict[str, _AddressShare] = {}
        self.unread = 0
        """Bytes that all clients have left unread."""
        self.received = self.sent = 0
        """Bytes that came from them, and those of messages that were sent to them."""

    def open(self, address: str) -> Share:
        """The account of a new connection from an address, "" as long as that is unknown. It needs a `close`."""
        above = self._enter(address) if address else self._all
        return Share(self._loop, REST, LENIENCE, above, self.clock, self.rests["connection"])

    def trust(self) -> Share:
        """The account of what a new connection does ahead of its turn."""
        return Share(self._loop, DISTRUST, PATIENCE, None, self.clock)

    def move(self, account: Share, old: str, new: str) -> None:
        """A connection is of another address than was thought. What it did so far counts for the old one."""
        account.above = self._enter(new)
        self.close(old)

    def close(self, address: str) -> None:
        """A connection of an address is gone; the address rests all the same."""
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
        """Forget an address that has nothing to rest any more."""
        account = self._addresses[address]
        rest = account.to_rest(self.clock())
        account.leaving = not account.connections and rest > 0
        if account.leaving:
            self._loop.call_later(rest + _SOONEST, lambda: self._leave(address))
        elif not account.connections:
            del self._addresses[address]
