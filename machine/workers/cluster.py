"""A worker pool on a Dask cluster: `with cluster_pool("tcp://host:8786") as pool: …`."""

from __future__ import annotations

import asyncio
import pickle
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from traceback import walk_tb
from typing import Any
from weakref import WeakKeyDictionary

from machine.interrupts import interrupts_deferred
from machine.terminal import say
from machine.timeouts import scale_timeouts
from machine.workers.local import R, T, WorkerPool
from protocol.errors import ArenaFault, UsageFault

WORKER_CHECK_INTERVAL_S = 0.5
"""Seconds between two checks whether a cluster has workers."""
_RUNNING_STATES, _OPEN_STATUSES = ("executing", "long-running"), ("running", "paused")
"""The states of a task that runs and is still wanted, and of a worker that is not about to end."""
_LIBRARY_LOGGERS = ("distributed", "distributed.client", "distributed.gc", "tornado", "tornado.application")
"""The loggers of Dask and its server, which are silenced."""


@dataclass(frozen=True)
class ClusterTimeouts:
    """Time limits for a cluster."""

    answer_timeout_s: float = 8.0
    """Seconds within which the cluster's scheduler must answer."""
    workers_timeout_s: float = 60.0
    """Maximum seconds to wait until a cluster without workers gets some."""


class _ClusterTask:
    """A function and its task (the argument), pickled together. Unpickling calls the function and gives its result.

    Dask gets only a call of `pickle.loads` with these bytes. If Dask unpickled a class of the project itself, its
    scheduler would have to import the class, and a worker that cannot import it would die.
    """

    def __init__(self, work: Callable[[T], R], task: T) -> None:
        self._call = work, (task,)

    def __reduce__(self) -> tuple[Any, tuple[Any]]:
        return self._call


class ClusterPool(WorkerPool):
    """The workers of a Dask cluster."""

    def __init__(self, address: str, size: int, client: Any, timeouts: ClusterTimeouts) -> None:
        super().__init__()
        self.size = size
        self._timeouts = timeouts
        self._address = address
        self._client = client
        self._executor: Executor | None = None
        self._pickled_tasks: WeakKeyDictionary[Future[Any], bytes] = WeakKeyDictionary()

    def broadcast(self, work: Callable[[], object]) -> None:
        if self._client.status == "running":
            with suppress(OSError):
                self._client.run(work, on_error="ignore")

    def follow(self, topic: str, on_event: Callable[[Any], None]) -> None:
        """Call `on_event`, in another thread, with all that tasks publish about a topic from now on."""
        self._client.subscribe_topic(topic, lambda event: on_event(event[1]))

    def _submit(self, work: Callable[[T], R], task: T) -> Future[R]:
        return self._send(pickle.dumps(_ClusterTask(work, task)))

    def _send(self, errand: bytes) -> Future[Any]:
        self._check()
        if self._executor is None:
            self._executor = self._client.get_executor(pure=False)
        future = self._executor.submit(pickle.loads, errand)
        self._pickled_tasks[future] = errand
        return future

    def _result(self, future: Future[R]) -> R:
        from distributed import KilledWorker

        try:
            return super()._result(future)
        except CancelledError as error:
            raise _lost_scheduler(self._address) from error
        except KilledWorker as error:
            raise ArenaFault(
                f"the cluster at {self._address}: {error.allowed_failures + 1} workers died of the same task: "
                "does each have enough memory?"
            ) from error
        except Exception as error:
            if _is_false_error(error):
                with interrupts_deferred():
                    again: Future[R] = self._watch(self._send(self._pickled_tasks[future]))
                self._completed([again])
                return self._result(again)
            if isinstance(error, ImportError) or str(error).startswith("Can't get attribute"):
                raise ArenaFault(
                    f"the cluster at {self._address}: a worker lacks this version of bot-arena ({error})"
                ) from error
            raise

    def _check_workers(self) -> None:
        self._check()
        _wait_for_threads(self._address, self._timeouts)

    def _check(self) -> None:
        if self._client.status != "running":
            raise _lost_scheduler(self._address)

    def _stop(self) -> None:
        if self._executor is not None and self._client.status == "running":
            with suppress(OSError):
                self._executor.shutdown(wait=False)
        self._executor = None


