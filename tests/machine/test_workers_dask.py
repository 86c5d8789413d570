"""Work spread over a Dask cluster: real schedulers and workers, some of them killed, and addresses without one."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from subprocess import PIPE, Popen
from types import ModuleType
from typing import Any

import pytest

import worker_tasks
from dask_cluster import dask, environ, scheduler
from machine.workers.cluster import ClusterTimeouts, cluster_pool
from machine.workers.local import WorkerPool, process_pool, spread
from protocol.errors import ArenaFault, UsageFault
from timeouts import WITHIN

distributed = pytest.importorskip("distributed")
TESTS = Path(__file__).parents[1]
KILLS_ITS_SCHEDULER = """
import worker_tasks, signal, sys
from machine.workers.cluster import cluster_pool
from protocol.errors import ArenaFault
address, pid = sys.argv[1:]
try:
    with cluster_pool(address) as pool:
        print(pool.size)
        list(pool.run(worker_tasks.strike, [None, (int(pid), signal.SIGKILL)]))
except ArenaFault as fault:
    print(fault)
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Two workers of one thread, for tests that kill none: Dask does not always bring one back that was killed."""
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as local:
        yield local.scheduler_address


@contextmanager
def scheduler_here(allowed_failures: int = 3) -> Iterator[str]:
    """The address of a scheduler in this process, without workers."""
    options = {"dashboard_address": None, "scheduler_kwargs": {"allowed_failures": allowed_failures}}
    with distributed.LocalCluster(n_workers=0, **options) as local:
        yield local.scheduler_address


@pytest.fixture
def crew(address: str) -> Iterator[WorkerPool]:
    with cluster_pool(address) as crew:
        yield crew


@contextmanager
def mortal_crew(workers: int, allowed_failures: int) -> Iterator[WorkerPool]:
    """So many workers that a test may kill. They do not come back."""
    with ExitStack() as stack:
        address = stack.enter_context(scheduler_here(allowed_failures))
        for _ in range(workers):
            stack.enter_context(dask("worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"))
        crew = stack.enter_context(cluster_pool(address))
        with distributed.Client(address, set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=WITHIN)
        yield crew


def test_a_cluster_gives_the_results_of_processes(crew: WorkerPool) -> None:
    with process_pool(2) as other:
        expected = sorted(spread(other, worker_tasks.squares, range(1000)))
    assert sorted(spread(crew, worker_tasks.squares, range(1000))) == expected


def test_the_size_of_a_cluster_is_its_threads(crew: WorkerPool) -> None:
    assert crew.size == 2


@pytest.mark.nightly
def test_a_killed_worker_costs_no_result(tmp_path: Path) -> None:
    with mortal_crew(workers=3, allowed_failures=2) as crew:
        results = list(crew.run(worker_tasks.killed_twice, [(tmp_path, number) for number in range(20)]))
    assert sorted(results) == [(number, number) for number in range(20)]
    assert (tmp_path / "5").read_text().count("\n") == 3


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The worker that is killed while its result, the number of its process, is fetched: the first one."""
    gather, lose = distributed.Client._gather, distributed.client.FutureState.lose
    lost = asyncio.Event()
    killed: list[int] = []

    async def gather_and_lose(client: Any, futures: Any, *args: Any, **options: Any) -> Any:
        found = await gather(client, futures, *args, **options)
        if not killed:
            killed.extend(found)
            os.kill(killed[0], signal.SIGKILL)
            await lost.wait()
        return found

    def lose_and_tell(state: Any) -> None:
        lose(state)
        lost.set()

    monkeypatch.setattr(distributed.Client, "_gather", gather_and_lose)
    monkeypatch.setattr(distributed.client.FutureState, "lose", lose_and_tell)
    return killed


def test_a_result_that_is_lost_while_it_is_fetched_is_worked_out_again(killed: list[int]) -> None:
    with mortal_crew(workers=2, allowed_failures=1) as crew:
        results = list(crew.run(worker_tasks.own_process_after, [0.3]))
    assert killed
    assert [number for number, _ in results] == [0]


