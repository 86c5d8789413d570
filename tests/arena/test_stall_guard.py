"""A process that stood still for longer than its name is kept says nothing when it goes on."""

from __future__ import annotations

import time

import pytest

from arena.server.stall_guard import MAX_STALL_S, StallGuard


def test_who_stood_still_for_too_long_is_told_before_anything_else_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter((100.0, 101.0, 102.0, 102.0 + MAX_STALL_S, 102.1 + 2 * MAX_STALL_S))
    monkeypatch.setattr(time, "clock_gettime", lambda _: next(clock))
    stalls: list[float] = []
    guard = StallGuard(stalls.append)
    for _ in range(3):
        guard.check()
    assert stalls == []
    guard.check()
    assert stalls == [pytest.approx(MAX_STALL_S + 0.1)]
