"""Versions of hosted bots on the disk of a runner, which plays while they are written and removed."""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from arena.hosting.limits import SubmissionLimits
from arena.hosting.submission import read_source_file
from arena.runner import version_cache
from arena.runner.box import Boxes
from arena.runner.unpack import write_files
from arena.runner.version_cache import MIN_FREE_BYTES, VersionCache
from timeouts import WITHIN

PROGRAM = read_source_file("mine.sh", b"echo", ["nim"], ["nim"], SubmissionLimits())
PACKED = PROGRAM.pack()


async def read(digest: str) -> bytes:
    return PACKED


class SlowDisk:
    """A disk that writes and removes a folder only once the event loop says so, which it can while it goes on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.began, self.may_go_on = asyncio.Event(), threading.Event()
        self._loop = asyncio.get_running_loop()
        self._remove = shutil.rmtree
        monkeypatch.setattr(version_cache, "write_files", self.write)
        monkeypatch.setattr(version_cache.shutil, "rmtree", self.remove)  # type: ignore[attr-defined]

    def write(self, folder: Path, files: Mapping[str, bytes]) -> None:
        self._wait()
        write_files(folder, files)

    def remove(self, folder: Path, *, ignore_errors: bool = False) -> None:
        self._wait()
        self._remove(folder, ignore_errors=ignore_errors)

    def _wait(self) -> None:
        self._loop.call_soon_threadsafe(self.began.set)
        assert self.may_go_on.wait(WITHIN if threading.current_thread() is not threading.main_thread() else 0)


async def test_the_runner_goes_on_while_a_version_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, disk = VersionCache(tmp_path, Boxes(memory_mib=64), read), SlowDisk(monkeypatch)
    getting = asyncio.create_task(cache.get(PROGRAM.digest, 0))
    await asyncio.wait_for(disk.began.wait(), WITHIN)
    disk.may_go_on.set()
    assert (await getting).manifest.games == ("nim",)
    assert os.listdir(tmp_path) == [PROGRAM.digest]


async def test_a_version_that_is_no_longer_wanted_while_it_is_written_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, disk = VersionCache(tmp_path, Boxes(memory_mib=64), read), SlowDisk(monkeypatch)
    getting = asyncio.create_task(cache.get(PROGRAM.digest, 0))
    await asyncio.wait_for(disk.began.wait(), WITHIN)
    getting.cancel()
    disk.may_go_on.set()
    await asyncio.wait((getting,))
    assert getting.cancelled()
    assert os.listdir(tmp_path) == []


async def test_the_runner_goes_on_while_a_version_is_removed_which_nothing_finds_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / f"lost{version_cache._GONE_SUFFIX}").mkdir()
    cache, disk = VersionCache(tmp_path, Boxes(memory_mib=64), read), SlowDisk(monkeypatch)
    assert os.listdir(tmp_path) == ["old"]
    free = [0, MIN_FREE_BYTES]
    monkeypatch.setattr(version_cache.shutil, "disk_usage", lambda _: Usage(free.pop(0)))  # type: ignore[attr-defined]
    checking = asyncio.create_task(cache.check_room())
    await asyncio.wait_for(disk.began.wait(), WITHIN)
    assert not (tmp_path / "old").exists()
    disk.may_go_on.set()
    await checking
    assert os.listdir(tmp_path) == []


class Usage:
    def __init__(self, free: int) -> None:
        self.free = free
