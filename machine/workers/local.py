"""Where work is done: by a crew, through `concurrent.futures.Executor`; here one of processes of this machine.

`with processes(2) as crew: …`; what the work is, and what its tasks are, is the caller's. cluster.py has another crew.
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
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import contextmanager
from functools import partial
from itertools import islice
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.process import BaseProcess
from typing import TypeVar

from protocol.errors import ArenaFault, UsageFault

T = TypeVar("T")
R = TypeVar("R")

IN_FLIGHT = 3
"""Tasks handed out to each worker: one under way, the next ones at hand."""
LOSSES = 3
"""Times in a row that workers may be lost without a result in between."""
CHUNK_SECONDS = 0.3
"""What a chunk of many tasks takes: long beside the way there and back, short beside the whole."""
END_WITHIN = 6.0
"""Seconds that worker processes have to end when they are told to."""
GROWTH = 8
"""How many times longer a chunk may be than the last one that came back."""
LOOK_AFTER = 5.0
"""Seconds without a result after which to see whether there are workers."""


class WorkerPool(ABC):
    """Workers, as long as the `with` lasts that gave them. One `run` at a time."""

    size: int
    """How many tasks are worked on at once."""

    def run(self, work: Callable[[T], R], tasks: Iterable[T]) -> Iterator[tuple[int, R]]:
        """The result of every task, once, as they come in, each with the number of its task from 0.

        Tasks are taken in order, when workers are about to need them. `work` is imported by the workers; what it raises
        is raised here. Raises `ArenaFault` when the workers are lost for good.
        """
        waiting = enumerate(tasks)
        flying: dict[Future[R], tuple[int, T]] = {}
        again: list[tuple[int, T]] = []
        suspects: set[int] = set()
        losses = 0
        try:
            while True:
                # What was lost flies alone: a task that brings its workers down is then found out soon.
                due = again if suspects else islice(waiting, IN_FLIGHT * self.size - len(flying))
                flying.update((self._hand_out(work, task), (number, task)) for number, task in due)
                if not flying:
                    return
                again = []
                for future in self._landed(flying):
                    number, task = flying.pop(future)
                    if _is_lost(future):
                        again.append((number, task))
                        continue
                    losses = 0
                    suspects.discard(number)
                    yield number, self._result(future)
                if again:
                    losses += 1
                    if losses == LOSSES:
                        raise ArenaFault(
                            f"workers ended {LOSSES} times in a row before they gave a result: is there memory enough "
                            f"for {self.size}? Try a lower --jobs"
                        )
                    again.sort()
                    suspects.update(number for number, _ in again)
        finally:
            if flying:
                self._stop()

    def _hand_out(self, work: Callable[[T], R], task: T) -> Future[R]:
        try:
            return self._submit(work, task)
        except BrokenExecutor as error:
            lost: Future[R] = Future()
            lost.set_exception(error)
            return lost

    def _landed(self, flying: Collection[Future[R]]) -> Collection[Future[R]]:
        """Those that are done, at least one; all of them once workers were lost."""
        while not (done := wait(flying, LOOK_AFTER, FIRST_COMPLETED).done):
            self._look()
        if any(_is_lost(future) for future in done):
            self._stop()
            done = wait(flying).done
        return done

    def _result(self, future: Future[R]) -> R:
        return future.result()

    @abstractmethod
    def broadcast(self, work: Callable[[], object]) -> None:
        """Have every process of the workers that lives on after this crew do some `work` now."""

    @abstractmethod
    def _submit(self, work: Callable[[T], R], task: T) -> Future[R]:
        """Hand out a task. Raises `BrokenExecutor` if the workers are lost, `ArenaFault` if there can be none."""

    @abstractmethod
    def _look(self) -> None:
        """See whether there are workers, as there are no results. Raises `ArenaFault`."""

    @abstractmethod
    def _stop(self) -> None:
        """End what was handed out. The next task finds workers again."""


class _Processes(WorkerPool):
    def __init__(self, jobs: int) -> None:
        self.size = jobs
        self._pool: ProcessPoolExecutor | None = None

    def broadcast(self, work: Callable[[], object]) -> None:
        """There are none."""

    def _submit(self, work: Callable[[T], R], task: T) -> Future[R]:
        try:
            if self._pool is None:
                _clean_up_quietly()
                self._pool = ProcessPoolExecutor(self.size, get_context("spawn"), _begin)
            with _unheard():
                return self._pool.submit(work, task)
        except (OSError, ValueError) as error:  # the latter for more than Windows can wait for
            if self._pool is not None and self._pool._broken:
                raise BrokenExecutor("its workers were lost as a further one was about to start") from error
            raise ArenaFault(f"cannot start {self.size} worker processes: {error}; try a lower --jobs") from error

    def _look(self) -> None:
        """A pool that loses a worker breaks, but for one that was about to give a result: that the pool awaits."""
        if any(worker.exitcode is not None for worker in self._workers()):
            self._stop()

    def _workers(self) -> list[BaseProcess]:
        return list(((self._pool and self._pool._processes) or {}).values())

    def _stop(self) -> None:
        if self._pool is not None:
            # Cancelling is left to the pool: one that breaks trips over futures that others cancelled.
            workers = self._workers()
            for worker in workers:
                worker.terminate()
            patient_until = time.monotonic() + END_WITHIN
            for worker in workers:
                worker.join(max(0.0, patient_until - time.monotonic()))
                worker.kill()
            # Nobody writes any more: the pool reads to the end what was cut off, instead of awaiting the rest.
            self._pool._result_queue._writer.close()  # type: ignore[attr-defined]
            self._pool.shutdown(cancel_futures=True)
            self._pool = None


@contextmanager
def processes(jobs: int) -> Iterator[WorkerPool]:
    """So many processes of this machine. They start with the first tasks and end with the `with`, or with this process.

    A worker that is killed costs time, no results. Raises `UsageFault`.
    """
    if jobs < 1:
        raise UsageFault(f"jobs is {jobs}: 1 or more")
    crew = _Processes(jobs)
    try:
        yield crew
    finally:
        crew._stop()


def spread(crew: WorkerPool, work: Callable[[Sequence[T]], Sequence[R]], items: Sequence[T]) -> Iterator[tuple[int, R]]:
    """The result of every item, once, as they come in, each with the number of its item from 0. As `spread_chunks`."""
    for start, results in spread_chunks(crew, work, items):
        yield from enumerate(results, start)


def spread_chunks(
    crew: WorkerPool, work: Callable[[Sequence[T]], Sequence[R]], items: Sequence[T], most: int | None = None
) -> Iterator[tuple[int, Sequence[R]]]:
    """The results of all items, once, in chunks as they come in, each with the number of its first item from 0.

    `work` gives a result for each item of a chunk. Chunks grow to about `CHUNK_SECONDS`, or to `most` items; near the
    end they shrink, for all workers to be done together. Raises what `WorkerPool.run` raises.
    """
    starts: list[int] = []
    length = 1

    def chunks() -> Iterator[Sequence[T]]:
        at = 0
        while at < len(items):
            share = math.ceil((len(items) - at) / (2 * crew.size))
            chunk = items[at : at + min(length, share, most or length)]
            starts.append(at)
            at += len(chunk)
            yield chunk

    for number, (seconds, results) in crew.run(partial(_timed, work), chunks()):
        length = max(1, min(GROWTH * len(results), int(len(results) * CHUNK_SECONDS / max(seconds, 1e-9))))
        yield starts[number], results


def _timed(work: Callable[[T], R], task: T) -> tuple[float, R]:
    begin = time.perf_counter()
    result = work(task)
    return time.perf_counter() - begin, result


def _is_lost(future: Future[R]) -> bool:
    return not future.cancelled() and isinstance(future.exception(), BrokenExecutor)


def _begin() -> None:
    """What a worker process does first."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _clean_up_quietly() -> None:
    """Start the process that multiprocessing has clean up after this one: if this one is killed, that warns of it."""
    if sys.platform != "win32":
        sys.warnoptions.append("ignore::UserWarning:multiprocessing.resource_tracker")
        try:
            resource_tracker.ensure_running()
        finally:
            sys.warnoptions.pop()


@contextmanager
def _unheard() -> Iterator[None]:
    """Keep signals that stop this process from those that start meanwhile, until they can take them."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
