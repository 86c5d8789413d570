"""The event loop of the tests themselves whose clock stands still until it is advanced."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from virtual_time import VirtualTimeLoop, advance, passing, settle

pytestmark = pytest.mark.virtual_time


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_time_stands_still_until_it_is_advanced() -> None:
    began = now()
    for _ in range(1000):
        await asyncio.sleep(0)
    assert now() == began
    await advance(3600.0)
    assert now() == began + 3600.0


async def test_timers_run_in_order_and_each_at_its_own_time() -> None:
    loop, began, ran = asyncio.get_running_loop(), now(), []
    for delay in (0.3, 0.1, 0.2, 5.0):
        loop.call_later(delay, lambda delay=delay: ran.append((delay, round(now() - began, 6))))
    loop.call_later(0.15, loop.call_later, 0.1, lambda: ran.append((0.25, round(now() - began, 6))))
    await advance(1.0)
    assert ran == [(0.1, 0.1), (0.2, 0.2), (0.25, 0.25), (0.3, 0.3)]
    await advance(4.0)
    assert ran[-1] == (5.0, 5.0)


async def test_a_task_that_sleeps_again_and_again_wakes_as_often_as_the_time_holds() -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.1)
            ticks += 1

    ticking = asyncio.create_task(tick())
    await advance(0.95)
    assert ticks == 9
    await advance(0.05)
    assert ticks == 10
    ticking.cancel()


async def test_a_timeout_expires_at_its_time_and_not_before() -> None:
    waiting = asyncio.create_task(asyncio.wait_for(asyncio.Event().wait(), 10.0))
    await advance(9.9)
    assert not waiting.done()
    await advance(0.1)
    with pytest.raises(TimeoutError):
        await waiting


async def test_real_sockets_work_and_take_no_time() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readline())
        await asyncio.sleep(5.0)
        writer.close()

    began = now()
    async with await asyncio.start_server(echo, "127.0.0.1", 0) as server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(b"word\n")
        assert await reader.readline() == b"word\n"
        assert now() == began
        await advance(5.0)
        assert await reader.read() == b""
        writer.close()


async def test_calls_in_threads_are_waited_for_before_time_passes() -> None:
    began, noted = now(), []

    async def work() -> None:
        for _ in range(3):
            await asyncio.to_thread(time.sleep, 0.01)
            noted.append(now() - began)
            await asyncio.sleep(1.0)

    working = asyncio.create_task(work())
    await advance(2.0)
    assert noted == [0.0, 1.0, 2.0]
    working.cancel()


async def test_a_call_that_the_test_holds_up_is_not_waited_for() -> None:
    may_end, passed = threading.Event(), asyncio.Event()
    call = asyncio.create_task(asyncio.to_thread(may_end.wait, 60.0))
    asyncio.get_running_loop().call_later(5.0, passed.set)
    await advance(5.0, held_jobs=1)
    assert passed.is_set()
    assert not call.done()
    may_end.set()
    await settle()
    assert call.done()


async def test_time_passes_timer_by_timer_until_something_has_happened() -> None:
    began, happened = now(), asyncio.Event()
    asyncio.get_running_loop().call_later(7.0, happened.set)
    asyncio.get_running_loop().call_later(3.0, lambda: None)
    await passing(happened.wait())
    assert now() == began + 7.0
    with pytest.raises(AssertionError, match="does not happen within 3600 s of virtual time"):
        await passing(asyncio.Event().wait())


def test_a_test_that_waits_for_what_never_comes_fails_and_says_when_the_next_timer_is_due() -> None:
    async def main() -> None:
        try:
            await asyncio.sleep(7.0)
        finally:
            ended.append(await asyncio.sleep(5.0, "what is cancelled may wait too"))

    ended: list[str] = []
    with (
        asyncio.Runner(loop_factory=lambda: VirtualTimeLoop(real_timeout_s=0.01)) as runner,
        pytest.raises(AssertionError, match="virtual time stands still; the next timer is due in 7 s"),
    ):
        runner.run(main())
    assert ended == ["what is cancelled may wait too"]
