"""Slow calls of rules are logged, not too often; a game whose rules are slow or fail again and again is closed."""

from __future__ import annotations

import pytest

from arena.host.game_watch import (
    MAX_TROUBLES,
    SLOW_CALL_LINE_INTERVAL_S,
    TROUBLE_WINDOW_S,
    GameLimits,
    GameWatch,
    Verdict,
)

SLOW_S = 0.06


@pytest.fixture
def watch() -> GameWatch:
    return GameWatch(GameLimits())


def test_a_quick_call_is_nothing(watch: GameWatch) -> None:
    for _ in range(100):
        assert watch.note_call("go", "moves", 0.05, 1.0) == Verdict()


def test_a_slow_call_is_a_line_that_names_the_game_the_method_and_the_time(watch: GameWatch) -> None:
    verdict = watch.note_call("go", "apply", 0.0834, 1.0)
    assert verdict.closing is None
    assert verdict.line == ("go: a call of apply took 83 ms, and held up all other matches: at most 50 ms is right")


def test_further_slow_calls_are_counted_in_the_next_line_of_their_game(watch: GameWatch) -> None:
    for now in (0.0, 1.0, 2.0):
        watch.note_call("go", "apply", SLOW_S, now)
    assert watch.note_call("hex", "apply", SLOW_S, 3.0).line is not None
    line = watch.note_call("go", "apply", SLOW_S, SLOW_CALL_LINE_INTERVAL_S).line
    assert line is not None
    assert "(2 more slow calls since the last such line)" in line


def test_slow_calls_close_a_game_if_they_are_many_within_a_minute(watch: GameWatch) -> None:
    step = TROUBLE_WINDOW_S / (MAX_TROUBLES - 1)
    closings = [watch.note_call("go", "apply", SLOW_S, number * step).closing for number in range(MAX_TROUBLES)]
    assert closings == [None] * (MAX_TROUBLES - 1) + ["its rules were slow or failed 10 times within a minute"]
    assert watch.closed == {"go": closings[-1]}


def test_slow_calls_that_are_seldom_close_nothing(watch: GameWatch) -> None:
    step = TROUBLE_WINDOW_S / (MAX_TROUBLES - 1) + 0.1
    for number in range(5 * MAX_TROUBLES):
        assert watch.note_call("go", "apply", SLOW_S, number * step).closing is None


def test_failures_and_slow_calls_count_together_and_each_game_alone(watch: GameWatch) -> None:
    for _ in range(MAX_TROUBLES - 1):
        assert watch.note_fault("go", 1.0) == Verdict()
    assert watch.note_fault("hex", 1.0) == Verdict()
    assert watch.note_call("go", "apply", SLOW_S, 1.0).closing is not None


def test_a_call_that_takes_longer_than_its_time_limit_closes_its_game_once(watch: GameWatch) -> None:
    assert watch.note_call("go", "start", 1.0, 1.0) == Verdict(
        "go: a call of start took 1000 ms, and held up all other matches", "a call of start took 1.0 s"
    )
    assert watch.note_call("go", "start", 1.0, 1.0).closing is None


def test_the_time_limit_of_a_call_follows_from_what_is_slow() -> None:
    assert GameLimits.of(50) == GameLimits()
    assert GameLimits.of(200) == GameLimits(slow_call_s=0.2, call_timeout_s=4.0)
