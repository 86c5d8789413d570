"""The processes below another one: which they are, and when they are idle."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from machine.process_tree import is_busy, process_tree, wait_until_idle
from timeouts import WITHIN

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the states of processes")
WORK = "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done"
"""A shell's work of a moment."""


@contextmanager
def shell(script: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A shell that runs a script, and whose input stays open."""
    with subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_program_is_idle_once_it_and_all_below_it_have_started_and_wait_for_input(tmp_path: Path) -> None:
    with shell(f"(sh -c '{WORK}; touch ready; exec cat'); true", tmp_path) as process:
        assert wait_until_idle(process.pid, WITHIN)
        assert (tmp_path / "ready").exists()
        assert len(process_tree(process.pid)) > 1
        assert process_tree(process.pid)[0] == process.pid


def test_a_program_that_never_rests_is_waited_for_no_longer_than_its_time(tmp_path: Path) -> None:
    with shell("while :; do :; done", tmp_path) as process:
        assert not wait_until_idle(process.pid, 0.1)
        assert is_busy(process.pid)


def test_a_program_that_has_ended_is_idle(tmp_path: Path) -> None:
    with shell("true", tmp_path) as process:
        process.wait()
        assert wait_until_idle(process.pid, WITHIN)
