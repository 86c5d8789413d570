"""How event loops run, by uvloop where it exists, with a garbage collector that does not get in the way; and tasks."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from machine.standard_streams import fill_descriptors

T = TypeVar("T")
YOUNG = 50_000
"""Objects made before the collector looks; what a match leaves behind has no cycles and goes by itself."""


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run `main` in a loop of its own, as `asyncio.run` does."""
    collect_rarely()
    with asyncio.Runner(loop_factory=new) as runner:
        return runner.run(main)


def collect_rarely() -> None:
    """Leave what is there to itself, and look seldom at what is new."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, 20, 20)


def new() -> asyncio.AbstractEventLoop:
    """A loop of uvloop's where that is installed, which aborts where a socket gets a descriptor below 3."""
    fill_descriptors()
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


class Tasks(set[asyncio.Task[None]]):
    """Those that are under way, held here until they are done: an event loop does not hold its tasks."""

    def begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Do some work beside."""
        task = asyncio.create_task(work)
        self.add(task)
        task.add_done_callback(self.discard)
        return task

    async def wait(self) -> None:
        """Return when those are done that there are now."""
        if self:
            await asyncio.wait(self)

    async def cancel(self) -> None:
        """End those that there are now."""
        for task in self:
            task.cancel()
        await self.wait()


@asynccontextmanager
async def running(work: Coroutine[Any, Any, object]) -> AsyncIterator[None]:
    """Do some work beside what is done inside, and cancel it at the end. Raises what it has failed with by then."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait((task,))
        if not task.cancelled():
            task.result()


async def until_first(*works: Coroutine[Any, Any, object]) -> None:
    """Do all of these until one is done, or has failed; the others are cancelled."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
