"""A run of tests in forked workers: what it reports, what it leaves behind, and when its costs make it red."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from budget import Budget
from timeouts import WITHIN

TESTS = Path(__file__).parent
CONFTEST = """
import pytest
from budget import Budget, CostMeter
from forked_workers import ForkedWorkers

def pytest_configure(config):
    config.pluginmanager.register(CostMeter())
    budget = Budget(whole=True, file=config.rootpath / "budget.toml")
    config.pluginmanager.register(budget)
    config.pluginmanager.register(ForkedWorkers(config, 2, budget))
"""
LIMITS = """
[run]
units = 1_000_000
programs = {programs}
[run_in_ci]
programs = 20
[run_at_night]
programs = 30
[test]
units = 10
programs = 2
databases = 2
slept_ms = 100
[test_in_ci]
units = 100
programs = 3
databases = 2
slept_ms = 100
[test_at_night]
units = 1_000
[exceptions]
"test_listed.py::test_starts_three" = {{ programs = 3, reason = "it compares three" }}
"""
INTERRUPTING = """
import gc, os, signal

def pytest_collection_finish():
    def interrupt(phase, info):
        if info["generation"] == 2:
            gc.callbacks.remove(interrupt)
            os.kill(os.getpid(), signal.SIGINT)
    gc.callbacks.append(interrupt)
"""
"""What interrupts a run in the first complete garbage collection after the tests have been collected."""
STARTS_THREE = "import subprocess\ndef test_starts_three():\n  for _ in range(3): subprocess.run(['true'])\n"


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A folder of tests that are run by two workers under small limits."""
    (tmp_path / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\nmarkers = ci\n")
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "budget.toml").write_text(LIMITS.format(programs=100))
    return tmp_path


def start(suite: Path, *words: str, **files: str) -> subprocess.Popen[str]:
    for name, text in files.items():
        (suite / f"test_{name}.py").write_text(text)
    plugins = ("-p", "pytest_asyncio.plugin", "-p", "no:cacheprovider")
    environ = {
        **os.environ,
        "PYTHONPATH": str(TESTS),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_ADDOPTS": "",
        "CI": "",
        "NIGHTLY": "",
    }
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", *plugins, *words],
        cwd=suite,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def run(suite: Path, *words: str, **files: str) -> tuple[int, str]:
    process = start(suite, *words, **files)
    out, _ = process.communicate(timeout=WITHIN)
    return process.returncode, out


def test_all_tests_are_run_and_a_failure_is_shown_at_once_with_a_command_to_repeat_it(suite: Path) -> None:
    """What a worker had started that was killed does not outlive the run."""
    os.mkfifo(suite / "pipe")
    orphan = "subprocess.Popen(['sleep', '1000'], start_new_session=True)"
    process = start(
        suite,
        passes="def test_one(): pass\ndef test_two(): pass\n",
        fails="def test_fails(): assert 'blue' == 'green'\n",
        dies="import os, subprocess\ndef test_first(): pass\n"
        f"def test_dies(): {orphan}; os._exit(7)\ndef test_last(): pass\n",
        waits="def test_waits():\n  open('pipe').read()\n",
    )
    assert process.stdout is not None
    with process.stdout as lines:
        out = ""
        while "assert 'blue' == 'green'" not in out:
            out += (line := lines.readline())
            assert line
        with open(suite / "pipe", "w"):  # which lets the one end that waits
            pass
        out += lines.read()
    assert process.wait(WITHIN) == 1
    assert "2 failed, 5 passed" in out
    assert "the worker process ended in this test: exit code 7" in out
    assert re.search(r"scripts/test .*--seed \S+ test_fails\.py", out)
    assert re.search(r"scripts/test .*--seed \S+ test_dies\.py", out)
    assert "still running after the tests, and ended: sleep 1000" in out


def test_after_an_interrupt_no_other_test_is_run_and_nothing_is_left_even_if_the_test_caught_it(suite: Path) -> None:
    orphan = "import subprocess\nsubprocess.Popen(['sleep', '1000'], start_new_session=True)\n"
    text = (
        f"import pytest, subprocess, sys\ndef test_catches():\n  subprocess.run([sys.executable, '-c', {orphan!r}])\n"
    )
    text += "  with pytest.raises(KeyboardInterrupt):\n    open('begun', 'w').close()\n    open('pipe').read()\n"
    text += "def test_next(): open('next', 'w').close()\n"
    os.mkfifo(suite / "begun")
    os.mkfifo(suite / "pipe")
    process = start(suite, catches=text)
    (suite / "begun").read_text()
    os.kill(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=WITHIN)
    assert process.returncode == 2
    assert not (suite / "next").exists()
    assert "still running after the tests, and ended: sleep 1000" in out


