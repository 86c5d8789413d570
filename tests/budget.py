"""Counts what tests cost and compares it with tests/budget.toml: a run over its limits is red.

Programs, databases and seconds slept are counted. Processor time is told in units, an eighth of what it takes to start
Python on the same machine at the same time, so that a slow or busy machine does not make a run red.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import statistics
import subprocess
import sys
import time
import tomllib
from collections import Counter, deque
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

import zygote

BUDGET_FILE = Path(__file__).with_name("budget.toml")
TEST_DATABASE_EVENT = "bot_arena.test_database"
"""Audit event of helpers that open a database on a server."""
START_INTERVAL_S = 8.0
"""Seconds of processor time after which a process times a start of Python again."""
STARTS_PER_UNIT = 3
"""The unit follows from the median of so many starts of Python, the latest."""
UNITS_OF_A_START = 8
"""The number of units in a start of Python."""
COSTLIEST_ROWS = 10
_COUNTER_NAMES = {
    "subprocess.Popen": "programs",
    "os.posix_spawn": "programs",
    "os.fork": "programs",
    "sqlite3.connect": "databases",
    TEST_DATABASE_EVENT: "databases",
}
_TESTS_FOLDER = str(Path(__file__).parent)
_CHILDREN_BEFORE = resource.getrusage(resource.RUSAGE_CHILDREN)
"""What was spent before: scripts/test has become this process after it had installed the tools."""


_meters: list[CostMeter] = []
"""The meter of this process, where it has one."""


@contextlib.contextmanager
def shared_cost() -> Iterator[None]:
    """Take the cost of what happens meanwhile off the test that runs: others will use the outcome too."""
    with contextlib.ExitStack() as stack:
        for meter in _meters:
            stack.enter_context(meter.sharing())
        yield


class CostMeter:
    """Runs in each process that runs tests, and adds to the last report of a test what it has cost."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._starts_s = deque((_time_start() for _ in range(STARTS_PER_UNIT)), maxlen=STARTS_PER_UNIT)
        self._timed_at_s = _processor_time()
        self._shared_s = 0.0
        self._is_sharing = False
        self._began_s = 0.0
        sys.addaudithook(self._count)
        _meters.append(self)
        _count_sleeps(self._counts)
        self._compilation: _Compilation | None = None

    def _count(self, event: str, _arguments: tuple[Any, ...]) -> None:
        if name := _COUNTER_NAMES.get(event):
            if event == "os.posix_spawn" and sys._getframe(1).f_code.co_filename == subprocess.__file__:
                return  # `Popen` of Python 3.13 starts some programs so, and is counted itself
            self._counts[name] += 1

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Generator[None, None, None]:
        if _processor_time() > self._timed_at_s + START_INTERVAL_S:
            self._starts_s.append(_time_start())
            self._timed_at_s = _processor_time()
        if self._compilation is None and "numba.core.event" in sys.modules:
            self._compilation = _Compilation(self)
        self._counts.clear()
        self._counts["programs"] = -zygote.programs_forked()
        self._shared_s = 0.0
        self._began_s = _processor_time()
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        """Take what shared fixtures cost off the tests that happen to be the first and the last to use them."""
        if fixturedef.scope == "function":
            return (yield)
        stack = contextlib.ExitStack()
        fixturedef.addfinalizer(stack.close)  # runs after the fixture's own finalizers, and the next one before them
        with self.sharing():
            result = yield
        fixturedef.addfinalizer(lambda: stack.enter_context(self.sharing()))
        return result

    @contextlib.contextmanager
    def sharing(self) -> Iterator[None]:
        """Take the cost of what happens meanwhile off the test that runs."""
        if self._is_sharing:
            yield
            return
        self._is_sharing = True
        began, counts = _processor_time(), self._counts.copy()
        try:
            yield
        finally:
            self._is_sharing = False
            self._shared_s += _processor_time() - began
            self._counts.clear()
            self._counts.update(counts)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        report: Any = yield
        if call.when == "teardown":
            took = _processor_time() - self._began_s - self._shared_s
            self._counts["programs"] += zygote.programs_forked()
            unit_s = statistics.median(self._starts_s) / UNITS_OF_A_START
            report.cost = {**self._counts, "units": round(took / unit_s, 2)}
            report.processor_s = took
            report.limits = "test_in_ci" if _is_marked(item) else "test"
        return report


class _Compilation:
    """Takes the time in which numba compiles off the test that happens to be the first to call a function."""

    def __init__(self, meter: CostMeter) -> None:
        from numba.core import event

        self._meter = meter
        self._stacks: list[contextlib.ExitStack] = []
        event.Listener.register(_Compilation)  # this module is imported where numba is not
        event.register("numba:compile", self)  # type: ignore[no-untyped-call]

    def notify(self, event: Any) -> None:
        """Begin or end: the compilation of one function contains those of the functions that it calls."""
        if event.is_start:
            self._stacks.append(contextlib.ExitStack())
            if len(self._stacks) == 1:
                self._stacks[0].enter_context(self._meter.sharing())
        else:
            self._stacks.pop().close()


