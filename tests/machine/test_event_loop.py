"""Tasks: held until they are done, and those of which the first ends the others."""

from __future__ import annotations

import asyncio

import pytest

from machine.event_loop import Tasks, until_first


async def test_tasks_are_held_until_they_are_done() -> None:
    tasks, done = Tasks(), asyncio.Event()
    await tasks.wait()
    begun = [tasks.begin(asyncio.sleep(0)), tasks.begin(_until(done))]
    await begun[0]
    await asyncio.sleep(0)
    assert tasks == {begun[1]}
    done.set()
    await tasks.wait()
    await asyncio.sleep(0)
    assert not tasks


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

    await until_first(waits(), ends())
    assert ended == ["cancelled"]


async def test_who_is_cancelled_meanwhile_cancels_all() -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await until_first(asyncio.Event().wait(), asyncio.Event().wait())
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def _until(event: asyncio.Event) -> None:
    await event.wait()
