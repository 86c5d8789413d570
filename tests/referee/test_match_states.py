"""Seats and referee as a state machine: what holds after every event, whatever came before."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from referee_machine import CountedMachine
from volumes import examples


@pytest.mark.no_cover
@pytest.mark.usefixtures("dibs")
def test_nothing_that_happens_to_a_match_breaks_what_holds_of_every_match() -> None:
    """Invariants of the machine say what holds, after each event; here is said that there were some, and ends."""
    some = settings(max_examples=examples(30, nightly=60), stateful_step_count=40, deadline=None)
    run_state_machine_as_test(CountedMachine, settings=some)
    assert CountedMachine.runs >= some.max_examples
    assert CountedMachine.steps > CountedMachine.runs
    assert CountedMachine.over > 0
