"""Event loops (uvloop if installed) with a relaxed garbage collector, and helpers for tasks."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

from machine.standard_streams import fill_descriptors

T = TypeVar("T")
GC_GEN0_THRESHOLD = 50_000
"""Number of allocations after which the garbage collector runs. It can be high, because objects of a finished match
have no cycles and are freed without it.
"""


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run `main` in a new event loop, like `asyncio.run`."""
    relax_gc()
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(main)


def relax_gc() -> None:
    """Freeze existing objects, so that garbage collection skips them, and make collections of new objects rare."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(GC_GEN0_THRESHOLD, 20, 20)


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Return a new event loop, that of uvloop if it is installed. Closed descriptors from 0 to 2 are opened first,
    because uvloop aborts if a socket gets such a number.
    """
    fill_descriptors()
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


def call_after_reading(loop: asyncio.AbstractEventLoop, call: Callable[[], None], turns: int = 3) -> None:
    """Call a function when the event loop has read all that has arrived by now, which takes this many turns of it.

    A timer that shall tell whether something arrived in time needs this: after a delay, an event loop runs its timers
    before it reads.
    """
    if turns:
        loop.call_soon(call_after_reading, loop, call, turns - 1)
    else:
        call()


class BackgroundTasks(set[asyncio.Task[None]]):
    """A set that holds running tasks until they are done. An event loop itself keeps only weak references."""

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self.add(task)
        task.add_done_callback(self.discard)
        return task

    async def wait(self) -> None:
        """Wait until all current tasks are done."""
        if self:
            await asyncio.wait(self)

    async def cancel(self) -> None:
        """Cancel all current tasks and wait for them."""
        for task in self:
            task.cancel()
        await self.wait()


@asynccontextmanager
async def background_task(work: Coroutine[Any, Any, object]) -> AsyncIterator[None]:
    """Run `work` in the background until the block ends, then cancel it. If `work` has failed, raise its error."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait((task,))
        if not task.cancelled():
            task.result()


async def run_in_thread(work: Callable[..., T], *arguments: object) -> T:
    """Run `work` in a thread, and return its result. If this is cancelled, wait for the end of `work` first, so that no
    two threads write one file.
    """
    running = asyncio.ensure_future(asyncio.to_thread(work, *arguments))
    try:
        return await asyncio.shield(running)
    finally:
        await asyncio.wait((running,))


async def wait_within(work: Awaitable[object], timeout_s: float | None) -> None:
    """Wait until `work` is done, or cancel it after `timeout_s` seconds."""
    with suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            await work


async def run_until_first(*coroutines: Coroutine[Any, Any, object]) -> None:
    """Run several awaitables until one of them ends or fails, then cancel the rest."""
    tasks = [asyncio.create_task(work) for work in coroutines]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
