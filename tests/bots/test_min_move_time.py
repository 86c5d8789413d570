"""A pace slows a bot down for those who watch, and never loses it a match on time."""

from __future__ import annotations

import pytest

from bots.client.settings import PartialSettings, merge_settings
from bots.client.worker_threads import pace_delay
from protocol.errors import UsageFault


def test_a_move_takes_the_pace_and_what_was_thought_counts() -> None:
    assert pace_delay(0.7, 0.0, 60.0) == pytest.approx(0.7)
    assert pace_delay(0.7, 0.5, 60.0) == pytest.approx(0.2)
    assert pace_delay(0.7, 0.9, 60.0) == 0.0


def test_of_the_time_that_is_left_it_takes_a_twentieth() -> None:
    assert pace_delay(0.7, 0.0, 2.0) == pytest.approx(0.1)
    assert pace_delay(0.7, 0.0, -1.0) == 0.0


@pytest.mark.parametrize("min_move_time", [-1.0, 61.0, float("nan")])
def test_a_pace_that_is_none_is_said(min_move_time: float) -> None:
    with pytest.raises(UsageFault, match=r"^min_move_time is \S+: it must be 0 to 60 seconds"):
        merge_settings(PartialSettings(min_move_time=min_move_time))
