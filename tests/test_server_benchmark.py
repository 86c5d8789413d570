"""The benchmark of the server: what it makes of its measurements, and what it says of a version that is not there."""

from __future__ import annotations

import runpy
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("importable")
PROGRAM = Path(__file__).parents[1] / "benchmarks" / "server.py"


@pytest.fixture
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the program import the modules beside it, as when it is run."""
    monkeypatch.syspath_prepend(str(PROGRAM.parent))


def test_a_commit_that_is_not_there_is_named_in_one_line() -> None:
    command = [sys.executable, str(PROGRAM), "--against", "no-such-commit"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "there is no commit no-such-commit in this repository\n"


def test_versions_are_compared_with_the_echo_of_the_same_round(capsys: pytest.CaptureFixture[str]) -> None:
    program = runpy.run_path(str(PROGRAM))
    run, contender = program["_Run"], program["_Contender"]

    def measured(name: str, *rounds: tuple[float, float]) -> object:
        return contender(name, [], runs=[run(*rate_and_cost, 0, 0, 0, 0, 0) for rate_and_cost in rounds])

    program["_print_rates"](
        [
            measured("echo", (40_000, 20), (20_000, 40), (10_000, 80)),
            measured("this", (20_000, 40), (15_000, 60), (6_000, 240)),
            measured("1f799d0", (10_000, 80), (5_000, 160), (1_000, 800)),
        ],
        Namespace(connections=64, rounds=3, seconds=5.0),
    )
    assert capsys.readouterr().out.splitlines() == [
        "64 connections, medians of 3 runs of 5 s, in turn",
        "echo      20,000 round trips/s   40.0 µs of processor time each",
        "this      15,000 plies/s         60.0 µs   2.00 of the echo's, 0.60 of its rate",
        "1f799d0    5,000 plies/s        160.0 µs   4.00 of the echo's, 0.25 of its rate; "
        "2.67 of this version's, 0.33 of its rate",
        "ratio 0.60",
    ]


def test_of_latencies_the_longest_of_all_runs_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    program = runpy.run_path(str(PROGRAM))
    run, contender = program["_Run"], program["_Contender"]
    echo = contender("echo", [], runs=[run(999, 20, 100, 200, 3_000, 30, 31), run(1_001, 20, 120, 220, 1_000, 30, 31)])
    this = contender(
        "this", [], runs=[run(999, 30, 200, 4_000, 9_000, 60, 61), run(999, 50, 300, 6_000, 7_000, 62, 66)]
    )
    program["_print_latencies"]([echo, this], Namespace(connections=64, rate=1_000.0, rounds=2, seconds=5.0))
    assert capsys.readouterr().out.splitlines() == [
        "64 connections, 1,000 plies/s asked, medians of 2 runs of 5 s, in turn",
        "         plies/s   µs each  of echo's    p50 ms    p99 ms   longest     MiB    most",
        "echo       1,000      20.0       1.00      0.11      0.21       3.0      30      31",
        "this         999      40.0       2.00      0.25      5.00       9.0      61      66",
    ]
