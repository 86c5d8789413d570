"""Runners without boxes: only where the operator says so, and never as root."""

from __future__ import annotations

import os
import subprocess
import tarfile
from io import BytesIO
from pathlib import Path

import pytest

from arena.commands import runner
from arena.commands.runner import check_sandbox
from arena.runner.unboxed import Unboxed
from protocol.errors import ArenaFault, UsageFault


def test_a_program_runs_in_its_folder_within_limits_and_without_the_environment_of_the_runner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARENA_OPERATOR_TOKEN", "secret")
    (tmp_path / "mine.sh").write_text("pwd; env; ulimit -n\n")
    command = Unboxed(memory_mib=64).program_command(tmp_path, ("sh", "mine.sh"), 0)
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.splitlines()[0] == str(tmp_path)
    assert said.splitlines()[-1] == "1024"
    assert "secret" not in said


def test_a_build_leaves_a_tar_of_the_folder_and_changes_nothing_in_it(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("one")
    command = Unboxed(memory_mib=64).build_command(tmp_path, ("sh", "-c", "echo said; tr o O < mine.txt > bot"), 0)
    built = subprocess.run(command, capture_output=True, check=True)
    assert built.stderr == b"said\n"
    with tarfile.open(fileobj=BytesIO(built.stdout)) as archive:
        assert sorted(archive.getnames()) == [".", "./bot", "./mine.txt"]
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    failing = Unboxed(memory_mib=64).build_command(tmp_path, ("false",), 0)
    assert subprocess.run(failing, capture_output=True, check=False).returncode == 1


def test_where_no_box_can_be_made_a_runner_says_what_goes_without_and_does_not_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(user: str) -> None:
        raise ArenaFault("bubblewrap can't make a sandbox here")

    monkeypatch.setattr(runner, "check_bubblewrap", refuse)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(ArenaFault, match="a sandbox here; --sandbox none runs programs with this user's rights"):
        check_sandbox("bwrap", "a runner", "--sandbox none")
    check_sandbox("none", "a runner", "--sandbox none")
    with pytest.raises(UsageFault, match="the sandbox is 'docker': one of bwrap, none"):
        check_sandbox("docker", "a runner", "--sandbox none")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(UsageFault, match="would run the programs of strangers as root: start a runner as another user"):
        check_sandbox("none", "a runner", "--sandbox none")
