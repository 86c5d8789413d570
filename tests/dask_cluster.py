"""A Dask cluster made of processes: a scheduler, and workers that tests may kill."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen

TESTS = Path(__file__).parent


@contextmanager
def scheduler() -> Iterator[tuple[str, int]]:
    """The address and the process number of a scheduler without workers."""
    with dask("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard") as process:
        assert process.stderr is not None
        found = None
        while not found:
            line = process.stderr.readline()
            assert line, "the scheduler ended"
            found = re.search(r"Scheduler at: *(tcp://\S+)", line)
        yield found[1], process.pid


@contextmanager
def dask(what: str, *options: str, **variables: str) -> Iterator[Popen[str]]:
    """A process of the cluster, killed at the end."""
    command = [sys.executable, "-m", f"distributed.cli.dask_{what}", *options]
    stderr = PIPE if what == "scheduler" else DEVNULL
    with Popen(command, stdout=DEVNULL, stderr=stderr, text=True, env={**environ(), **variables}) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def cluster(workers: int = 2, **variables: str) -> Iterator[str]:
    """The address of a cluster; its workers come back when they are killed."""
    with scheduler() as (address, _):
        options = ("--nthreads", "1", "--nworkers", str(workers), "--no-dashboard")
        with dask("worker", address, *options, **variables):
            yield address


def environ() -> dict[str, str]:
    """With this project's modules and the tests' for those who work."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent)])}