def test_an_interrupt_while_garbage_is_collected_before_the_tests_ends_the_run(suite: Path) -> None:
    (suite / "conftest.py").write_text(CONFTEST + INTERRUPTING)
    os.mkfifo(suite / "pipe")
    limits = ("-o", f"faulthandler_timeout={WITHIN / 2}", "-o", "faulthandler_exit_on_timeout=true")
    code, out = run(suite, *limits, waits="def test_waits():\n  open('pipe').read()\n")
    assert code == 2, out


def test_a_test_that_waits_for_ever_is_ended_and_shown_with_the_line_in_which_it_waits(suite: Path) -> None:
    os.mkfifo(suite / "pipe")
    limits = ("-o", "faulthandler_timeout=2", "-o", "faulthandler_exit_on_timeout=true")
    code, out = run(suite, *limits, waits="def test_waits():\n  open('pipe').read()\n")
    assert (code, "1 failed" in out) == (1, True), out
    assert 'test_waits.py", line 2 in test_waits' in out
    assert "the worker process ended in this test: exit code 1" in out


def test_a_process_that_outlives_its_test_makes_the_run_red(suite: Path) -> None:
    code, out = run(suite, leaves="import subprocess\ndef test_leaves(): subprocess.Popen(['sleep', '1000'])\n")
    assert code == 1
    assert "1 passed" in out
    assert "still running after the tests, and ended: sleep 1000" in out


def test_tests_that_start_sleep_or_compute_too_much_make_the_run_red_one_by_one_and_together(suite: Path) -> None:
    """Processor time counts in the cheaper of two runs."""
    (suite / "budget.toml").write_text(LIMITS.format(programs=8))
    code, out = run(
        suite,
        listed=STARTS_THREE,
        marked="import pytest\npytestmark = pytest.mark.ci\n" + STARTS_THREE,
        starts=STARTS_THREE,
        sleeps="import time\ndef test_sleeps(): time.sleep(0.2)\n",
        waits="import asyncio\nasync def test_waits(): await asyncio.sleep(0.2)\n",
        computes="def test_computes(): sum(range(30_000_000))\n",
        pays_once="from pathlib import Path\nPAID = Path('paid')\n"
        "def test_pays_for_another(): PAID.exists() or PAID.touch() or sum(range(30_000_000))\n",
        opens="import sqlite3\ndef test_opens():\n  for _ in range(3): sqlite3.connect(':memory:').close()\n",
    )
    assert (code, "8 passed" in out) == (1, True), out
    over = re.findall(r"over the budget of \S+: (?:test_\w+\.py::)?(.+): \d+ (\w+), limit", out)
    assert sorted(over) == [
        ("test_computes", "units"),
        ("test_opens", "databases"),
        ("test_sleeps", "slept_ms"),
        ("test_starts_three", "programs"),
        ("test_waits", "slept_ms"),
        ("the whole run", "programs"),
    ], out
    assert out.splitlines()[-1] == "red: over the budget in 6 of its limits, see above"


@pytest.mark.parametrize(
    ("variables", "units", "programs"),
    [({}, 10, 5), ({"CI": "true"}, 100, 20), ({"CI": "true", "NIGHTLY": "true"}, 1_000, 30)],
)
def test_a_test_and_a_run_may_cost_more_in_ci_and_most_at_night(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], units: int, programs: int
) -> None:
    for name in ("CI", "NIGHTLY"):
        monkeypatch.setenv(name, variables.get(name, ""))
    (tmp_path / "budget.toml").write_text(LIMITS.format(programs=5))

    def status(units: int, programs: int) -> int:
        budget = Budget(whole=True, file=tmp_path / "budget.toml")
        for number in range(programs):
            cost = {"units": units, "programs": 1}
            report = SimpleNamespace(nodeid=f"test_{number}", cost=cost, limits="test", processor_s=1.0)
            budget.pytest_runtest_logreport(cast(Any, report))
        session = SimpleNamespace(exitstatus=pytest.ExitCode.OK)
        budget.pytest_sessionfinish(cast(Any, session))
        return session.exitstatus

    assert [status(units, programs), status(units + 1, programs), status(units, programs + 1)] == [0, 1, 1]
