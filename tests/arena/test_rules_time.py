"""The time that rules which are not built in take is not taken from the clock of the seat that is asked next."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from games.nim.rules import Nim
from match_room import Room


@pytest.mark.parametrize(("is_guarded", "charged_s"), [(True, 0.0), (False, 2.0)])
async def test_slow_rules_cost_no_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_guarded: bool, charged_s: float
) -> None:
    now, apply = 0.0, Nim.apply

    def apply_slowly(*given: Any) -> Any:
        nonlocal now
        now += 2.0
        return apply(*given)

    room = Room(tmp_path).begin()
    loop = asyncio.get_running_loop()
    began = loop.time()
    clock = Mock(wraps=loop, time=lambda: began + now)
    monkeypatch.setattr(room.runner, "_loop", clock)
    monkeypatch.setattr("arena.host.runner.perf_counter", lambda: now)
    monkeypatch.setattr(Nim, "apply", apply_slowly)
    room.match.is_guarded = is_guarded
    room.play()
    banks = room.match.standing.clock
    (seat,) = banks.running
    assert banks.banks_s[seat] - banks.seconds_left(seat, clock.time()) == pytest.approx(charged_s, abs=0.1)
