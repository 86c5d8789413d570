"""Locks on open files."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from machine.file_lock import lock


def test_one_has_it_alone_or_several_share_it(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("a") as one, (tmp_path / "lock").open("a") as other:
        lock(one.fileno())
        for shared in (False, True):
            with pytest.raises(BlockingIOError):
                lock(other.fileno(), shared=shared, wait=False)
        lock(one.fileno(), shared=True)
        lock(other.fileno(), shared=True, wait=False)


def test_a_system_without_such_locks_goes_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "lock").open("a") as one, (tmp_path / "lock").open("a") as other:
        lock(one.fileno())
        with pytest.raises(BlockingIOError):
            lock(other.fileno(), wait=False)
        monkeypatch.setitem(sys.modules, "fcntl", None)
        lock(other.fileno(), wait=False)  # raises no more
