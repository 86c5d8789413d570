"""A timer interrupts the function that it calls, and nothing before or after it."""

from __future__ import annotations

import signal

import pytest

from machine.code_timer import CodeTimer, TimeUp
from timeouts import WITHIN


def ring() -> str:
    signal.raise_signal(signal.SIGALRM)
    return "went on"


def test_a_function_is_interrupted_when_its_time_is_up() -> None:
    timer = CodeTimer()
    with timer.install_handler(), pytest.raises(TimeUp):
        timer.call(WITHIN, ring)


def test_an_alarm_before_a_function_begins_or_after_it_ended_interrupts_nothing() -> None:
    timer = CodeTimer()
    with timer.install_handler():
        timer.call(WITHIN, signal.raise_signal, signal.SIGALRM)  # rings in `call` itself, as this is no Python code
        assert ring() == "went on"
        assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_a_function_that_goes_on_is_interrupted_again() -> None:
    def ignore() -> float:
        for _ in range(2):
            with pytest.raises(TimeUp):
                ring()
        return signal.getitimer(signal.ITIMER_REAL)[1]

    timer = CodeTimer(repeat_interval_s=WITHIN)
    with timer.install_handler():
        assert timer.call(2 * WITHIN, ignore) == WITHIN


def test_without_a_time_limit_nothing_is_interrupted() -> None:
    timer = CodeTimer()
    with timer.install_handler():
        assert timer.call(None, ring) == "went on"
