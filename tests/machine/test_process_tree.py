"""The processes below another one: which they are, and when they are idle."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from machine import process_tree as process_tree_module
from machine.process_tree import (
    MAX_DELAY_S,
    ProcessorTimes,
    is_busy,
    process_tree,
    read_processor_times,
    wait_until_idle,
)
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


@pytest.mark.parametrize(
    ("delay_s", "waits_s"), [(0.0, 5.0), (7.0, 12.0), (MAX_DELAY_S + 10, 5.0 + MAX_DELAY_S)], ids=["no", "some", "most"]
)
def test_a_program_that_has_no_processor_gets_that_time_on_top(
    delay_s: float, waits_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0

    def sleep(_: float) -> None:
        nonlocal now
        now += 0.5

    monkeypatch.setattr(process_tree_module, "time", SimpleNamespace(monotonic=lambda: now, sleep=sleep))
    monkeypatch.setattr(process_tree_module, "is_busy", lambda root: True)
    monkeypatch.setattr(process_tree_module, "read_processor_times", lambda root: ProcessorTimes(0.1, delay_s))
    assert not wait_until_idle(1, 5.0)
    assert now == waits_s + 0.5


def test_the_processor_time_of_a_tree_is_that_of_all_below_its_root(tmp_path: Path) -> None:
    with shell(f"sh -c '{WORK}; echo done; exec cat'", tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"done\n"
        times = read_processor_times(process.pid)
        assert times.used_s > 0
        assert times.delay_s >= 0
    assert read_processor_times(process.pid) == ProcessorTimes()
