"""By how much background processes lower their priority, and the variable that limits it."""

from __future__ import annotations

import pytest

from machine.subprocesses import limit_niceness
from protocol.display import short_repr
from protocol.errors import UsageFault


def test_without_the_variable_nothing_is_limited() -> None:
    assert [limit_niceness(19, environ) for environ in ({}, {"ARENA_MAX_NICENESS": ""})] == [19, 19]


def test_a_priority_is_lowered_no_further_than_the_variable_says() -> None:
    assert [limit_niceness(niceness, {"ARENA_MAX_NICENESS": "5"}) for niceness in (3, 5, 19)] == [3, 5, 5]
    assert limit_niceness(19, {"ARENA_MAX_NICENESS": "0"}) == 0


@pytest.mark.parametrize("text", ["-1", "20", "1.5", "low", "9" * 5000])
def test_what_is_no_niceness_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(
        UsageFault, match=f"^ARENA_MAX_NICENESS is {short_repr(text)}: it must be a whole number from 0 to 19$"
    ):
        limit_niceness(19, {"ARENA_MAX_NICENESS": text})
