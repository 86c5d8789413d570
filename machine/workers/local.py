"""The interface of worker pools, built on `concurrent.futures.Executor`, and a pool of local processes.

`with process_pool(2) as pool: …` makes a pool; the caller passes it a function and its tasks. `cluster.py` has another
pool.
"""

from __future__ import annotations

import math
import os
import signal
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

from machine.interrupts import interrupts_deferred
from protocol.errors import ArenaFault, UsageFault

T = TypeVar("T")
R = TypeVar("R")

TASKS_PER_WORKER = 3
"""Number of tasks assigned to each worker: one is running, the rest are queued."""
MAX_LOSSES_IN_A_ROW = 3
"""Number of times in a row that workers are lost without a result, after which the pool gives up."""
CHUNK_DURATION_S = 0.3
"""Target duration in seconds of a chunk, which is what a worker processes in one task. It is long compared with the
transfer of a chunk, and short compared with all the work.
"""
TERMINATE_TIMEOUT_S = 6.0
"""Seconds within which worker processes must end after SIGTERM."""
MAX_CHUNK_GROWTH = 8
"""Maximum ratio of the number of items in a new chunk to that in the last completed chunk."""
WORKER_CHECK_DELAY_S = 5.0
"""Seconds without a result after which the pool checks that there are workers."""


class WorkerPool(ABC):
    """A pool of workers that exist until the end of the `with` block that made them. It allows one `run` at a time."""

    size: int
    """The number of tasks that run at the same time."""

    def __init__(self) -> None:
        self._completion = threading.Lock()
        """Released by each task that completes, so that the pool can wait for the next one by acquiring it. Unlike a
        wait of `concurrent.futures`, this may be interrupted at any time."""
        self._completion.acquire()

    def run(self, work: Callable[[T], R], tasks: Iterable[T]) -> Iterator[tuple[int, R]]:
        """Yield each task's number (from 0) and its result, in the order of completion.

        Tasks are taken from `tasks` in order, shortly before workers need them. Workers must be able to import `work`.
        Raise the exceptions that `work` raises. Raise `ArenaFault` if the workers are lost and cannot be replaced.
        """
        waiting = enumerate(tasks)
        flying: dict[Future[R], tuple[int, T]] = {}
        again: list[tuple[int, T]] = []
        suspects: set[int] = set()
        losses = 0
        try:
            while True:
                # Lost tasks are retried alone, so that one which kills its worker is soon found.
                due = again if suspects else islice(waiting, TASKS_PER_WORKER * self.size - len(flying))
                flying.update((self._try_submit(work, task), (number, task)) for number, task in due)
                if not flying:
                    return
                again = []
                for future in self._completed(flying):
                    number, task = flying.pop(future)
                    if _is_lost(future):
                        again.append((number, task))
                        continue
                    losses = 0
                    suspects.discard(number)
                    yield number, self._result(future)
                if again:
                    losses += 1
                    if losses == MAX_LOSSES_IN_A_ROW:
                        raise ArenaFault(
                            f"workers ended {MAX_LOSSES_IN_A_ROW} times in a row before they gave a result: did "
                            f"a bot end its process, or is the memory too small for {self.size}? Try a lower --jobs"
                        )
                    again.sort()
                    suspects.update(number for number, _ in again)
        finally:
            if flying:
                self._stop()

    def start(self, work: Callable[[], R]) -> Future[R]:
        """Start a single task, beside those of `run`. Raise `ArenaFault` if no worker can be started.

        The future raises `BrokenExecutor` if the worker is lost.
        """
        try:
            return self._submit(_call, work)
        except BrokenExecutor as error:
            raise ArenaFault("a worker was lost, and others can't be started") from error

    @interrupts_deferred()
    def _try_submit(self, work: Callable[[T], R], task: T) -> Future[R]:
        try:
            return self._watch(self._submit(work, task))
        except BrokenExecutor as error:
            lost: Future[R] = Future()
            lost.set_exception(error)
            return lost

    def _watch(self, future: Future[R]) -> Future[R]:
        """Return the future, whose completion now ends the waiting of `_completed`."""
        future.add_done_callback(self._tell_completion)
        return future

    def _tell_completion(self, future: Future[Any]) -> None:
        with suppress(RuntimeError):  # another completion has released the lock
            self._completion.release()

    def _completed(self, in_flight: Collection[Future[R]]) -> Collection[Future[R]]:
        """Wait until some of the futures are completed, and return those. If workers were lost, return all futures."""
        while not (done := _done(in_flight)):
            if not self._completion.acquire(timeout=WORKER_CHECK_DELAY_S):
                self._check_workers()
        if any(_is_lost(future) for future in done):
            self._stop()
            done = _done(in_flight)
        return done

    def _result(self, future: Future[R]) -> R:
        return future.result()

    @abstractmethod
    def broadcast(self, work: Callable[[], object]) -> None:
        """Run `work` in every worker process of a cluster, because these processes outlive the pool. Do nothing in a
        pool of local processes, which end with it.
        """

    @abstractmethod
    def _submit(self, work: Callable[[T], R], task: T) -> Future[R]:
        """Submit a task. Raise `BrokenExecutor` if the workers are lost, and `ArenaFault` if none can be started."""

    @abstractmethod
    def _check_workers(self) -> None:
        """Check that there still are workers, after `WORKER_CHECK_DELAY_S` without a result. Raise `ArenaFault` if
        there are no workers and no new ones come.
        """

    @abstractmethod
    def _stop(self) -> None:
        """Cancel all tasks. The next task starts workers again."""


