"""An event loop whose clock stands still until the test advances it, for tests whose subject is waiting.

Mark a test or a module `virtual_time`, and call `advance(seconds)`: every timer that is due by then runs at its exact
time, in order. `virtual_time(False)` excepts a test of a module. Sockets, threads and child processes are real. They
take no time by the loop's clock, so no timeout can expire because the machine is busy.

The loop can't know of data that the kernel has not delivered yet. Where something has to arrive before time passes, a
test first awaits what it causes, such as an answer to a ping.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Executor
from typing import Any, TypeVar

import pytest
import uvloop

from timeouts import WITHIN

T = TypeVar("T")
MAX_PASSING_S = 3600.0
QUIET_TURNS = 3
"""Turns of the loop without anything to do after which everything is taken to have settled."""
RESOLUTION_S = 1e-6
"""Timers that are due within this time of each other run together, so that sums of floats need not be exact."""


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop with a clock that only `advance` moves.

    A test that waits for what never comes fails once nothing has happened for `real_timeout_s` of real time. From then
    on time passes by itself, so that fixtures can end.
    """

    def __init__(self, real_timeout_s: float = WITHIN) -> None:
        self._now = float(int(time.monotonic()))
        self.is_stuck = False
        self._jobs = 0
        """Calls that are under way in threads."""
        self._job_ended = asyncio.Event()
        self.is_busy = False
        """Whether the last turn had anything to do beside the task that is settling."""
        super().__init__(_Selector(self, real_timeout_s))
        self._clock_resolution = RESOLUTION_S

    def time(self) -> float:
        """Return the virtual time in seconds."""
        return self._now

    async def advance(self, seconds: float, held_jobs: int = 0) -> None:
        """Let this time pass, after what goes on now has settled.

        Calls in threads are waited for, save `held_jobs` that the test itself holds up.
        """
        await self.settle(held_jobs)
        end = self._now + seconds
        while (due := self.next_due()) is not None and due <= end + RESOLUTION_S:
            self._now = max(self._now, min(due, end))
            await self.settle(held_jobs)
        self._now = end
        await self.settle(held_jobs)

    async def settle(self, held_jobs: int = 0) -> None:
        """Return when nothing is left to do at this time."""
        quiet = 0
        while quiet < QUIET_TURNS:
            await asyncio.sleep(0)
            quiet = 0 if self.is_busy else quiet + 1
            if quiet and self._jobs > held_jobs:
                self._job_ended.clear()
                await self._job_ended.wait()
                quiet = 0

    def next_due(self) -> float | None:
        """Return when the next timer runs, None where there is none."""
        dues = [timer.when() for timer in self._scheduled if not timer.cancelled()]  # type: ignore[attr-defined]
        return min(dues, default=None)

    def skip(self) -> bool:
        """Go to the time of the next timer: whether there is one."""
        due = self.next_due()
        self._now = self._now if due is None else max(self._now, due)
        return due is not None

    def has_others_ready(self) -> bool:
        """Return whether a callback is ready beside that of the running task."""
        return len(self._ready) > 1  # type: ignore[attr-defined]

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """Call a function in a thread, and know that it is under way."""
        future = super().run_in_executor(executor, func, *args)
        self._jobs += 1
        future.add_done_callback(self._end_job)
        return future

    def _end_job(self, future: asyncio.Future[Any]) -> None:
        self._jobs -= 1
        self._job_ended.set()


class _Selector(selectors.DefaultSelector):
    def __init__(self, loop: VirtualTimeLoop, real_timeout_s: float) -> None:
        super().__init__()
        self._loop = loop
        self._real_timeout_s = real_timeout_s

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait for input and output alone: no timer is due before the clock is advanced."""
        others = self._loop.has_others_ready()
        if timeout == 0:
            events = super().select(0)
        else:
            ends = time.monotonic() + self._real_timeout_s
            while not (events := super().select(0 if self._loop.is_stuck else max(0.0, ends - time.monotonic()))):
                if self._loop.is_stuck and self._loop.skip():
                    break
                if time.monotonic() >= ends:
                    self._loop.is_stuck = True
                    raise AssertionError(self._stuck())
        self._loop.is_busy = others or bool(events)
        return events

    def _stuck(self) -> str:
        due = self._loop.next_due()
        timer = "there is no timer" if due is None else f"the next timer is due in {due - self._loop.time():g} s"
        return f"nothing happened for {self._real_timeout_s:g} s of real time, and virtual time stands still; {timer}"


async def advance(seconds: float, held_jobs: int = 0) -> None:
    """Let this time pass on the test's loop, as `VirtualTimeLoop.advance` says."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop), "mark the test virtual_time"
    await loop.advance(seconds, held_jobs)


async def settle(held_jobs: int = 0) -> None:
    """Return when nothing is left to do at this time, as `VirtualTimeLoop.settle` says."""
    await advance(0.0, held_jobs)


async def passing(awaitable: Awaitable[T]) -> T:
    """Let time pass, timer by timer, until something has happened that needs no socket: what comes of it."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop), "mark the test virtual_time"
    task = asyncio.ensure_future(awaitable)
    await loop.settle()
    ends = loop.time() + MAX_PASSING_S
    while not task.done():
        due = loop.next_due()
        if due is None or due > ends:
            task.cancel()
            await asyncio.wait([task])
            raise AssertionError(f"it does not happen within {MAX_PASSING_S:g} s of virtual time")
        await loop.advance(due - loop.time())
    return await task


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Give marked tests their loops; a `conftest.py` imports this for the tests beside it."""
    mark = item.get_closest_marker("virtual_time")
    if mark is not None and mark.args != (False,):
        return {"virtual": VirtualTimeLoop}
    if item.get_closest_marker("uvloop_too") is not None:
        return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
    return {"real": asyncio.new_event_loop}
