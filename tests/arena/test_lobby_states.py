"""The lobby as a state machine: what holds after every event, whatever came before."""

from __future__ import annotations

from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from lobby_machine import LobbyMachine
from volumes import examples


def test_nothing_that_happens_to_a_lobby_breaks_what_holds_of_every_lobby() -> None:
    """Rules and invariants of the machine say what holds; here is said that matches began."""
    LobbyMachine.counts.clear()
    some = settings(max_examples=examples(12, nightly=500), stateful_step_count=50, deadline=None)
    run_state_machine_as_test(LobbyMachine, settings=some)
    assert LobbyMachine.counts["StartMatch"] > 5
