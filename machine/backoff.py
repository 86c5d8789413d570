"""Exponential backoff, where the delay before a retry doubles each time up to a limit, and the retry of an attempt."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
E = TypeVar("E", bound=Exception)


class Backoff:
    """A sequence of delays in seconds, which start at `first_s` and double up to `max_s`. By default, they stay equal.

    `jitter` returns a number from 0 to 1 and scales each delay to between half and all of its length, so that many
    clients do not retry at the same moment.
    """

    def __init__(self, first_s: float, max_s: float = 0.0, jitter: Callable[[], float] = lambda: 1.0) -> None:
        self._first = first_s
        self._longest = max(first_s, max_s)
        self._jitter = jitter
        self._next = first_s

    def next_delay(self) -> float:
        wait, self._next = self._next, min(2 * self._next, self._longest)
        return wait * (0.5 + 0.5 * self._jitter())

    def reset(self, up_s: float | None = None) -> None:
        """Restart at the first delay. If `up_s`, the duration of a success in seconds, is given, restart only if it is
        at least the next delay.
        """
        if up_s is None or up_s >= self._next:
            self._next = self._first


@dataclass
class Retry(Generic[E]):
    """Repeats an attempt while it fails with one of `faults`, until it has failed for `timeout_s` seconds.

    `on_fault` is called with each fault and the seconds since the first one, and may raise the fault to give up.
    """

    faults: type[E] | tuple[type[E], ...]
    backoff: Backoff
    timeout_s: float = math.inf
    on_fault: Callable[[E, float], None] = lambda fault, failing_s: None
    _failing_since: float = math.inf

    def delay_s(self, fault: E, now: float) -> float:
        """Return the seconds from the failure of an attempt to the next attempt, or raise the fault to give up."""
        self._failing_since = min(self._failing_since, now)
        failing_s = now - self._failing_since
        if failing_s >= self.timeout_s:
            raise fault
        self.on_fault(fault, failing_s)
        return self.backoff.next_delay()

    async def run(self, attempt: Callable[[], Awaitable[T]]) -> T:
        while True:
            try:
                return await attempt()
            except self.faults as fault:
                wait = self.delay_s(fault, asyncio.get_running_loop().time())
            await asyncio.sleep(wait)

    def run_blocking(self, attempt: Callable[[], T]) -> T:
        while True:
            try:
                return attempt()
            except self.faults as fault:
                wait = self.delay_s(fault, time.monotonic())
            time.sleep(wait)
