"""Shares the event loop's time fairly among clients. Work for messages that the arena awaits does not count.

For each second that the event loop works for a client, the client must then be idle for some seconds. The idle seconds
that it still owes are its debt. While the debt is beyond a tolerance, the client's further work waits.
"""

from __future__ import annotations

import time
from asyncio import AbstractEventLoop
from collections import deque
from collections.abc import Callable

IDLE_PER_BUSY_CLIENT = 9.0
"""Idle seconds that an address or a connection owes per second of work, so that it gets at most a tenth of the time."""
IDLE_PER_BUSY_TOTAL = 1.0
"""Idle seconds per second of work for all clients together. In idle seconds, no client's waiting work is done. So at
least half of the event loop's time is left for matches.
"""
DEBT_TOLERANCE_S, TOTAL_DEBT_TOLERANCE_S = 0.01, 0.001
"""Maximum debt, in seconds, that causes no delay: `DEBT_TOLERANCE_S` for a connection or an address,
`TOTAL_DEBT_TOLERANCE_S` for all clients together. So a `hello` and a seek right after it are not delayed.
"""
PRIORITY_IDLE_RATIO, PRIORITY_DEBT_TOLERANCE_S = 1000.0, 0.3
"""`PRIORITY_IDLE_RATIO` is the number of idle seconds that a connection owes per second of work that was done for it
before its turn. They are its debt. While the debt is above `PRIORITY_DEBT_TOLERANCE_S`, in seconds, all input of the
connection waits for its turn. This limit is high because a large awaited answer arrives in pieces, and all but the last
count as not awaited.
"""
MAX_DEBT_S = 1.0
"""Maximum debt of a connection, of an address or of all clients: the idle seconds that it still owes. The debt is
limited because that of an address delays all clients that share the address.
"""
_TIMER_RESOLUTION_S = 0.001
"""The resolution of the event loop's timers in seconds. A timer for less would fire at once, again and again."""


class ThrottleStats:
    """The number of times that turns were delayed, and the total delay in seconds."""

    def __init__(self) -> None:
        self.count = 0
        self.seconds = 0.0


class CpuBudget:
    """The CPU budget of a connection, of an address or of all clients. For each second of work, the client owes
    `idle_ratio` idle seconds, which are its debt.

    Budgets form a hierarchy, and work is charged to a budget and to all budgets above it. A turn is granted when none
    of these has a debt beyond its tolerance. Waiting turns run one at a time, in order.
    """

    def __init__(
        self,
        loop: AbstractEventLoop,
        idle_ratio: float,
        debt_tolerance_s: float,
        parent: CpuBudget | None,
        clock: Callable[[], float],
        throttle_stats: ThrottleStats | None = None,
    ):
        self.parent = parent
        self._loop = loop
        self._idle_ratio = idle_ratio
        self._debt_tolerance_s = debt_tolerance_s
        self._clock = clock
        self._throttle_stats = throttle_stats or ThrottleStats()
        self._debt_free_at = 0.0
        """The clock time at which the whole debt will have been paid by idling."""
        self.throttled_until = 0.0
        """The clock time until which the debt is beyond the tolerance."""
        self._waiting_turns: deque[Callable[[], None]] = deque()
        self._is_scheduled = False

    def charge(self, work_s: float, now: float, fine_s: float = 0.0) -> None:
        """Charge `work_s` seconds of work that ended at `now` to this budget and to all budgets above it.

        As a fine, idle seconds are also owed for `fine_s` seconds in which no work was done. The budget of all clients,
        which is at the top, is charged no fine.
        """
        budget: CpuBudget | None = self
        while budget is not None:
            seconds = work_s if budget.parent is None else work_s + fine_s
            rested = max(budget._debt_free_at, now - work_s) + work_s + budget._idle_ratio * seconds
            budget._debt_free_at = min(rested, now + MAX_DEBT_S)
            budget.throttled_until = budget._debt_free_at - budget._debt_tolerance_s
            budget = budget.parent

    def debt_s(self, now: float) -> float:
        return max(self._debt_free_at - now, 0.0)

    def request_turn(self, turn: Callable[[], None]) -> None:
        """Call the function `turn` when the budget grants it, possibly at once. `turn` must be short and call
        `charge`.
        """
        self._waiting_turns.append(turn)
        if not self._is_scheduled:
            self._is_scheduled = True
            self._wait_for_parent()

    def _wait_for_parent(self) -> None:
        now = self._clock()
        if self.throttled_until > now:
            rest = max(self.throttled_until - now, _TIMER_RESOLUTION_S)
            self._throttle_stats.count += 1
            self._throttle_stats.seconds += rest
            self._loop.call_later(rest, self._wait_for_parent)
        elif self.parent is None:
            self._run_next_turn()
        else:
            self.parent.request_turn(self._run_next_turn)

    def _run_next_turn(self) -> None:
        """Run the first waiting turn, and schedule the next one. The event loop does other work in between."""
        try:
            self._waiting_turns.popleft()()
        finally:
            if self._waiting_turns:
                self._loop.call_soon(self._wait_for_parent)
            else:
                self._is_scheduled = False


