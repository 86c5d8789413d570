"""How much memory there is, as a control group of the process or one above it says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from machine import memory
from machine.memory import memory_bytes

MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("group", "limits", "mib"),
    [
        ("0::/", {"memory.max": "300"}, 300),  # a container sees its own at the top
        ("0::/system.slice/arena.service", {"system.slice/arena.service/memory.max": "200"}, 200),
        ("0::/a/b", {"a/b/memory.max": "max", "a/memory.max": "100"}, 100),
        ("0::/a/b", {"a/b/memory.max": "200", "a/memory.max": "100", "a/c/memory.max": "1"}, 100),
        ("9:cpu,memory:/docker/x\n0::/", {"memory/memory.limit_in_bytes": "400"}, 400),
        ("9:memory:/a:b\n8:cpu:/a", {"memory/a:b/memory.limit_in_bytes": "200", "a/memory.max": "1"}, 200),
        ("0::/", {}, None),
        ("0::/", {"memory.max": "99999999"}, None),
        (None, {"memory.max": "max"}, None),
    ],
)
def test_it_is_what_the_narrowest_of_its_groups_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: str | None, limits: dict[str, str], mib: int | None
) -> None:
    monkeypatch.setattr(memory, "CGROUP_FOLDER", tmp_path / "cgroup")
    monkeypatch.setattr(memory, "PROCESS_CGROUP_FILE", tmp_path / "own")
    if group is not None:
        (tmp_path / "own").write_text(f"{group}\n")
    for name, limit in limits.items():
        file = tmp_path / "cgroup" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{int(limit) * MIB if limit.isdecimal() else limit}\n")
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert memory_bytes() == (machine if mib is None else mib * MIB)
