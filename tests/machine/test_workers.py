"""Work spread over processes: every result once, whatever happens to workers; none of them outlives its crew."""

from __future__ import annotations

import itertools
import multiprocessing
import multiprocessing.forkserver
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing.context import BaseContext
from operator import length_hint
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import worker_tasks
from machine.workers.local import CHUNK_DURATION_S, TASKS_PER_WORKER, R, T, WorkerPool, process_pool, spread
from protocol.errors import ArenaFault, UsageFault
from timeouts import WITHIN
from tournaments import ThreadPool

TESTS = Path(__file__).parents[1]
SCRIPT = """
import os, signal, sys, worker_tasks
from machine.workers.local import process_pool
try:
    with process_pool(2) as crew:
        for done in crew.run(worker_tasks.strike, [None, (%s, signal.%s), (os.getpid(), 0)]):
            pass
except KeyboardInterrupt:
    print("stopped")
"""


LOCKING = ("/machine/", "/concurrent/futures/", "/threading.py", "/contextlib.py")
"""Parts of the names of files: those of pools, and of the locks that they use."""


class DaemonThreads(ThreadPool):
    """Has each task done by a thread of its own, without which this process can end."""

    def __init__(self) -> None:
        super().__init__(1)
        self.threads: list[threading.Thread] = []

    def _submit(self, work: Callable[[T], R], task: T) -> Future[R]:
        future: Future[R] = Future()
        self.threads.append(threading.Thread(target=lambda: future.set_result(work(task)), daemon=True))
        self.threads[-1].start()
        return future


def interrupt_at(point: int) -> None:
    """Interrupt this thread as Ctrl-C does, so many calls and returns of `LOCKING` code from now.

    Code that runs when an object is freed is not meant, as Python drops an exception there.
    """
    left = iter(range(point))

    def count(frame: FrameType, event: str, argument: object) -> None:
        if any(part in frame.f_code.co_filename for part in LOCKING) and next(left, None) is None:
            sys.setprofile(None)
            signal.raise_signal(signal.SIGINT)

    sys.setprofile(count)


@pytest.fixture(scope="module")
def crew() -> Iterator[WorkerPool]:
    with process_pool(2) as crew:
        yield crew
    assert not multiprocessing.active_children()


