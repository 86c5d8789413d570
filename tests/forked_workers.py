"""`pytest --workers 3`: tests run in worker processes that are forked after one collection, one file at a time.

Collecting the tests imports the whole project, which takes seconds of processor time. Forked workers inherit it, so it
is paid once. The files keep the order of the collection, which pytest-randomly draws from its seed.
"""

from __future__ import annotations

import atexit
import gc
import os
import pickle
import selectors
import signal
import socket
import struct
import sys
import time
import traceback
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import coverage
import pytest

import process_tree
from budget import Budget
from machine.interrupts import interrupts_resent

INTERRUPT_TIMEOUT_S = 10.0
"""Workers get this long to run the teardown of their fixtures after Ctrl-C."""
REAP_INTERVAL_S = 0.2
"""Processes that tests left behind are collected so often, not with each report: to find them takes a while."""
SELF_END_TIMEOUT_S = 3.0
"""What was killed in the last test is gone within this time, also on a busy machine."""
GARBAGE_THRESHOLDS = (10_000, 10, 20)
"""With Python's own, garbage is collected three times as often, which takes a hundredth of the processor time more."""
BROWSER_FOLDER = "browser"
BROWSER_WORKERS = 2
"""Files of the browser's folder go to so many workers alone: each of them starts a Chromium, a server and a library."""
_LENGTH = struct.Struct("I")


@dataclass
class Worker:
    """A forked process, what it runs now, and the files that it has begun so far."""

    pid: int
    channel: socket.socket
    number: int
    remaining: list[pytest.Item] = field(default_factory=list)
    """Tests of its current file whose last report has not arrived."""
    files: list[str] = field(default_factory=list)


