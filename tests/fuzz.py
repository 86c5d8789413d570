"""Property tests with many more examples, from a random seed: `scripts/fuzz` runs it.

The ordinary run of the tests draws the same examples every time. What is found here is printed as an `@example` to
paste above its test, so that the ordinary run tries it from then on.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import secrets
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parent.parent
EXAMPLES_FACTOR = 20
"""How many times as many examples a test gets in a round as in the ordinary run."""
UNTIL = "FUZZ_UNTIL"
"""The environment variable that tells a round, on the clock of `time.monotonic`, when the time is up."""
SEED = "FUZZ_SEED"
_CALL = re.compile(r"^(?:Falsifying example|Failing test case): (\w+\(.*?^\))", re.DOTALL | re.MULTILINE)
_BLOB = re.compile(r"@reproduce_failure\(.*\)")


def main() -> None:
    options = argparse.ArgumentParser(prog="scripts/fuzz", description=__doc__)
    options.add_argument("--seed", type=int, help="of the first round; drawn if it is not given")
    options.add_argument("--minutes", type=float, default=10.0, help="after which no other test begins")
    options.add_argument("files", nargs="*", help="tests as pytest takes them; all property tests if none is given")
    given = options.parse_args()
    seed = secrets.randbelow(1_000_000_000) if given.seed is None else given.seed
    files = given.files or property_tests()
    until = time.monotonic() + 60 * given.minutes
    failed = False
    while time.monotonic() < until:
        print(f"scripts/fuzz: seed {seed}; repeat this round with --seed {seed}", flush=True)
        code = run_round(files, seed, until)
        if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            sys.exit(2)
        failed |= code == pytest.ExitCode.TESTS_FAILED
        seed += 1
    sys.exit(1 if failed else 0)


def property_tests() -> list[str]:
    """Return the files of tests that use Hypothesis."""
    found = sorted((ROOT / "tests").rglob("test_*.py"))
    return [str(file.relative_to(ROOT)) for file in found if "from hypothesis import" in file.read_text("utf-8")]


def run_round(files: list[str], seed: int, until: float) -> int:
    """Run every property test once, with examples by this seed, and return pytest's exit code."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "fuzz",
        "-p",
        "no:randomly",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:budget",
        "-o",
        "faulthandler_timeout=0",  # a round has as many examples of a test as there is time for
        "-m",
        "hypothesis",
    ]
    command += ["--hypothesis-profile=fuzz", f"--hypothesis-seed={seed}", "--tb=no", "--no-header", *files]
    paths = [str(ROOT / "tests"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    told = {UNTIL: str(until), SEED: str(seed), "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **told}, check=False).returncode


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Shuffle the tests, so that the time is not up at the same ones each round, and give them more examples."""
    random.Random(os.environ[SEED]).shuffle(items)
    functions = {getattr(item.obj, "__func__", item.obj) for item in items if isinstance(item, pytest.Function)}
    for function in functions:
        own = getattr(function, "_hypothesis_internal_use_settings", None)
        if own is not None:
            more = settings(own, max_examples=EXAMPLES_FACTOR * own.max_examples)
            function._hypothesis_internal_use_settings = more


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    if time.monotonic() > float(os.environ[UNTIL]):
        pytest.skip("the time is up")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if call.when == "call" and report.failed and call.excinfo is not None:
        found = found_in(call.excinfo.value, set(getattr(item, "funcargs", ())))
        print(f"\n\n{item.nodeid}", *found, sep="\n", file=sys.__stdout__, flush=True)
    return report


def found_in(failure: BaseException, others: set[str]) -> Iterator[str]:
    """Yield what to paste above a test, failure by failure, each below its error; `others` are arguments of the test
    that pytest gives it.
    """
    if isinstance(failure, BaseExceptionGroup):
        for one in failure.exceptions:
            yield from found_in(one, others)
        return
    notes = "\n".join(getattr(failure, "__notes__", ()))
    yield f"# {type(failure).__name__}: {failure}".splitlines()[0]
    if example := example_of(notes, others):
        yield example
        return
    yield from (f"# {line}" for line in notes.splitlines() if line and "@reproduce_failure" not in line)
    if blob := _BLOB.search(notes):
        yield blob[0]


def example_of(notes: str, others: set[str]) -> str | None:
    """Return the decorator for what Hypothesis notes of a failure.

    Return None where no arguments say it: of a test that draws as it goes, of a state machine, or of values whose text
    is no Python.
    """
    called = _CALL.search(notes)
    if called is None or "data(...)" in called[1]:
        return None
    try:
        call = ast.parse(called[1], mode="eval").body
    except SyntaxError:
        return None
    assert isinstance(call, ast.Call)
    return f"@example({', '.join(ast.unparse(word) for word in call.keywords if word.arg not in others)})"


if __name__ == "__main__":
    main()