@pytest.fixture(scope="module")
def forking() -> Iterator[BaseContext]:
    """Fork workers of a process that has imported what they need: to start each anew takes ten times as long."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["worker_tasks", "machine.workers.local"])
    yield context
    multiprocessing.forkserver._forkserver._stop()  # type: ignore[attr-defined]


@pytest.fixture
def forked(forking: BaseContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("machine.workers.local.get_context", lambda method: forking)


def test_every_task_has_its_result_once(crew: WorkerPool) -> None:
    results = list(crew.run(worker_tasks.square, range(100)))
    assert sorted(results) == [(number, number**2) for number in range(100)]


def test_every_item_of_spread_work_has_its_result_once(crew: WorkerPool) -> None:
    results = list(spread(crew, worker_tasks.squares, range(1000)))
    assert sorted(results) == [(number, number**2) for number in range(1000)]


def test_no_tasks_have_no_results(crew: WorkerPool) -> None:
    assert (list(crew.run(worker_tasks.square, [])), list(spread(crew, worker_tasks.squares, []))) == ([], [])


def test_only_a_few_tasks_are_taken_before_workers_need_them(crew: WorkerPool) -> None:
    left = iter(range(50))
    ahead = [50 - length_hint(left) - done for done, _ in enumerate(crew.run(worker_tasks.square, left))]
    assert max(ahead) == TASKS_PER_WORKER * crew.size


def test_chunks_grow_while_they_are_quick_and_shrink_at_the_end(crew: WorkerPool) -> None:
    lengths = [length for _, length in sorted(spread(crew, worker_tasks.lengths, [0.0] * 500))]
    assert (lengths[0], lengths[-1]) == (1, 1)
    assert max(lengths) > 20


def test_chunks_of_slow_items_stay_short(crew: WorkerPool) -> None:
    lengths = [length for _, length in spread(crew, worker_tasks.lengths, [CHUNK_DURATION_S / 2] * 12)]
    assert max(lengths) <= 2


def test_a_fault_of_the_work_arrives_as_it_is_and_the_crew_goes_on(crew: WorkerPool) -> None:
    with pytest.raises(ArenaFault, match=r"^three is refused$"):
        list(crew.run(worker_tasks.refuse, range(10)))
    assert list(crew.run(worker_tasks.square, [7])) == [(0, 49)]


def test_work_left_alone_is_ended(crew: WorkerPool, tmp_path: Path) -> None:
    os.mkfifo(gate := tmp_path / "gate")
    results = crew.run(worker_tasks.wait_for, [None, *[gate] * 10])
    assert next(results) == (0, None)
    results.close()
    assert list(crew.run(worker_tasks.square, [7])) == [(0, 49)]


@pytest.mark.usefixtures("forked")
def test_killed_workers_cost_no_result_and_none_is_worked_out_twice(tmp_path: Path) -> None:
    with process_pool(1) as crew:
        results = list(crew.run(worker_tasks.killed_twice, [(tmp_path, number) for number in range(20)]))
    times = [(tmp_path / str(number)).read_text().count("\n") for number in range(20)]
    assert sorted(results) == [(number, number) for number in range(20)]
    assert (times[:5], times[5]) == ([1] * 5, 3)


def test_a_worker_killed_between_two_runs_is_replaced(crew: WorkerPool) -> None:
    before = {pid for _, pid in crew.run(worker_tasks.own_process, range(10))}
    for worker in multiprocessing.active_children():
        worker.kill()
        worker.join()
    after = {pid for _, pid in crew.run(worker_tasks.own_process, range(10))}
    assert after
    assert not after & before


@pytest.mark.usefixtures("forked")
@pytest.mark.skipif(sys.version_info < (3, 11, 5), reason="a pool that is broken waits for ever (gh-94777)")
def test_a_worker_killed_while_another_is_started_costs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def start_too_late(pool: Any) -> None:
        monkeypatch.undo()
        for worker in multiprocessing.active_children():
            worker.kill()
        while sys.version_info < (3, 12) and not pool._call_queue._reader.closed:  # later ones see it after the start
            time.sleep(0.001)
        pool._spawn_process()

    with process_pool(2) as crew:
        assert len(list(crew.run(worker_tasks.own_process, range(3)))) == 3
        monkeypatch.setattr(ProcessPoolExecutor, "_adjust_process_count", start_too_late)
        assert len(list(crew.run(worker_tasks.own_process, range(10)))) == 10


@pytest.mark.usefixtures("forked")
def test_a_worker_killed_while_it_tells_its_result_costs_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("machine.workers.local.WORKER_CHECK_DELAY_S", 0.1)
    with process_pool(2) as crew:
        results = list(crew.run(worker_tasks.die_while_telling, [tmp_path / "first"] * 4))
    assert sorted(results) == [(number, "told") for number in range(4)]


@pytest.mark.usefixtures("forked")
def test_work_is_ended_while_it_tells_its_result(tmp_path: Path) -> None:
    os.mkfifo(gate := tmp_path / "gate")
    before = multiprocessing.active_children()
    with process_pool(1) as crew:
        results = crew.run(worker_tasks.halt_while_telling, [None, gate])
        assert next(results) == (0, None)
        with gate.open("wb"):
            results.close()
    assert set(multiprocessing.active_children()) <= set(before)


@pytest.mark.usefixtures("forked")
def test_work_that_kills_every_worker_is_given_up_in_one_line() -> None:
    before = multiprocessing.active_children()
    with process_pool(2) as crew, pytest.raises(ArenaFault) as caught:
        list(crew.run(worker_tasks.die, range(10)))
    assert str(caught.value) == (
        "workers ended 3 times in a row before they gave a result: did a bot end its process, or is the "
        "memory too small for 2? Try a lower --jobs"
    )
    assert set(multiprocessing.active_children()) <= set(before)


@pytest.mark.usefixtures("forked")
def test_one_task_that_kills_its_workers_is_found_out_among_many() -> None:
    results: list[tuple[int, int]] = []
    with process_pool(2) as crew, pytest.raises(ArenaFault, match=r"^workers ended 3 times in a row"):
        results.extend(crew.run(worker_tasks.die_at_three, range(10**6)))
    assert len(results) <= 3


def test_ctrl_c_stops_the_work_at_once_and_without_a_word_from_workers() -> None:
    out, err, code = run_script("-os.getpid()", "SIGINT")
    assert (out, err, code) == ("stopped\n", "", 0)


def test_ctrl_c_between_any_two_calls_of_a_run_leaves_no_lock_acquired() -> None:
    handler = signal.getsignal(signal.SIGINT)
    for point in itertools.count(1):
        pool = DaemonThreads()
        try:
            interrupt_at(point)
            assert list(pool.run(worker_tasks.own_process_after, [0.001])) == [(0, os.getpid())]
            sys.setprofile(None)
            break
        except KeyboardInterrupt:
            assert signal.getsignal(signal.SIGINT) is handler
            for thread in pool.threads:  # which acquires a lock of its future
                thread.join(WITHIN)
                assert not thread.is_alive()
    assert point > 100


def test_no_worker_hears_of_ctrl_c_from_its_start_on(crew: WorkerPool) -> None:
    heard = [heard for _, heard in crew.run(worker_tasks.hears_ctrl_c, range(10))]
    assert heard == [False] * 10


def test_workers_end_when_the_main_process_is_killed() -> None:
    out, _, code = run_script("os.getpid()", "SIGKILL")
    assert (out, code) == ("", -9)


@pytest.mark.usefixtures("forked")
def test_an_exception_does_not_wait_for_work_that_never_ends(tmp_path: Path) -> None:
    os.mkfifo(gate := tmp_path / "gate")
    before = multiprocessing.active_children()
    with pytest.raises(ZeroDivisionError), process_pool(2) as crew:
        sum(1 / number for number, _ in crew.run(worker_tasks.wait_for, [None, *[gate] * 10]))
    assert set(multiprocessing.active_children()) <= set(before)


@pytest.mark.parametrize("jobs", [0, -1])
def test_fewer_than_one_process_is_refused(jobs: int) -> None:
    with pytest.raises(UsageFault, match=rf"^jobs is {jobs}: it must be 1 or more$"), process_pool(jobs):
        pass


def run_script(who: str, sent: str) -> tuple[str, str, int]:
    """What a crew prints in whose second task a worker sends the signal, and its exit code.

    The output ends with the last of the workers, as they have it open too.
    """
    command = [sys.executable, "-c", SCRIPT % (who, sent)]
    environ = {**os.environ, "PYTHONPATH": str(TESTS)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ, start_new_session=True
    ) as script:
        out, err = script.communicate(timeout=WITHIN)
    return out, err, script.returncode
