"""When planned tournaments begin is decided by times and states alone."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.hosting.schedule import (
    MAX_CHECKS_DELAY_S,
    MAX_FAILURES,
    Abandon,
    Begin,
    NoteOnline,
    Planned,
    Resume,
    next_night,
    next_steps,
)

NOON = datetime.fromisoformat("2026-11-29T12:00:00Z")
SECOND = timedelta(seconds=1)
TIMES = st.integers(-5000, 5000).map(lambda seconds: NOON + timedelta(seconds=seconds))
PLANS = st.builds(
    Planned,
    st.integers(1, 9),
    TIMES,
    st.booleans(),
    st.integers(0, 2),
    st.integers(0, MAX_FAILURES),
    st.none() | TIMES,
)


def test_a_tournament_begins_at_its_time_and_not_before() -> None:
    plans = [Planned(1, NOON)]
    assert next_steps(plans, (), NOON - SECOND) == []
    assert next_steps(plans, (), NOON) == [Begin(1)]


def test_it_waits_for_checks_that_matter_to_it_but_not_for_ever() -> None:
    plans = [Planned(1, NOON, unchecked=1)]
    assert next_steps(plans, (), NOON) == []
    assert next_steps(plans, (), NOON + timedelta(seconds=MAX_CHECKS_DELAY_S)) == [Begin(1)]


def test_who_is_online_is_noted_as_entries_close_also_while_another_is_played_and_it_begins_no_earlier() -> None:
    plan = Planned(1, NOON, closes=NOON)
    assert next_steps([plan], (2,), NOON - SECOND) == []
    assert next_steps([plan], (2,), NOON) == [NoteOnline(1)]
    assert next_steps([plan], (), NOON, settled=False) == [], "the bots are not back yet after a restart"
    assert next_steps([plan._replace(closes=None)], (), NOON) == [Begin(1)]


def test_one_is_played_at_a_time_first_the_one_that_had_begun_then_the_earliest() -> None:
    late, early, begun = Planned(1, NOON), Planned(2, NOON - SECOND), Planned(3, NOON, has_begun=True)
    assert next_steps([late, early, begun], (), NOON) == [Resume(3)]
    assert next_steps([late, early, begun], (3,), NOON) == []
    assert next_steps([late, early], (), NOON) == [Begin(2)]


def test_one_that_fails_again_and_again_is_given_up_and_holds_up_no_other() -> None:
    broken = Planned(1, NOON, has_begun=True, failures=MAX_FAILURES)
    assert next_steps([broken._replace(failures=MAX_FAILURES - 1)], (), NOON) == [Resume(1)]
    assert next_steps([broken, Planned(2, NOON)], (), NOON) == [Abandon(1), Begin(2)]


@given(st.lists(PLANS, max_size=5, unique_by=lambda plan: plan.id))
def test_whatever_the_states_every_tournament_is_played_or_given_up_in_the_end(plans: list[Planned]) -> None:
    now, left = NOON + timedelta(days=1), {plan.id: plan for plan in plans}
    played: list[int] = []
    while left:
        steps = next_steps(list(left.values()), (), now)
        assert steps, "nothing waits for ever"
        assert sum(isinstance(step, Begin | Resume) for step in steps) <= 1
        for step in steps:
            if isinstance(step, NoteOnline):
                left[step.plan] = left[step.plan]._replace(closes=None)
            else:
                played.append(left.pop(step.plan).id)
    assert sorted(played) == sorted(plan.id for plan in plans)


@pytest.mark.parametrize(("late_s", "days"), [(0, 1), (3600, 1), (86_399, 1), (86_400, 2), (10 * 86_400 + 1, 11)])
def test_the_next_night_is_whole_days_later_and_after_now_however_long_the_server_was_off(
    late_s: int, days: int
) -> None:
    closes = NOON - timedelta(hours=1)
    found = next_night(closes, NOON, NOON + timedelta(seconds=late_s))
    assert found == (closes + timedelta(days=days), NOON + timedelta(days=days))
