"""A process that stood still for longer than its name is kept says nothing when it goes on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from arena.network.flusher import Flusher
from arena.server.stall_guard import MAX_STALL_S, StallGuard


class Watch:
    """A guard, the time that it reads, and the stalls that it found."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, on_stall: Callable[[float], None] | None = None) -> None:
        self.now = 100.0
        self.stalls: list[float] = []
        self.guard = StallGuard(on_stall or self.stalls.append)
        monkeypatch.setattr(time, "clock_gettime", lambda _: self.now)

    def check_at(self, now: float) -> None:
        self.now = now
        self.guard.check()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.guard.run())
        await asyncio.sleep(0)
        yield
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_who_stood_still_for_too_long_is_told_before_anything_else_is_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watch = Watch(monkeypatch)
    async with watch.running():
        for now in (101.0, 102.0, 102.0 + MAX_STALL_S):
            watch.check_at(now)
        assert watch.stalls == []
        watch.check_at(102.1 + 2 * MAX_STALL_S)
        assert watch.stalls == [pytest.approx(MAX_STALL_S + 0.1)]


async def test_who_stood_still_between_two_writes_does_not_make_the_second(monkeypatch: pytest.MonkeyPatch) -> None:
    written = []

    class Connection:
        def flush(self, queued_at: float, now: float) -> None:
            written.append(self)
            watch.now += 2 * MAX_STALL_S

    def end(seconds: float) -> None:
        raise RuntimeError  # a node's process ends here

    watch = Watch(monkeypatch, end)
    async with watch.running():
        flusher = Flusher(asyncio.get_running_loop(), before_write=watch.guard.check)
        for _ in range(2):
            flusher.register(Connection())
        await asyncio.sleep(0)
    assert len(written) == 1


async def test_before_and_after_it_runs_time_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch(monkeypatch)
    watch.check_at(200.0)
    watch.now = 300.0
    async with watch.running():
        watch.check_at(301.0)
    watch.check_at(400.0)
    assert watch.stalls == []
