"""The file that a tournament leaves: whole, or the one that was there."""

from __future__ import annotations

from pathlib import Path

import pytest

from arena.commands.tournament_report import Report
from arena.tournament.contestants import Contestant
from arena.tournament.plan import Plan
from protocol.errors import ArenaFault
from protocol.games import load
from protocol.messages import Clock

PLAN = Plan(
    id="t1",
    seed="7",
    contestants=(Contestant("a", ()), Contestant("b", ())),
    rules=load("nim"),
    format="round-robin",
    rounds=2,
    paired=False,
    clock=Clock(bank_ms=1000, increment_ms=0),
)


def test_a_full_disk_leaves_the_file_as_it_was_and_nothing_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    Report(PLAN, ()).write(file, {})
    before = file.read_bytes()
    (tmp_path / "out.json.part").symlink_to("/dev/full")
    with pytest.raises(ArenaFault) as caught:
        Report(PLAN, ()).write(file, {"rounds": 2})
    assert str(caught.value) == f"{file} can't be written: No space left on device"
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]
