"""Seats and referee as a state machine: what holds after every event, whatever came before."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from referee_machine import RefereeMachine


@pytest.mark.no_cover
@pytest.mark.usefixtures("dibs")
def test_nothing_that_happens_to_a_match_breaks_what_holds_of_every_match() -> None:
    run_state_machine_as_test(RefereeMachine, settings=settings(max_examples=60, stateful_step_count=40, deadline=None))
