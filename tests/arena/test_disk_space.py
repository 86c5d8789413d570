"""A warning before the disk is full, in the log, in `arena status`, and gone when there is room again."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from arena.operations import disk_space
from arena.operator.status import StatusRequest
from arena.server.warnings import Warnings
from machine.event_loop import background_task
from virtual_time import advance, settle

GIB = 2**30


class Disk:
    """What `shutil.disk_usage` says, of a disk of so many bytes."""

    def __init__(self, whole: int, free: int) -> None:
        self.whole, self.free = whole, free

    def __call__(self, folder: Path) -> tuple[int, int, int]:
        return self.whole, self.whole - self.free, self.free


@pytest.mark.parametrize(
    ("whole", "free", "warns"),
    [
        (100 * GIB, 6 * GIB, None),
        (100 * GIB, 4 * GIB, "4.0 GiB left, 4%"),
        (10 * GIB, GIB * 3 // 4, "768 MiB left, 8%"),
        (10 * GIB, GIB * 3 // 2, None),
        (4000 * GIB, 30 * GIB, None),
        (4000 * GIB, 10 * GIB, "10.0 GiB left, 0%"),
    ],
)
def test_little_is_a_share_of_the_disk_within_bounds(
    monkeypatch: pytest.MonkeyPatch, whole: int, free: int, warns: str | None
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", Disk(whole, free))
    found = disk_space.describe_shortage(Path("/srv/arena"))
    assert (found is None) == (warns is None)
    if warns is not None:
        assert f"the disk of /srv/arena is nearly full: {warns}" in (found or "")


def test_a_folder_that_is_not_there_is_no_shortage(tmp_path: Path) -> None:
    assert disk_space.describe_shortage(tmp_path / "none") is None


async def test_it_is_logged_once_told_by_status_and_taken_back(
    serve: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    served = await serve()
    disk = Disk(100 * GIB, 2 * GIB)
    monkeypatch.setattr(shutil, "disk_usage", disk)
    caplog.set_level("INFO", "arena")
    told = []
    for free in (2, 1, 50):
        disk.free = free * GIB
        disk_space.update_warning(served.arena.warnings, [served.data])
        told.append((await served.perform(StatusRequest())).warnings)
    assert [len(warnings) for warnings in told] == [1, 1, 0]
    assert ("2.0 GiB left" in told[0][0], "1.0 GiB left" in told[1][0]) == (True, True)
    said = [one.getMessage() for one in caplog.records if "disk" in one.getMessage()]
    assert said == [*told[0], "disk space: the warning no longer applies"]
    assert served.arena.host.health.reason is None


@pytest.mark.virtual_time
async def test_it_is_looked_up_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(100 * GIB, 50 * GIB)
    monkeypatch.setattr(shutil, "disk_usage", disk)
    warnings = Warnings()
    async with background_task(disk_space.run_checks(warnings, [Path("/")])):
        await settle()
        assert warnings.current() == []
        disk.free = GIB
        await advance(disk_space.CHECK_INTERVAL_S - 0.01)
        assert warnings.current() == []
        await advance(0.01)
        assert len(warnings.current()) == 1