@pytest.mark.ci
def test_a_result_lost_with_the_last_worker_is_not_waited_for_without_end(
    killed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("machine.workers.local.WORKER_CHECK_DELAY_S", 0.5)
    with (
        scheduler() as (address, _),
        dask("worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"),
        cluster_pool(address) as crew,
    ):
        monkeypatch.setattr(crew, "_timeouts", ClusterTimeouts(answer_timeout_s=WITHIN, workers_timeout_s=0.1))
        with pytest.raises(ArenaFault, match="has no workers: start some on any machine"):
            list(crew.run(worker_tasks.own_process_after, [0.3]))
    assert killed


def test_work_that_kills_every_worker_is_given_up_in_one_line() -> None:
    with mortal_crew(workers=1, allowed_failures=0) as crew, pytest.raises(ArenaFault) as caught:
        list(crew.run(worker_tasks.die, [0]))
    assert str(caught.value).endswith(": 1 workers died of the same task: does each have enough memory?")


def test_a_fault_of_the_work_arrives_as_it_is_and_the_crew_goes_on(crew: WorkerPool) -> None:
    with pytest.raises(ArenaFault, match=r"^three is refused$"):
        list(crew.run(worker_tasks.refuse, range(10)))
    assert list(crew.run(worker_tasks.square, [7])) == [(0, 49)]


def test_work_that_the_workers_do_not_have_is_refused_and_they_live_on(
    crew: WorkerPool, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = ModuleType("elsewhere")
    exec("def double(number): return 2 * number", vars(elsewhere))
    monkeypatch.setitem(sys.modules, "elsewhere", elsewhere)
    with pytest.raises(ArenaFault) as caught:
        list(crew.run(elsewhere.double, range(10)))
    assert str(caught.value) == (
        f"the cluster at {address}: a worker lacks this version of bot-arena (No module named 'elsewhere')"
    )
    assert list(crew.run(worker_tasks.square, [7])) == [(0, 49)]


def test_ctrl_c_does_not_wait_for_what_the_workers_are_at(address: str, tmp_path: Path) -> None:
    os.mkfifo(gate := tmp_path / "gate")
    with pytest.raises(KeyboardInterrupt), cluster_pool(address) as crew:
        list(crew.run(worker_tasks.strike_and_wait, [(os.getpid(), signal.SIGINT, gate)]))
    gate.write_bytes(b"")
    with cluster_pool(address) as crew:
        assert list(crew.run(worker_tasks.square, [7])) == [(0, 49)]


@pytest.mark.ci
def test_a_lost_scheduler_is_named_and_the_library_says_nothing() -> None:
    with scheduler() as (address, pid):
        command = [sys.executable, "-c", KILLS_ITS_SCHEDULER, address, str(pid)]
        with Popen(command, stdout=PIPE, stderr=PIPE, text=True, env=environ()) as script:
            assert script.stderr is not None
            assert script.stderr.readline() == f"the cluster at {address} has no workers: waiting 600 s for some\n"
            with dask("worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"):
                out, err = script.communicate(timeout=WITHIN)
    assert (out, err) == (f"1\nlost the Dask scheduler at {address}: is it running?\n", "")


def test_a_cluster_that_gets_no_workers_is_given_up() -> None:
    timeouts = ClusterTimeouts(answer_timeout_s=WITHIN, workers_timeout_s=0.1)
    with scheduler_here() as address, pytest.raises(ArenaFault) as caught, cluster_pool(address, timeouts):
        pass
    assert str(caught.value) == (
        f"the cluster at {address} has no workers: start some on any machine with `dask worker {address}`"
    )


@pytest.mark.parametrize("listening", [True, False], ids=["another program", "nobody"])
def test_an_address_without_a_scheduler_is_named(listening: bool) -> None:
    timeouts = ClusterTimeouts(answer_timeout_s=0.5)
    with closing(socket.socket()) as other:
        other.bind(("127.0.0.1", 0))
        if listening:
            other.listen()
        address = f"tcp://127.0.0.1:{other.getsockname()[1]}"
        says = rf"^no Dask scheduler answers at {address} in \d s: "
        with pytest.raises(ArenaFault, match=says), cluster_pool(address, timeouts):
            pass


@pytest.mark.parametrize("address", ["", "localhost", "here:there", "http://127.0.0.1:8787", "inproc://x"])
def test_what_is_no_address_is_refused(address: str) -> None:
    pattern = rf"^the cluster's address is '{address}': it must be like tcp://host:8786 \("
    with pytest.raises(UsageFault, match=pattern), cluster_pool(address):
        pass


def test_without_the_extra_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageFault, match=r"pip install 'bot-arena\[cluster\]'"), cluster_pool("tcp://127.0.0.1:8786"):
        pass
