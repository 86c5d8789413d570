"""More processes than cores: said in a line by every command that takes a number of them, and done all the same."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import machine.cores
from commands import call
from machine.cores import excess_warning, usable_cores

TOURNAMENT = ("random", "r2=random", "--game", "nim", "--rounds", "1", "--in-process", "--seed", "1")
COMMANDS: dict[str, tuple[str, ...]] = {
    "tournament": ("arena", "tournament", *TOURNAMENT),
    "test": ("arena", "test", "random", "no-such-bot", "--game", "nim"),
    "rerun": ("arena", "replay", "rerun", "no-such-match", "--bot", "random"),
    "tune": ("arena-bot", "tune", "risk-campaign", "--out", "weights.txt"),
    "solve": ("arena-bot", "solve", "risk-duel", "--preset", "no-such-preset"),
}
"""Most of them are refused for something else, after that. `arena-bot trial` reads it as `tune` does."""


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine.cores, "usable_cores", lambda: 2)


@pytest.mark.usefixtures("two_cores")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_says_in_a_line_that_there_are_fewer_cores(command: str, tmp_path: Path) -> None:
    data = ("--data", str(tmp_path)) if COMMANDS[command][0] == "arena" else ()
    for jobs, said in (("3", 1), ("2", 0)):
        done = call(*COMMANDS[command], *data, "--jobs", jobs)
        lines = [line for line in done.err.splitlines() if line.startswith("warning: --jobs")]
        assert len(lines) == said, done.err
        assert "warning" not in done.out
    if command == "tournament":
        assert done.code == 0


@pytest.mark.usefixtures("two_cores")
def test_the_warning_names_option_number_and_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    assert excess_warning("--jobs", 2) is None
    assert str(excess_warning("--jobs", 3)).startswith("--jobs 3 is more than the 2 cores that can be used here, ")
    monkeypatch.setattr(machine.cores, "usable_cores", lambda: 1)
    assert str(excess_warning("--nodes", 2)).startswith("--nodes 2 is more than the one core that can be used here, ")


def test_cores_that_a_process_may_not_use_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3}, raising=False)
    assert usable_cores() == 1
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    assert usable_cores() == 5