class _AddressBudget(CpuBudget):
    """The budget of an address, with its number of connections."""

    connections = 0
    is_expiring = False


class FairScheduler:
    """The CPU budgets of all addresses, under a budget of all clients. The budget of an address is deleted when the
    address has neither connections nor debt.
    """

    def __init__(self, loop: AbstractEventLoop, clock: Callable[[], float] = time.perf_counter) -> None:
        self.clock = clock
        self._loop = loop
        self.throttle_stats = {whose: ThrottleStats() for whose in ("connection", "address", "all")}
        """The delays of turns, by the kind of budget that caused them."""
        self._total_budget = CpuBudget(
            loop, IDLE_PER_BUSY_TOTAL, TOTAL_DEBT_TOLERANCE_S, None, clock, self.throttle_stats["all"]
        )
        self._address_budgets: dict[str, _AddressBudget] = {}
        self.unread_bytes = 0
        """The number of sent bytes that all clients together have left unread."""
        self.received_bytes = self.sent_bytes = 0
        """`received_bytes` counts bytes received from all clients, `sent_bytes` bytes of messages sent to them."""

    def open_budget(self, address: str) -> CpuBudget:
        """Return the budget of a new connection. `address` is "" while the client's address is unknown. Call
        `remove_connection` when the connection ends.
        """
        above = self._add_connection(address) if address else self._total_budget
        return CpuBudget(
            self._loop, IDLE_PER_BUSY_CLIENT, DEBT_TOLERANCE_S, above, self.clock, self.throttle_stats["connection"]
        )

    def make_priority_budget(self) -> CpuBudget:
        """Return a new connection's budget for priority work, which is done before the connection's turn comes."""
        return CpuBudget(self._loop, PRIORITY_IDLE_RATIO, PRIORITY_DEBT_TOLERANCE_S, None, self.clock)

    def change_address(self, budget: CpuBudget, old: str, new: str) -> None:
        """Move a connection's budget to another address. Its work until now stays charged to the old address."""
        budget.parent = self._add_connection(new)
        self.remove_connection(old)

    def remove_connection(self, address: str) -> None:
        """Remove a connection of an address. The address keeps its debt."""
        if not address:
            return
        account = self._address_budgets[address]
        account.connections -= 1
        if not account.connections and not account.is_expiring:
            self._expire_address(address)

    def _add_connection(self, address: str) -> CpuBudget:
        account = self._address_budgets.get(address)
        if account is None:
            account = _AddressBudget(
                self._loop,
                IDLE_PER_BUSY_CLIENT,
                DEBT_TOLERANCE_S,
                self._total_budget,
                self.clock,
                self.throttle_stats["address"],
            )
            self._address_budgets[address] = account
        account.connections += 1
        return account

    def _expire_address(self, address: str) -> None:
        """Delete the budget of an address once it has no debt, unless the address has connections again by then."""
        account = self._address_budgets[address]
        rest = account.debt_s(self.clock())
        account.is_expiring = not account.connections and rest > 0
        if account.is_expiring:
            self._loop.call_later(rest + _TIMER_RESOLUTION_S, lambda: self._expire_address(address))
        elif not account.connections:
            del self._address_budgets[address]
