"""Tasks: held until they are done, those of which the first ends the others, and work beside."""

from __future__ import annotations

import asyncio

import pytest

from machine.event_loop import BackgroundTasks, background_task, run_until_first


async def test_tasks_are_held_until_they_are_done() -> None:
    tasks, done = BackgroundTasks(), asyncio.Event()
    await tasks.wait()
    begun = [tasks.start(asyncio.sleep(0)), tasks.start(_until(done))]
    await begun[0]
    await asyncio.sleep(0)
    assert tasks == {begun[1]}
    done.set()
    await tasks.wait()
    await asyncio.sleep(0)
    assert not tasks


async def test_tasks_that_are_cancelled_are_over_when_that_returns() -> None:
    tasks = BackgroundTasks()
    await tasks.cancel()
    begun = tasks.start(_until(asyncio.Event()))
    await asyncio.sleep(0)
    await tasks.cancel()
    assert begun.cancelled()


@pytest.mark.parametrize("failing", [False, True])
async def test_the_first_that_ends_or_fails_cancels_the_others(failing: bool) -> None:
    ended: list[str] = []

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    async def ends() -> None:
        if failing:
            raise OSError("it failed")

    await run_until_first(waits(), ends())
    assert ended == ["cancelled"]


async def test_who_is_cancelled_meanwhile_cancels_all() -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await run_until_first(asyncio.Event().wait(), asyncio.Event().wait())
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_work_beside_is_cancelled_at_the_end() -> None:
    async with background_task(asyncio.Event().wait()):
        assert len(asyncio.all_tasks()) == 2
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_work_beside_that_has_failed_fails_the_end() -> None:
    async def fails() -> None:
        failed.set()
        raise ValueError("it failed")

    failed = asyncio.Event()
    with pytest.raises(ValueError, match="it failed"):
        async with background_task(fails()):
            await failed.wait()


async def _until(event: asyncio.Event) -> None:
    await event.wait()
