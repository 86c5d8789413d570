"""The factor by which a slow machine multiplies its timeouts."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from arena.host.timeouts import HostTimeouts
from machine.timeouts import scale_timeouts, timeout_factor
from protocol.errors import UsageFault


@dataclass(frozen=True)
class Inner:
    open_timeout_s: float = 5.0


@dataclass(frozen=True)
class Outer:
    inner: Inner = field(default_factory=Inner)
    close_timeout_s: float = 1.0
    ping_interval_s: float = 10.0
    retry_delay_s: float = 0.5


def test_without_the_variable_the_factor_is_one() -> None:
    assert timeout_factor({}) == timeout_factor({"ARENA_TIMEOUT_FACTOR": ""}) == 1.0


def test_the_factor_multiplies_timeouts_and_leaves_intervals_and_delays() -> None:
    assert scale_timeouts(Outer(), 4.0) == Outer(inner=Inner(20.0), close_timeout_s=4.0)


def test_settings_are_scaled_as_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARENA_TIMEOUT_FACTOR", "2.5")
    found = scale_timeouts(HostTimeouts())
    assert (found.network.hello_timeout_s, found.match.ready_timeout_s) == (12.5, 25.0)
    assert found.record_retry_delay_s == HostTimeouts().record_retry_delay_s


@pytest.mark.parametrize("text", ["0", "0.5", "-1", "1001", "nan", "much"])
def test_what_is_no_factor_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(UsageFault, match=f"^ARENA_TIMEOUT_FACTOR is '{text}': it must be a number from 1 to 1000$"):
        timeout_factor({"ARENA_TIMEOUT_FACTOR": text})