class ForkedWorkers:
    """Replaces pytest's loop over the tests: hands files to workers and passes on what they report."""

    def __init__(self, config: pytest.Config, count: int, budget: Budget) -> None:
        self._config = config
        self._count = count
        self._budget = budget
        self._files: deque[list[pytest.Item]] = deque()
        self._workers: dict[int, Worker] = {}
        self._began = time.monotonic()
        self._failed_files: dict[str, list[str]] = {}
        """For each file with a failure, the files that its worker had run until then."""
        self._ended_processes: list[str] = []
        """Command lines of processes that outlived the tests."""
        self._costly: dict[str, pytest.TestReport] = {}
        """For each test that took too much processor time and runs a second time, the last report of the first."""
        process_tree.adopt_orphans()

    @pytest.hookimpl(tryfirst=True)
    @interrupts_resent()  # Hypothesis measures collections by a callback, in which Ctrl-C is dropped
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if session.testsfailed or self._config.option.collectonly:
            return None  # pytest's own loop reports what is wrong
        self._files = deque(_group_by_file(session.items))
        _read_constants()
        gc.collect()
        gc.freeze()  # a worker's collections need not look at what all share
        gc.set_threshold(*GARBAGE_THRESHOLDS)
        sys.stdout.flush()
        with selectors.DefaultSelector() as selector:
            for number in range(min(self._count, len(self._files))):
                self._start_worker(session, number, selector)
            try:
                reaped = time.monotonic()
                while self._workers:
                    for key, _ in selector.select(timeout=1.0):
                        self._receive(session, key.data, selector)
                    if time.monotonic() > reaped + REAP_INTERVAL_S:
                        process_tree.reap_orphans(self._workers)
                        reaped = time.monotonic()
                    if session.shouldfail or session.shouldstop:
                        raise session.Failed(session.shouldfail or session.shouldstop)
            finally:
                self._interrupt_workers()
        return True

    def _start_worker(self, session: pytest.Session, number: int, selector: selectors.BaseSelector) -> None:
        ours, theirs = socket.socketpair()
        if pid := os.fork():
            theirs.close()
            worker = Worker(pid, ours, number)
            self._workers[pid] = worker
            selector.register(ours, selectors.EVENT_READ, worker)
            self._assign_file(worker)
            return
        ours.close()
        for other in self._workers.values():
            other.channel.close()
        process_tree.die_with_parent()
        _run_worker(self, session, number, theirs)

    def _assign_file(self, worker: Worker) -> None:
        """Tell a worker which tests come next, or that none do."""
        worker.remaining = self._next_file(worker)
        if worker.remaining:
            worker.files.append(str(worker.remaining[0].path.relative_to(self._config.rootpath)))
        _send(worker.channel, [item.nodeid for item in worker.remaining])

    def _next_file(self, worker: Worker) -> list[pytest.Item]:
        """Take the first file that this worker may run; none where there is no such file."""
        for position, file in enumerate(self._files):
            if worker.number < BROWSER_WORKERS or file[0].path.parent.name != BROWSER_FOLDER:
                del self._files[position]
                return file
        return []

    def _receive(self, session: pytest.Session, worker: Worker, selector: selectors.BaseSelector) -> None:
        message = _receive(worker.channel)
        if message is None:
            self._worker_ended(session, worker, selector)
        elif message == "file done":
            self._assign_file(worker)
        else:
            report = message
            if isinstance(message, dict):
                report = self._config.hook.pytest_report_from_serializable(config=self._config, data=message)
            if report.when == "teardown":
                item, *worker.remaining = worker.remaining
                if report.nodeid not in self._costly and self._budget.exceeds(report):
                    self._costly[report.nodeid] = report
                    self._files.append([item])
                    return
            elif report.nodeid in self._costly and not report.failed:
                return  # it was passed on when the test ran first
            self._pass_on(worker, self._cheaper(report))

    def _cheaper(self, report: Any) -> Any:
        """Return the last report of a test with what it cost in the cheaper of two runs.

        What another test of the worker left behind may end in the first and is counted there.
        """
        first: Any = self._costly.get(report.nodeid)
        if first and report.when == "teardown" and first.cost["units"] < report.cost["units"]:
            report.cost = first.cost
        return report

    def _worker_ended(self, session: pytest.Session, worker: Worker, selector: selectors.BaseSelector) -> None:
        """Report the test in which a worker died as failed, and have another worker run the rest of its file."""
        selector.unregister(worker.channel)
        worker.channel.close()
        del self._workers[worker.pid]
        _, status = os.waitpid(worker.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        if worker.remaining:
            item, *rest = worker.remaining
            self._fail(worker, item.nodeid, item.location, f"the worker process ended in this test: exit code {code}")
            if rest:
                self._files.appendleft(rest)
            self._start_worker(session, worker.number, selector)
        elif code:
            name = f"teardown of worker {worker.number}"
            self._fail(worker, name, (name, 0, name), f"its exit code is {code}; it printed the reason")

    def _fail(self, worker: Worker, name: str, location: tuple[str, int | None, str], text: str) -> None:
        self._pass_on(worker, pytest.TestReport(name, location, {}, "failed", text, "call"))
        self._pass_on(worker, pytest.TestReport(name, location, {}, "passed", None, "teardown"))  # counts it as run

    def _pass_on(self, worker: Worker, report: pytest.TestReport) -> None:
        self._config.hook.pytest_runtest_logreport(report=report)
        if report.failed:
            self._failed_files.setdefault(worker.files[-1], worker.files.copy())
            self._show_failure(report)

    def _show_failure(self, report: pytest.TestReport) -> None:
        """Print a failure when it happens, so that nobody waits for the end of the run."""
        terminal = self._config.pluginmanager.getplugin("terminalreporter")
        if terminal is None:
            return
        minutes, seconds = divmod(round(time.monotonic() - self._began), 60)
        if terminal._tw.width_of_current_line:
            terminal._tw.line()
        terminal.section(f"{report.nodeid} ({report.when}, after {minutes} min {seconds} s)", sep="_", red=True)
        report.toterminal(terminal._tw)
        terminal.flush()  # a pipe would hold it back

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        is_green = session.exitstatus == pytest.ExitCode.OK
        self._ended_processes = process_tree.end_descendants(SELF_END_TIMEOUT_S if is_green else 0.0)
        if self._ended_processes and is_green:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for command in self._ended_processes:
            terminalreporter.line(f"still running after the tests, and ended: {command}", red=True)
        if not self._failed_files:
            return
        seed = self._config.getoption("randomly_seed", None)
        command = f"{os.environ.get('TEST_COMMAND', 'scripts/test')} --seed {seed}"
        terminalreporter.section("to repeat")
        for file, before in self._failed_files.items():
            terminalreporter.line(f"{command} {file}")
            if len(before) > 1:
                terminalreporter.line("  with all that its worker had run before it, in the same order:")
                terminalreporter.line(f"  {command} {' '.join(before)}")

    def _interrupt_workers(self) -> None:
        """End the workers that still run: at Ctrl-C, at the first failure of `-x`, or after an error here.

        A test may have caught the interrupt. Its worker ends all the same when it reports to a channel that is closed.
        """
        for worker in self._workers.values():
            worker.channel.close()
        for sent in (signal.SIGINT, signal.SIGKILL):
            for pid in self._workers:
                process_tree.send_signal(pid, sent)
            deadline = time.monotonic() + INTERRUPT_TIMEOUT_S
            while self._workers and time.monotonic() < deadline:
                for pid in process_tree.reap_ended(list(self._workers)):
                    del self._workers[pid]
                process_tree.wait_briefly()


def _read_constants() -> None:
    """Have Hypothesis, where tests use it, find the constants of all modules and the kinds of characters.

    Each worker would do that when it first draws: traced for coverage, and from nothing, for seconds.
    """
    if "hypothesis" not in sys.modules:
        return
    from hypothesis import given, settings
    from hypothesis import strategies as st

    @settings(max_examples=10, database=None, deadline=None, derandomize=True)
    @given(st.lists(st.integers(), min_size=50, max_size=50), st.text())
    def draw_much(_numbers: list[int], _text: str) -> None:
        """Some of so much is taken from constants."""

    tracer = sys.gettrace()
    sys.settrace(None)
    try:
        draw_much()
    finally:
        sys.settrace(tracer)


def _run_worker(plugin: ForkedWorkers, session: pytest.Session, number: int, channel: socket.socket) -> NoReturn:
    """Run the files that the main process names, until it names none; then leave without its exit handlers."""
    status = 1
    measurement = coverage.Coverage.current()
    is_measuring, left = measurement is not None, None
    try:
        config = session.config
        plugins = config.pluginmanager
        _capture_apart(plugins.getplugin("capturemanager"))
        plugins.unregister(plugins.getplugin("terminalreporter"))
        plugins.unregister(plugin)
        plugins.register(_Reporter(config, channel))
        _use_own_folder(config, number)
        items = {item.nodeid: item for item in session.items}
        while names := _receive(channel):
            file = [items[name] for name in names]
            # Between files, as servers of fixtures would be traced too, and as a thread that starts while the trace
            # function is replaced fails.
            if measurement and is_measuring == _is_unmeasured(file):
                if is_measuring:
                    measurement.stop()
                    left = sys.gettrace()  # pytest-cov stops only one of the tracers that it started
                    sys.settrace(None)
                else:
                    sys.settrace(left)
                    measurement.start()
                is_measuring = not is_measuring
            for item, following in zip(file, [*file[1:], session], strict=True):  # `session` keeps its fixtures
                config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            _send(channel, "file done")
        session._setupstate.teardown_exact(None)
        status = 0
    except (KeyboardInterrupt, BrokenPipeError, ConnectionResetError):
        session._setupstate.teardown_exact(None)
    except BaseException:
        traceback.print_exc(file=sys.__stderr__)
    finally:
        if measurement:
            measurement.stop()
            measurement.save()
        atexit._run_exitfuncs()
        os._exit(status)


def _is_unmeasured(file: list[pytest.Item]) -> bool:
    return all(item.get_closest_marker("untraced") for item in file)


def _capture_apart(capture: Any) -> None:
    """Capture output in files of this process. The inherited ones stay open: imported modules may hold them."""
    capture._global_capturing = None
    capture.start_global_capturing()


def _use_own_folder(config: pytest.Config, number: int) -> None:
    factory = config._tmp_path_factory  # type: ignore[attr-defined]
    factory._basetemp = factory.getbasetemp() / f"worker{number}"
    Path(factory._basetemp).mkdir(exist_ok=True)


class _Reporter:
    """Sends the reports of a worker to the main process."""

    def __init__(self, config: pytest.Config, channel: socket.socket) -> None:
        self._config = config
        self._channel = channel
        self._sends_all = config.getoption("durations", None) is not None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Send a report. That a setup has passed tells the main process nothing but how long it took."""
        if type(report) is not pytest.TestReport or report.longrepr is not None:
            _send(self._channel, self._config.hook.pytest_report_to_serializable(config=self._config, report=report))
        elif report.when != "setup" or self._sends_all:
            _send(self._channel, report)  # without what failed it can be pickled as it is


def _group_by_file(items: Sequence[pytest.Item]) -> list[list[pytest.Item]]:
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    return list(files.values())


def _send(channel: socket.socket, message: object) -> None:
    packed = pickle.dumps(message)
    channel.sendall(_LENGTH.pack(len(packed)) + packed)


def _receive(channel: socket.socket) -> Any:
    """Return the next message, or None where the other side has closed the channel."""
    head = _read_exactly(channel, _LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    return pickle.loads(_read_exactly(channel, _LENGTH.unpack(head)[0]))


def _read_exactly(channel: socket.socket, size: int) -> bytes:
    """Return so many bytes, or fewer where the other side has closed the channel. (`MSG_WAITALL` returns fewer also if
    this process was suspended meanwhile.)
    """
    data = b""
    while len(data) < size and (part := channel.recv(size - len(data))):
        data += part
    return data