class _ProcessPool(WorkerPool):
    def __init__(self, jobs: int) -> None:
        super().__init__()
        self.size = jobs
        self._pool: ProcessPoolExecutor | None = None

    def broadcast(self, work: Callable[[], object]) -> None:
        """Do nothing. A broadcast is only for workers that outlive the pool, and local processes end with it."""

    def _submit(self, work: Callable[[T], R], task: T) -> Future[R]:
        try:
            if self._pool is None:
                _start_resource_tracker()
                self._pool = ProcessPoolExecutor(self.size, get_context("spawn"), _set_up_worker)
            with _signals_blocked():
                return self._pool.submit(work, task)
        except (OSError, ValueError) as error:  # `ValueError` for more processes than Windows can wait for
            if self._pool is not None and self._pool._broken:
                raise BrokenExecutor("its workers were lost as a further one was about to start") from error
            raise ArenaFault(f"cannot start {self.size} worker processes: {error}; try a lower --jobs") from error

    def _check_workers(self) -> None:
        """Stop the pool if a worker has ended. The executor does not notice a worker that dies while it sends a result,
        and would wait for ever.
        """
        if any(worker.exitcode is not None for worker in self._workers()):
            self._stop()

    def _workers(self) -> list[BaseProcess]:
        return list(((self._pool and self._pool._processes) or {}).values())

    @interrupts_deferred()
    def _stop(self) -> None:
        if self._pool is not None:
            # The executor itself cancels futures: a broken one fails on futures that others cancelled.
            workers = self._workers()
            for worker in workers:
                worker.terminate()
            patient_until = time.monotonic() + TERMINATE_TIMEOUT_S
            for worker in workers:
                worker.join(max(0.0, patient_until - time.monotonic()))
                worker.kill()
            # With no writer left, the executor reads a truncated result to its end instead of waiting for the rest.
            self._pool._result_queue._writer.close()  # type: ignore[attr-defined]
            self._pool.shutdown(cancel_futures=True)
            self._pool = None


@contextmanager
def process_pool(jobs: int) -> Iterator[WorkerPool]:
    """Yield a pool of `jobs` processes of this machine. They start with the first tasks, and end with the block or with
    this process.

    A killed worker costs time, but no results. Raise `UsageFault` if `jobs` is below 1.
    """
    if jobs < 1:
        raise UsageFault(f"jobs is {jobs}: it must be 1 or more")
    crew = _ProcessPool(jobs)
    try:
        yield crew
    finally:
        crew._stop()


def spread(pool: WorkerPool, work: Callable[[Sequence[T]], Sequence[R]], items: Sequence[T]) -> Iterator[tuple[int, R]]:
    """Yield each item's number (from 0) and its result, in the order of completion. The tasks are the chunks of
    `spread_chunks`.
    """
    for start, results in spread_chunks(pool, work, items):
        yield from enumerate(results, start)


def spread_chunks(
    pool: WorkerPool, work: Callable[[Sequence[T]], Sequence[R]], items: Sequence[T], max_chunk_items: int | None = None
) -> Iterator[tuple[int, Sequence[R]]]:
    """Yield the results of all items in chunks, in the order of the chunks' completion. Each chunk comes with the
    number (from 0) of its first item.

    `work` returns a result for each item of a chunk. Chunks grow to about `CHUNK_DURATION_S`, or to `max_chunk_items`
    items; near the end they shrink, so that all workers finish together. Raise the exceptions of `WorkerPool.run`.
    """
    starts: list[int] = []
    length = 1

    def chunks() -> Iterator[Sequence[T]]:
        at = 0
        while at < len(items):
            share = math.ceil((len(items) - at) / (2 * pool.size))
            chunk = items[at : at + min(length, share, max_chunk_items or length)]
            starts.append(at)
            at += len(chunk)
            yield chunk

    for number, (seconds, results) in pool.run(partial(_run_timed, work), chunks()):
        length = max(1, min(MAX_CHUNK_GROWTH * len(results), int(len(results) * CHUNK_DURATION_S / max(seconds, 1e-9))))
        yield starts[number], results


def _run_timed(work: Callable[[T], R], task: T) -> tuple[float, R]:
    begin = time.perf_counter()
    result = work(task)
    return time.perf_counter() - begin, result


def _call(work: Callable[[], R]) -> R:
    return work()


@interrupts_deferred()
def _done(futures: Collection[Future[R]]) -> list[Future[R]]:
    return [future for future in futures if future.done()]


def _is_lost(future: Future[R]) -> bool:
    return not future.cancelled() and isinstance(future.exception(), BrokenExecutor)


def _set_up_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _start_resource_tracker() -> None:
    """Start multiprocessing's resource tracker so that it prints no warnings if this process is killed."""
    if sys.platform != "win32":
        sys.warnoptions.append("ignore::UserWarning:multiprocessing.resource_tracker")
        try:
            resource_tracker.ensure_running()
        finally:
            sys.warnoptions.pop()


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Block SIGINT and SIGTERM while worker processes start, until these have set up their signal handlers."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
