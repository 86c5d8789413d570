"""The programs that measure hosted bots: the sources of their bots, and what they make of their measurements."""

from __future__ import annotations

import importlib
import itertools
from functools import partial
from pathlib import Path
from typing import Any

import pytest

HOSTING = Path(__file__).parents[1] / "benchmarks" / "hosting"


@pytest.fixture
def hour(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of the hour, imported as when it is run."""
    for folder in (HOSTING.parent, HOSTING.parent / "reliability", HOSTING):
        monkeypatch.syspath_prepend(str(folder))
    return importlib.import_module("hour")


def test_every_bot_that_can_wait_does_so_before_its_move(hour: Any) -> None:
    arena = importlib.import_module("hosted_arena")
    for language in arena.LANGUAGES:
        source = arena.source_of(language, 0.25)
        assert ("0.25" in source) == (language.name not in ("java", "go")), language.name
        assert "PAUSE" not in source


def test_memory_that_stays_is_no_growth_and_memory_that_doubles_is_one(hour: Any) -> None:
    steady = [hour.Sample(100 + number % 7, 300, 10 + number) for number in range(60)]
    assert hour.find_growth(steady, 1000) == []
    growing = [hour.Sample(100 + 5 * number, 300, 10 + 5 * number) for number in range(60)]
    assert hour.find_growth(growing, 1000) == [
        "memory of server grew from 172 to 372 MiB",
        "the files grew by 295 MiB in 1000 matches",
    ]


def test_a_bot_is_away_from_a_fault_to_its_first_move_that_was_not_under_way(hour: Any) -> None:
    absences = hour.Absences(partial(next, itertools.count(100.0, 0.2)))
    absences.begin("killed", {"mine", "other", "third"})
    absences.end("mine")  # it was under way
    absences.end("third", is_match_over=True)  # by a move that was
    absences.end("mine")
    absences.end("mine")
    assert absences.seconds == {"killed": [pytest.approx(0.6)]}
    assert absences.still_away() == {"other": "killed"}