@contextmanager
def cluster_pool(address: str, timeouts: ClusterTimeouts | None = None) -> Iterator[ClusterPool]:
    """Yield a pool of the workers of the Dask scheduler at `address`, such as `tcp://host:8786`.

    The size of the pool is the number of threads of all workers at the start. The scheduler reassigns the tasks of a
    lost worker. If there are no workers, the function prints a line to standard error and waits for workers, up to
    `workers_timeout_s`. Raise `UsageFault` without Dask or for an invalid address, and `ArenaFault` if the scheduler
    does not answer or no workers come.
    """
    timeouts = timeouts or scale_timeouts(ClusterTimeouts())
    connect = _client_class()
    size = _wait_for_threads(address, timeouts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # different versions on the workers are reported better by the work itself
        client = connect(address, timeout=timeouts.answer_timeout_s, set_as_default=False)
    with closing(client):
        yield ClusterPool(address, size, client, timeouts)


def watch_task() -> Callable[[], bool]:
    """Return a function that returns whether the task of a worker, which calls this, is still to run: it is cancelled
    when its pool ends or is lost. Dask does not interrupt tasks, so a long one asks again and again.
    """
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def is_wanted() -> bool:
        task = worker.state.tasks.get(key)
        return task is not None and task.state in _RUNNING_STATES and worker.status.name in _OPEN_STATUSES

    return is_wanted


def publish_event(topic: str, text: str) -> None:
    """Publish a text, with the address of this worker, about a topic. A task of a worker calls this."""
    from distributed import get_worker

    worker = get_worker()
    worker.log_event(topic, (text, worker.address))


def _client_class() -> Any:
    """Return `distributed.Client`, silenced unless Dask's settings set up logging. Raise `UsageFault` without Dask."""
    try:
        import dask.config

        if not dask.config.config.keys() & {"logging", "logging-file-config"}:
            dask.config.set({"logging": dict.fromkeys(_LIBRARY_LOGGERS, "critical")})
        from distributed import Client
    except ImportError as error:
        raise UsageFault(f"for a Dask cluster, pip install 'bot-arena[cluster]' ({error})") from error
    return Client


def _wait_for_threads(address: str, timeouts: ClusterTimeouts) -> int:
    """Wait until a cluster has workers, and return their number of threads. Raise `ArenaFault` if none come in time."""
    patient_until = time.monotonic() + timeouts.workers_timeout_s
    told = False
    while not (threads := _count_threads(address, timeouts.answer_timeout_s)):
        if time.monotonic() >= patient_until:
            raise ArenaFault(
                f"the cluster at {address} has no workers: start some on any machine with `dask worker {address}`"
            )
        if not told:
            seconds = f"{timeouts.workers_timeout_s:.0f} s"
            say(f"the cluster at {address} has no workers: waiting {seconds} for some", err=True)
            told = True
        time.sleep(WORKER_CHECK_INTERVAL_S)
    return threads


def _count_threads(address: str, answer_timeout_s: float) -> int:
    """Return the number of threads of all workers of a cluster.

    The function uses a connection of its own, because a Dask client would wait for ever if another program answers at
    the address. Raise `UsageFault` if the address is invalid, and `ArenaFault` if no scheduler answers.
    """
    try:
        workers = asyncio.run(_fetch_workers(address, answer_timeout_s))
    except ValueError as error:
        raise UsageFault(f"the cluster's address is {address!r}: it must be like tcp://host:8786 ({error})") from error
    except TimeoutError as error:
        seconds = f"{answer_timeout_s:.0f} s"
        raise ArenaFault(f"no Dask scheduler answers at {address} in {seconds}: is it running?") from error
    except Exception as error:
        raise ArenaFault(f"no usable Dask scheduler at {address}: {error}") from error
    return sum(workers.values())


async def _fetch_workers(address: str, answer_timeout_s: float) -> dict[str, int]:
    core: Any = import_module("distributed.core")
    security: Any = import_module("distributed.security").Security()
    async with asyncio.timeout(answer_timeout_s):
        async with core.rpc(address, connection_args=security.get_connection_args("client")) as scheduler:
            workers = await scheduler.ncores(workers=None)
    if not isinstance(workers, dict):
        raise TypeError("not a scheduler")
    return workers


def _is_false_error(error: BaseException) -> bool:
    """Return whether Dask reported an error instead of a result, for example after the loss of a worker."""
    frames = (frame for frame, _ in walk_tb(error.__traceback__) if frame.f_code.co_name == "_cascade_future")
    return any(frame.f_locals.get("status") != "error" for frame in frames)


def _lost_scheduler(address: str) -> ArenaFault:
    return ArenaFault(f"lost the Dask scheduler at {address}: is it running?")