class Budget:
    """Adds up the costs in the process that reports, and prints and judges them at the end."""

    def __init__(self, *, whole: bool, file: Path = BUDGET_FILE) -> None:
        """Take the limits from a file. A `whole` run is one of all tests, whose sums have limits too."""
        limits = tomllib.loads(file.read_text())
        self._test_limits: dict[str, dict[str, float]] = {name: limits[name] for name in ("test", "test_in_ci")}
        self._exceptions: dict[str, dict[str, Any]] = limits["exceptions"]
        time_of_run = "_at_night" if os.environ.get("NIGHTLY") else "_in_ci" if os.environ.get("CI") else ""
        if time_of_run:  # tests take more examples, and coverage traces them
            for test_limits in self._test_limits.values():
                test_limits["units"] = limits["test" + time_of_run]["units"]
        self._run_limits: dict[str, float] = limits["run" + time_of_run] if whole else {}
        self._sums: Counter[str] = Counter()
        self._costs: dict[str, dict[str, float]] = {}
        self._limits_of: dict[str, str] = {}
        self._tests_s = 0.0
        """The processor time of the tests themselves, in seconds."""
        self._mean_unit_s = 0.0
        self._excesses: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if cost := getattr(report, "cost", None):
            self._costs[report.nodeid] = cost
            self._limits_of[report.nodeid] = report.limits
            self._sums.update(cost)
            self._tests_s += report.processor_s

    def exceeds(self, report: Any) -> bool:
        """Tell whether a test took more processor time than it may, by its last report."""
        cost = getattr(report, "cost", None)
        return cost is not None and cost["units"] > self._limit(report.nodeid, report.limits, "units")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._sums["units"]:
            self._mean_unit_s = self._tests_s / self._sums["units"]
            self._sums["units"] = round(_processor_time() / self._mean_unit_s)  # shared servers and the collection too
        self._excesses = [*self._excesses_of_run(), *self._excesses_of_tests()]
        if self._excesses and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _excesses_of_run(self) -> Iterator[str]:
        for name, limit in self._run_limits.items():
            if self._sums[name] > limit:
                yield f"the whole run: {self._sums[name]:.0f} {name}, limit {limit}"

    def _excesses_of_tests(self) -> Iterator[str]:
        for test, cost in self._costs.items():
            for name in self._test_limits[self._limits_of[test]]:
                limit = self._limit(test, self._limits_of[test], name)
                if cost.get(name, 0) > limit:
                    yield f"{test}: {cost[name]:.0f} {name}, limit {limit}"

    def _limit(self, test: str, limits: str, name: str) -> float:
        exception: dict[str, float] = self._exceptions.get(test.partition("[")[0], {})
        return exception.get(name, self._test_limits[limits][name])

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self._costs:
            return
        terminalreporter.section("what the tests cost")
        for name in self._test_limits["test"]:
            limit = f" of {self._run_limits[name]}" if name in self._run_limits else ""
            terminalreporter.line(f"{self._sums[name]:9.0f}{limit} {name}")
        terminalreporter.line(
            f"a unit is {1000 * self._mean_unit_s:.1f} ms of processor time here; {_processor_time():.0f} s in all"
        )
        costliest = sorted(self._costs, key=lambda test: -self._costs[test]["units"])
        for test in costliest[:COSTLIEST_ROWS]:
            terminalreporter.line(f"{self._costs[test]['units']:9.0f} units {test}")
        for line in self._excesses:
            terminalreporter.line(f"over the budget of tests/budget.toml: {line}", red=True)

    def pytest_unconfigure(self) -> None:
        """Say again, below the sum of passed tests, that the run is red."""
        if self._excesses:
            print(f"red: over the budget in {len(self._excesses)} of its limits, see above")


def _is_marked(item: pytest.Item) -> bool:
    """Tell whether a test only runs in CI or at night, where it may take longer."""
    return any(item.get_closest_marker(mark) for mark in ("ci", "nightly"))


def _processor_time() -> float:
    """Return the seconds of this process and of the programs that it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    waited_for = children.ru_utime + children.ru_stime - _CHILDREN_BEFORE.ru_utime - _CHILDREN_BEFORE.ru_stime
    return time.process_time() + waited_for + zygote.cpu_seconds()


def _time_start() -> float:
    """Return the seconds of processor time in which Python starts and imports some of its modules. Like most tests, it
    needs the kernel and more memory than the caches hold, which other programs on the machine make slow.
    """
    modules = "import asyncio, dataclasses, decimal, email.message, json, logging, typing"
    child = os.posix_spawn(sys.executable, [sys.executable, "-I", "-S", "-c", modules], os.environ)
    _, _, usage = os.wait4(child, 0)
    return usage.ru_utime + usage.ru_stime


def _count_sleeps(counts: Counter[str]) -> None:
    """Count what tests sleep. Of `asyncio.sleep` only real time counts: virtual time costs nobody any."""
    sleep, sleep_async = time.sleep, asyncio.sleep

    def counted(seconds: Any) -> None:
        if _is_called_by_test():
            counts["slept_ms"] += round(1000 * seconds)
        sleep(seconds)

    async def counted_async(delay: float, result: Any) -> Any:
        began = time.monotonic()
        try:
            return await sleep_async(delay, result)
        finally:
            counts["slept_ms"] += round(1000 * min(delay, time.monotonic() - began))

    def dispatch(delay: float, result: Any = None) -> Any:
        return (counted_async if _is_called_by_test() else sleep_async)(delay, result)

    time.sleep = counted
    asyncio.sleep = dispatch


def _is_called_by_test() -> bool:
    """Tell whether the caller of the caller is a test or one of its helpers."""
    file = sys._getframe(2).f_code.co_filename
    return file.startswith(_TESTS_FOLDER) or Path(file).name.startswith("test_")
